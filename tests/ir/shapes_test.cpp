#include "ir/shapes.h"

#include <gmock/gmock.h>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;

TEST(InferShapes, FollowsShapeArithmetic) {
  const Graph g = Builder(17)  // ONNX propagates Shape from opset 15 on
                      .input("x", {2, 3, 4})
                      .constant("zero", Tensor::scalar<int64_t>(0))
                      .constant("axes", ints({0}))
                      .constant("rest", ints({-1}))
                      .node("Shape", {"x"}, {"s"})
                      .node("Gather", {"s", "zero"}, {"batch"})
                      .node("Unsqueeze", {"batch", "axes"}, {"first"})
                      .node("Concat", {"first", "rest"}, {"target"}, {{"axis", int64_t{0}}})
                      .node("Reshape", {"x", "target"}, {"y"})
                      .output("y")
                      .build();
  EXPECT_EQ(g.value("y")->shape(), (Shape{2, 12}));
  EXPECT_EQ(g.value("s")->type, DType::i64);
}

TEST(InferShapes, LargeWeightsCountByTheirShape) {
  const Graph g = Builder()
                      .input("x", {1, 64, 8, 8})
                      .weights("w", {32, 64, 3, 3})
                      .node("Conv", {"x", "w"}, {"a"})
                      .node("Relu", {"a"}, {"y"})
                      .output("y")
                      .build();
  EXPECT_EQ(g.value("a")->shape(), (Shape{1, 32, 6, 6}));
  EXPECT_EQ(g.inputs.size(), 1U);
  EXPECT_EQ(g.constant("w")->count(), 32 * 64 * 9);
}

TEST(InferShapes, ReplacesWhatStoodThere) {
  Graph g = Builder().input("x", {2}).node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y").build();
  g.values["stale"] = {"stale", DType::f32, std::nullopt, ""};
  g.inputs[0].dims->front().size = 5;
  g.outputs[0].dims.reset();
  infer_shapes(g);
  EXPECT_FALSE(g.values.contains("stale"));
  EXPECT_EQ(g.value("a")->shape(), Shape{5});
  EXPECT_EQ(g.value("y")->shape(), Shape{5});
}

TEST(InferShapes, AnUnknownDomainIsNoObstacle) {
  const Graph g =
      Builder().input("x", {2}).node("Special", {"x"}, {"a"}, {}, "com.example").node("Relu", {"a"}, {"y"}).output("y").build();
  EXPECT_FALSE(g.value("a").has_value());
}

}  // namespace
}  // namespace pare
