#include "ir/save.h"

#include <gmock/gmock.h>

#include "ir/load.h"
#include "tests/ir/model_file.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;

struct Release {
  int64_t opset, ir;
};

TEST(IrVersion, IsTheOneThatTheOpsetCameWith) {  // onnx/docs/Versioning.md
  for (const Release& r : {Release{7, 3}, Release{8, 3}, Release{9, 4}, Release{10, 5}, Release{11, 6}, Release{12, 7},
                           Release{13, 7}, Release{14, 7}, Release{15, 8}, Release{17, 8}, Release{18, 8}, Release{19, 9},
                           Release{20, 9}, Release{21, 10}, Release{22, 10}, Release{23, 11}, Release{24, 12}, Release{25, 13}})
    EXPECT_EQ(ir_version_for(r.opset), r.ir) << r.opset;
}

Graph two_nodes() {
  return Builder()
      .input("x", {3})
      .weights("w", {3})
      .node("Add", {"x", "w"}, {"a"})
      .node("Relu", {"a"}, {"y"})
      .output("y")
      .build();
}

TEST(SaveModel, TheSameGraphGivesTheSameBytes) {
  const TestFolder folder("same_bytes");
  save_model(two_nodes(), folder / "a.onnx");
  save_model(load_model(folder / "a.onnx"), folder / "b.onnx");
  EXPECT_EQ(read_file(folder / "a.onnx"), read_file(folder / "b.onnx"));
  EXPECT_EQ(read_file(folder / "a.onnx"), serialize(two_nodes()));
}

TEST(SaveModel, RefusesWhatTheCheckerRefusesAndWritesNothing) {
  const TestFolder folder("refused");
  Graph g = two_nodes();
  g.nodes[1].inputs[0] = "gone";
  try {
    save_model(g, folder / "m.onnx");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_THAT(e.what(), testing::StartsWith(folder / "m.onnx: ONNX's checker refuses what pare made: "));
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx"));
}

TEST(SaveModel, AFolderThatIsNotThereIsASystemError) {
  try {
    save_model(two_nodes(), "/nowhere/m.onnx");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::system);
  }
}

}  // namespace
}  // namespace pare
