#include "quantize/channel_axes.h"

#include <gmock/gmock.h>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;
using testing::ElementsAre;

std::vector<int64_t> order(std::initializer_list<int64_t> axes) { return axes; }

/// "c" is a convolution's output, 1 x 30 x 8 x 6.
Builder layer() { return Builder(17).input("x", {1, 3, 8, 6}).weights("w", {30, 3, 1, 1}).node("Conv", {"x", "w"}, {"c"}); }

std::vector<size_t> axes_of(const Graph& graph, const std::string& tensor) {
  return ChannelAxes(graph)(tensor, *graph.value(tensor)->shape());
}

TEST(ChannelAxes, FollowAnchorsIntoAYoloHead) {
  Builder b = layer().constant("five", ints({1, 3, 10, 8, 6})).constant("rows", ints({1, 144, 10}));
  b.node("Reshape", {"c", "five"}, {"r"}).node("Transpose", {"r"}, {"t"}, {{"perm", order({0, 1, 3, 4, 2})}});
  b.node("Sigmoid", {"t"}, {"s"}).node("Reshape", {"s", "rows"}, {"y"}).output("y");
  const Graph g = b.build();
  EXPECT_THAT(axes_of(g, "c"), ElementsAre(1));  // though 6 and 8 are shorter
  EXPECT_THAT(axes_of(g, "r"), ElementsAre(1, 2));
  EXPECT_THAT(axes_of(g, "s"), ElementsAre(1, 4));
  EXPECT_THAT(axes_of(g, "y"), ElementsAre(2));  // 144 = 3 anchors x 48 places
}

TEST(ChannelAxes, FollowSplitConcatAndArithmetic) {
  Builder b = layer().constant("flat", ints({1, 30, 48})).constant("k", ints({10, 20}));
  b.node("Reshape", {"c", "flat"}, {"f"}).node("Split", {"f", "k"}, {"a", "b"}, {{"axis", int64_t{1}}});
  b.node("Add", {"a", "a"}, {"d"}).node("Concat", {"d", "b"}, {"y"}, {{"axis", int64_t{1}}}).output("y").output("b");
  const Graph g = b.build();
  EXPECT_THAT(axes_of(g, "b"), ElementsAre(1));
  EXPECT_THAT(axes_of(g, "y"), ElementsAre(1));
}

TEST(ChannelAxes, SsdRowsOfChannelsLast) {
  Builder b = layer().constant("rows", ints({1, -1, 5}));
  b.node("Transpose", {"c"}, {"t"}, {{"perm", order({0, 2, 3, 1})}}).node("Reshape", {"t", "rows"}, {"y"}).output("y");
  const Graph g = b.build();
  EXPECT_THAT(axes_of(g, "y"), ElementsAre(2));  // 30 = 6 boxes x 5
}

TEST(ChannelAxes, TheLastOfAProductOfMatrices) {
  Builder b = Builder(17).input("x", {1, 7, 3}).weights("w", {3, 40}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  const Graph g = b.build();
  EXPECT_THAT(axes_of(g, "y"), ElementsAre(2));
}

TEST(ChannelAxes, TheShortestWhereNoLayerIsKnown) {
  const Graph g = Builder(17).input("x", {1, 40, 7}).node("Relu", {"x"}, {"y"}).output("y").build();
  EXPECT_THAT(axes_of(g, "y"), ElementsAre(2));
}

}  // namespace
}  // namespace pare
