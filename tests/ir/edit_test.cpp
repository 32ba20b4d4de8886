#include "ir/edit.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "ir/check.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::text;

Graph with_branches() {
  const Builder then_branch = Builder().node("Add", {"x", "outer"}, {"inner"}).output("inner");
  const Builder else_branch =
      Builder().constant("local", models::floats({1}, {2})).node("Mul", {"x", "local"}, {"e"}).output("e");
  return Builder()
      .input("x", {1})
      .input("c", {}, DType::boolean)
      .weights("outer", {1})
      .weights("unused", {1})
      .node("If", {"c"}, {"y"}, {{"then_branch", then_branch.subgraph()}, {"else_branch", else_branch.subgraph()}})
      .output("y")
      .build();
}

TEST(RemoveUnused, TakesWhatNobodyReads) {
  Graph g = Builder()
                .input("x", {1, 1, 4, 4})
                .weights("w", {1})
                .weights("v", {1})
                .node("Add", {"x", "w"}, {"a"})
                .node("Add", {"a", "v"}, {"dead"})
                .node("Relu", {"dead"}, {"dead_too"})
                .node("Relu", {"a"}, {"y"})
                .output("y")
                .build();
  ASSERT_TRUE(g.values.contains("dead"));
  remove_unused(g);
  EXPECT_EQ(text(g), "Add(x, w) -> a; Relu(a) -> y");
  EXPECT_EQ(g.initializers.size(), 1U);
  EXPECT_FALSE(g.values.contains("dead"));
  EXPECT_TRUE(g.values.contains("a"));
}

TEST(RemoveUnused, KeepsWhatASubgraphReads) {
  Graph g = with_branches();
  remove_unused(g);
  EXPECT_TRUE(g.initializers.contains("outer"));
  EXPECT_FALSE(g.initializers.contains("unused"));
}

TEST(RemoveUnused, AnAbsentOptionalOutputIsNoUse) {
  Graph g = Builder()
                .input("x", {4})
                .constant("hi", Tensor::scalar(1.F))
                .node("Dropout", {"x"}, {"dead", ""})
                .node("Clip", {"x", "", "hi"}, {"y"})
                .output("y")
                .build();
  remove_unused(g);
  EXPECT_EQ(models::ops(g), "Clip");
}

TEST(SortNodes, OrdersAndKeepsWhatIsFree) {
  Graph g = Builder()
                .input("x", {1})
                .node("Relu", {"b"}, {"y"})
                .node("Abs", {"x"}, {"a"})
                .node("Neg", {"a"}, {"b"})
                .node("Exp", {"x"}, {"z"})
                .output("y")
                .output("z")
                .build();
  sort_nodes(g);
  EXPECT_EQ(models::ops(g), "Abs Neg Relu Exp");
  check_structure(g);
}

TEST(SortNodes, SubgraphReadsCount) {
  Graph g = with_branches();
  g.nodes.push_back({"Identity", "late", "", {"x"}, {"outer"}, {}, ""});
  g.initializers.erase("outer");
  sort_nodes(g);
  EXPECT_EQ(models::ops(g), "Identity If");
}

TEST(SortNodes, ACycleIsAnError) {
  Graph g;
  g.nodes = {{"Relu", "", "", {"b"}, {"a"}, {}, ""}, {"Relu", "", "", {"a"}, {"b"}, {}, ""}};
  try {
    sort_nodes(g);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the graph has a cycle");
  }
}

TEST(ReplaceUses, LeavesOutputsAndSubgraphsAlone) {
  Graph g = Builder().input("x", {1}).node("Relu", {"x"}, {"a"}).node("Add", {"a", "a"}, {"y"}).output("y").output("a").build();
  replace_uses(g, "a", "x");
  EXPECT_EQ(text(g), "Relu(x) -> a; Add(x, x) -> y");
  EXPECT_EQ(g.outputs[1].name, "a");
}

TEST(FreshNames, AvoidEveryNameOfTheGraphAndItsSubgraphs) {
  const Graph g = with_branches();
  FreshNames fresh(g);
  for (const char* taken : {"x", "c", "y", "outer", "y_node", "inner", "e", "local", "inner_node"})
    EXPECT_EQ(fresh(taken), std::string(taken) + "_1") << taken;
  EXPECT_EQ(fresh("new"), "new");
  EXPECT_EQ(fresh("new"), "new_1");
  EXPECT_EQ(fresh("new"), "new_2");
}

struct Broken {
  std::string name;
  Graph graph;
  std::string error;
};

TEST(CheckStructure, NamesWhatIsWrong) {
  const Graph good =
      Builder().input("x", {1}).weights("w", {1}).node("Add", {"x", "w"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y").build();
  check_structure(good);
  check_structure(with_branches());
  std::vector<Broken> cases;
  Graph g = good;
  g.nodes[1].inputs[0] = "gone";
  cases.push_back({"dangling", g, "node 'y_node' (Relu): reads tensor 'gone', which nothing before it makes"});
  g = good;
  std::swap(g.nodes[0], g.nodes[1]);
  cases.push_back({"order", g, "node 'y_node' (Relu): reads tensor 'a', which nothing before it makes"});
  g = good;
  g.nodes[1].outputs[0] = "a";
  cases.push_back({"twice", g, "node 'y_node' (Relu): makes tensor 'a', which exists already"});
  g = good;
  g.initializers["x"] = models::floats({1}, {0});
  cases.push_back({"input_and_initializer", g, "tensor 'x' is made twice"});
  g = good;
  g.outputs[0].name = "z";
  cases.push_back({"output", g, "nothing makes the graph's output 'z'"});
  g = with_branches();
  g.initializers.erase("outer");
  cases.push_back({"captured", g, "node 'y_node' (If): reads tensor 'outer', which nothing before it makes"});
  for (const Broken& c : cases) {
    try {
      check_structure(c.graph);
      ADD_FAILURE() << c.name;
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), c.error) << c.name;
      EXPECT_EQ(e.kind(), ErrorKind::internal);
    }
  }
}

}  // namespace
}  // namespace pare
