#include "passes/softmax_last_axis.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

using Attributes = std::map<std::string, Attribute>;

Builder softmax(int64_t opset, const Shape& shape, const Attributes& attributes, const std::string& op = "Softmax") {
  return Builder(opset).input("x", shape).node(op, {"x"}, {"y"}, attributes).output("y");
}

Attributes axis(int64_t a) { return {{"axis", a}}; }

std::vector<PassCase> cases() {
  const auto perm = [](std::vector<int64_t> p) { return Attributes{{"perm", std::move(p)}}; };
  const std::string moved = "Transpose Softmax Transpose";
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22})
    all.push_back({"axis_1_" + std::to_string(opset), softmax(opset, {2, 5, 4, 3}, axis(1)).build(), moved, "", 1e-6F});
  all.push_back({"axis_0", softmax(13, {5, 4}, axis(0)).build(), moved, "", 1e-6F});
  all.push_back({"negative", softmax(13, {2, 5, 4}, axis(-2)).build(), moved, "", 1e-6F});
  all.push_back({"free_batch", softmax(13, {-1, 5, 4}, axis(1)).build(), moved, "", 1e-6F});
  all.push_back({"log", softmax(13, {2, 5, 4}, axis(1), "LogSoftmax").build(), "Transpose LogSoftmax Transpose", "", 1e-5F});
  all.push_back({"joins_the_transpose_before",  // as in YOLOv8's head
                 Builder()
                     .input("x", {1, 4, 6, 7})
                     .node("Transpose", {"x"}, {"t"}, perm({0, 2, 1, 3}))
                     .node("Softmax", {"t"}, {"y"}, axis(1))
                     .output("y")
                     .build(),
                 moved, "", 1e-6F});
  all.push_back({"joins_a_rotation",
                 Builder()
                     .input("x", {2, 4, 6, 7})
                     .node("Transpose", {"x"}, {"t"}, perm({3, 0, 1, 2}))
                     .node("Softmax", {"t"}, {"y"}, axis(2))
                     .output("y")
                     .build(),
                 moved, "", 1e-6F});
  all.push_back({"transpose_with_other_readers",
                 Builder()
                     .input("x", {2, 4, 6})
                     .node("Transpose", {"x"}, {"t"}, perm({2, 0, 1}))
                     .node("Softmax", {"t"}, {"y"}, axis(1))
                     .node("Neg", {"t"}, {"z"})
                     .output("y")
                     .output("z")
                     .build(),
                 "Transpose Neg Transpose Softmax Transpose", "", 1e-6F});
  all.push_back(
      {"transpose_without_perm",
       Builder().input("x", {2, 4, 6}).node("Transpose", {"x"}, {"t"}).node("Softmax", {"t"}, {"y"}, axis(1)).output("y").build(),
       "Transpose " + moved, "", 1e-6F});
  all.push_back({"two_in_a_row",
                 Builder()
                     .input("x", {2, 4, 6})
                     .node("Softmax", {"x"}, {"s"}, axis(1))
                     .node("Softmax", {"s"}, {"y"}, axis(0))
                     .output("y")
                     .output("s")
                     .build(),
                 moved + " " + moved, "", 1e-6F});

  all.push_back({"last", softmax(13, {2, 5}, axis(1)).build(), "Softmax"});
  all.push_back({"default_is_last", softmax(13, {2, 5, 3}, {}).build(), "Softmax"});
  all.push_back({"minus_one", softmax(17, {2, 5, 3}, axis(-1)).build(), "Softmax"});
  all.push_back({"only_ones_behind", softmax(13, {2, 5, 1, 1}, axis(1)).build(), "Softmax"});
  all.push_back({"one_dimension", softmax(22, {5}, axis(0)).build(), "Softmax"});
  all.push_back({"opset_11_flattens", softmax(11, {2, 5, 3}, axis(1)).build(), "Softmax", "below opset 13"});
  all.push_back({"opset_12_default", softmax(12, {2, 5, 3}, {}).build(), "Softmax", "below opset 13"});
  all.push_back({"log_last", softmax(13, {2, 5}, axis(-1), "LogSoftmax").build(), "LogSoftmax"});
  return all;
}

TEST(SoftmaxLastAxis, Cases) {
  for (const PassCase& c : cases()) expect(c, {"softmax_last_axis", softmax_last_axis});
}

TEST(SoftmaxLastAxis, JoinsIntoOneTranspose) {
  Log log;
  const Graph g = Builder()
                      .input("x", {1, 4, 6, 7})
                      .node("Transpose", {"x"}, {"t"}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}})
                      .node("Softmax", {"t"}, {"y"}, axis(1))
                      .output("y")
                      .build();
  EXPECT_EQ(softmax_last_axis(g, {}, log).nodes[2].attribute<std::vector<int64_t>>("perm", {}),
            (std::vector<int64_t>{0, 3, 1, 2}));
}

TEST(SoftmaxLastAxis, UnknownRankAndAnAxisOutsideDecline) {
  Log log;
  const Graph unknown = Builder()
                            .input("x", {2})
                            .node("Special", {"x"}, {"s"}, {}, "com.example")
                            .node("Softmax", {"s"}, {"y"}, axis(1))
                            .output("y")
                            .build();
  EXPECT_EQ(models::ops(softmax_last_axis(unknown, {}, log)), "Special Softmax");
  EXPECT_EQ(log.back().why, "the rank of its input is unknown");
  for (const int64_t a : {-5, 4, 99}) {
    Graph g = softmax(13, {2, 3, 4, 5}, axis(1)).build();
    g.nodes[0].attributes["axis"] = a;
    EXPECT_EQ(models::ops(softmax_last_axis(g, {}, log)), "Softmax") << a;
  }
}

}  // namespace
}  // namespace pare
