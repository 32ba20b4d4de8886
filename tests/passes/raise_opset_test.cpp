#include "passes/raise_opset.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

TEST(RaiseOpset, Cases) {
  const std::map<std::string, Attribute> axes{{"axes", std::vector<int64_t>{0}}};
  const std::vector<PassCase> cases{
      {"softmax_11", Builder(11).input("x", {1, 2, 3}).node("Softmax", {"x"}, {"y"}).output("y").build(),
       "Shape Flatten Softmax Reshape", "", 1e-6F},
      {"squeeze_12", Builder(12).input("x", {1, 2}).node("Squeeze", {"x"}, {"y"}, axes).output("y").build(), "Constant Squeeze"},
      {"relu_9", Builder(9).input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y").build(), "Relu"},
      {"already_13", Builder(13).input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y").build(), "Relu"},
      {"already_17", Builder(17).input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y").build(), "Relu"},
      {"already_22", Builder(22).input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y").build(), "Relu"},
  };
  for (const PassCase& c : cases) expect(c, {"raise_opset", raise_opset});
}

struct Version {
  int64_t opset, ir, opset_after, ir_after;
  bool functions;
};

TEST(RaiseOpset, IrVersionIsThatOfTheOpset) {
  for (const Version& v : {Version{9, 3, 13, 7, false}, Version{13, 10, 13, 7, false}, Version{17, 13, 17, 8, false},
                           Version{22, 12, 22, 10, false}, Version{13, 10, 13, 8, true}}) {
    Graph g = Builder(v.opset).input("x", {2}).node("Relu", {"x"}, {"y"}).output("y").build();
    g.ir_version = v.ir;
    if (v.functions) g.functions = "kept";
    Log log;
    if (!v.functions || v.opset >= 13) g = raise_opset(g, {}, log);
    EXPECT_EQ(g.opset(), v.opset_after);
    EXPECT_EQ(g.ir_version, v.ir_after);
    EXPECT_EQ(log.empty(), v.opset >= 13);
  }
}

}  // namespace
}  // namespace pare
