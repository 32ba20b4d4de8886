#include "passes/fold_pad.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;

using Attributes = std::map<std::string, Attribute>;

Builder padded(int64_t opset, const std::vector<int64_t>& pads, const Attributes& pad = {}, const Attributes& conv = {}) {
  return Builder(opset)
      .input("x", {1, 2, 6, 6})
      .weights("w", {3, 2, 3, 3})
      .constant("pads", ints(pads))
      .node("Pad", {"x", "pads"}, {"p"}, pad)
      .node("Conv", {"p", "w"}, {"y"}, conv)
      .output("y");
}

std::vector<PassCase> cases() {
  const std::vector<int64_t> spatial{0, 0, 1, 0, 0, 0, 2, 1};
  const auto text = [](const char* s) { return std::string(s); };
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22})
    all.push_back({"opset_" + std::to_string(opset), padded(opset, spatial).build(), "Conv", "", 1e-5F});
  all.push_back(
      {"adds_to_own_pads", padded(13, spatial, {}, {{"pads", std::vector<int64_t>{1, 2, 0, 1}}}).build(), "Conv", "", 1e-5F});
  all.push_back({"strides", padded(13, spatial, {}, {{"strides", std::vector<int64_t>{2, 2}}}).build(), "Conv", "", 1e-5F});
  all.push_back({"valid", padded(13, spatial, {}, {{"auto_pad", text("VALID")}}).build(), "Conv", "", 1e-5F});
  all.push_back({"constant_zero",
                 Builder(13)
                     .input("x", {1, 2, 6, 6})
                     .weights("w", {3, 2, 3, 3})
                     .constant("pads", ints(spatial))
                     .constant("zero", Tensor::scalar(-0.F))
                     .node("Pad", {"x", "pads", "zero"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Conv", "", 1e-5F});
  all.push_back({"axes_18",
                 Builder(18)
                     .input("x", {1, 2, 6, 6})
                     .weights("w", {3, 2, 3, 3})
                     .constant("pads", ints({1, 0, 0, 2}))
                     .constant("axes", ints({-1, 2}))
                     .node("Pad", {"x", "pads", "", "axes"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Conv", "", 1e-5F});
  all.push_back({"one_dimension",
                 Builder(13)
                     .input("x", {1, 2, 6})
                     .weights("w", {3, 2, 3})
                     .constant("pads", ints({0, 0, 2, 0, 0, 1}))
                     .node("Pad", {"x", "pads"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Conv", "", 1e-5F});

  all.push_back({"reflect", padded(13, spatial, {{"mode", text("reflect")}}).build(), "Pad Conv", "mode is not constant"});
  all.push_back({"edge", padded(17, spatial, {{"mode", text("edge")}}).build(), "Pad Conv", "mode is not constant"});
  all.push_back({"negative", padded(13, {0, 0, -1, 0, 0, 0, 2, 0}).build(), "Pad Conv", "it crops"});
  all.push_back({"channels",
                 Builder(13)
                     .input("x", {1, 1, 6, 6})
                     .weights("w", {3, 2, 3, 3})
                     .constant("pads", ints({0, 1, 0, 0, 0, 0, 0, 0}))
                     .node("Pad", {"x", "pads"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Pad Conv", "batch or channels"});
  all.push_back({"same_upper", padded(13, spatial, {}, {{"auto_pad", text("SAME_UPPER")}}).build(), "Pad Conv", "auto_pad"});
  all.push_back({"fills_with_one",
                 Builder(13)
                     .input("x", {1, 2, 6, 6})
                     .weights("w", {3, 2, 3, 3})
                     .constant("pads", ints(spatial))
                     .constant("one", Tensor::scalar(1.F))
                     .node("Pad", {"x", "pads", "one"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Pad Conv", "does not fill with zeros"});
  all.push_back({"dynamic_pads",
                 Builder(13)
                     .input("x", {1, 2, 6, 6})
                     .input("pads", {8}, DType::i64)
                     .weights("w", {3, 2, 3, 3})
                     .node("Pad", {"x", "pads"}, {"p"})
                     .node("Conv", {"p", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Pad Conv", "pads are no constants"});
  all.push_back(
      {"two_readers", padded(13, spatial).node("Relu", {"p"}, {"z"}).output("z").build(), "Pad Conv Relu", "others read"});
  all.push_back({"output_between", padded(13, spatial).output("p").build(), "Pad Conv", "others read"});
  all.push_back({"pads_the_weight",
                 Builder(13)
                     .input("x", {1, 2, 6, 6})
                     .input("w", {3, 2, 2, 2})
                     .constant("pads", ints({0, 0, 0, 0, 0, 0, 1, 1}))
                     .node("Pad", {"w", "pads"}, {"p"})
                     .node("Conv", {"x", "p"}, {"y"})
                     .output("y")
                     .build(),
                 "Pad Conv"});
  all.push_back({"no_conv",
                 Builder(13)
                     .input("x", {1, 2, 6, 6})
                     .constant("pads", ints(spatial))
                     .node("Pad", {"x", "pads"}, {"p"})
                     .node("Relu", {"p"}, {"y"})
                     .output("y")
                     .build(),
                 "Pad Relu"});
  return all;
}

TEST(FoldPad, Cases) {
  for (const PassCase& c : cases()) expect(c, {"fold_pad", fold_pad});
}

TEST(FoldPad, StalePadsBesideValidDoNotCount) {
  Graph g =
      padded(13, {0, 0, 1, 1, 0, 0, 1, 1}, {}, {{"auto_pad", std::string("VALID")}, {"pads", std::vector<int64_t>{5, 5, 5, 5}}})
          .build();
  Log log;
  EXPECT_EQ(fold_pad(g, {}, log).nodes[0].attribute<std::vector<int64_t>>("pads", {}), (std::vector<int64_t>{1, 1, 1, 1}));
}

TEST(FoldPad, ListsThatDoNotFitDecline) {
  for (const auto& pads : {std::vector<int64_t>{}, {1}, {0, 0, 1, 1, 0}, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1}}) {
    Log log;
    Graph g = padded(18, pads).build();
    if (pads.size() == 1) g.initializers["axes"] = ints({2, 3}), g.nodes[0].inputs = {"x", "pads", "", "axes"};
    EXPECT_EQ(models::ops(fold_pad(g, {}, log)), "Pad Conv") << pads.size();
  }
}

}  // namespace
}  // namespace pare
