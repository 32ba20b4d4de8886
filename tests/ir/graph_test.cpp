#include "ir/graph.h"

#include <gmock/gmock.h>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(GraphIndex, CountsEachUse) {
  const Graph g = Builder()
                      .input("x", {1})
                      .node("Add", {"x", "x"}, {"a"})
                      .node("Relu", {"a"}, {"b"})
                      .node("Neg", {"a"}, {"y"})
                      .output("y")
                      .output("b")
                      .build();
  const GraphIndex index(g);
  EXPECT_THAT(index.consumers("x"), ElementsAre(0, 0));
  EXPECT_THAT(index.consumers("a"), ElementsAre(1, 2));
  EXPECT_THAT(index.consumers("nothing"), IsEmpty());
  EXPECT_EQ(index.producer("a"), 0U);
  EXPECT_EQ(index.producer("x"), std::nullopt);
  EXPECT_TRUE(index.is_output("b"));
  EXPECT_FALSE(index.used_once("b"));
  EXPECT_FALSE(index.used_once("a"));
}

TEST(GraphIndex, AnOutputThatIsReadOnceIsUsedTwice) {
  const Graph g = Builder().input("x", {1}).node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"y"}).output("y").output("a").build();
  EXPECT_FALSE(GraphIndex(g).used_once("a"));
  EXPECT_TRUE(GraphIndex(g).used_once("x"));
}

/// Loop whose body holds an If that reads `outer` and the body's own `state`.
Graph nested() {
  const Builder inner_then = Builder().node("Add", {"state", "outer"}, {"t"}).output("t");
  const Builder inner_else = Builder().node("Identity", {"state"}, {"e"}).output("e");
  const Builder body =
      Builder()
          .input("i", {}, DType::i64)
          .input("going", {}, DType::boolean)
          .input("state", {1})
          .node("Identity", {"going"}, {"go_on"})
          .node("If", {"going"}, {"next"}, {{"then_branch", inner_then.subgraph()}, {"else_branch", inner_else.subgraph()}})
          .output("go_on", DType::boolean)
          .output("next");
  return Builder()
      .input("x", {1})
      .input("outer", {1})
      .constant("n", Tensor::scalar<int64_t>(3))
      .node("Loop", {"n", "", "x"}, {"y"}, {{"body", body.subgraph()}})
      .output("y")
      .build();
}

TEST(CapturedNames, OnlyWhatComesFromOutside) {
  EXPECT_THAT(captured_names(nested().nodes[0]), UnorderedElementsAre("outer"));
  EXPECT_THAT(GraphIndex(nested()).consumers("outer"), ElementsAre(0));
  EXPECT_THAT(GraphIndex(nested()).consumers("state"), IsEmpty());
}

TEST(CapturedNames, AnOutputOfTheSubgraphMayBeOuter) {
  const Builder branch = Builder().output("outer");
  Node node{"If", "", "", {"c"}, {"y"}, {{"then_branch", branch.subgraph()}}, ""};
  EXPECT_THAT(captured_names(node), ElementsAre("outer"));
}

TEST(Graph, ValueKnowsInputsInnerTensorsAndConstants) {
  const Graph g = Builder()
                      .input("x", {-1, 3})
                      .weights("w", {3, 5})
                      .node("MatMul", {"x", "w"}, {"a"})
                      .node("Relu", {"a"}, {"y"})
                      .output("y")
                      .build();
  EXPECT_EQ(g.value("w")->shape(), (Shape{3, 5}));
  EXPECT_EQ(g.value("x")->shape(), std::nullopt);
  EXPECT_EQ((*g.value("a")->dims)[1].size, 5);
  EXPECT_EQ((*g.value("a")->dims)[0].symbol, "N");
  EXPECT_EQ(g.value("a")->elements(), 5);
  EXPECT_EQ(g.value("y")->elements(), 5);
  EXPECT_FALSE(g.value("nothing").has_value());
  EXPECT_EQ(Value{}.elements(), 0);
}

TEST(Node, LabelNamesNodeOrOutput) {
  EXPECT_EQ((Node{"Conv", "c1", "", {}, {"y"}, {}, ""}.label()), "node 'c1' (Conv)");
  EXPECT_EQ((Node{"Conv", "", "com.x", {}, {"y"}, {}, ""}.label()), "node 'y' (com.x.Conv)");
  EXPECT_EQ((Node{"Conv", "", "", {}, {}, {}, ""}.label()), "node '' (Conv)");
}

TEST(Node, AttributeOfAnotherTypeGivesTheFallback) {
  const Node node{"Conv", "", "", {}, {}, {{"group", int64_t{2}}, {"alpha", 0.5F}}, ""};
  EXPECT_EQ(node.attribute<int64_t>("group", 1), 2);
  EXPECT_EQ(node.attribute<int64_t>("alpha", 7), 7);
  EXPECT_EQ(node.attribute<std::string>("auto_pad", "NOTSET"), "NOTSET");
  EXPECT_EQ(node.input(3), "");
}

}  // namespace
}  // namespace pare
