#include "quantize/follow.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What the readers of "a" need of it.
struct FollowCase {
  std::string name;
  Builder builder;
  double low = -kInfinity, high = kInfinity;
};

Builder stem() { return Builder(20).input("x", {1, 4, 6, 6}).weights("w", {4, 4, 1, 1}).node("Conv", {"x", "w"}, {"a"}); }
Builder one(const std::string& op, std::map<std::string, Attribute> attributes = {}, std::vector<std::string> more = {}) {
  more.insert(more.begin(), "a");
  return stem().node(op, more, {"y"}, std::move(attributes)).output("y");
}
Builder clip(std::vector<std::string> bounds) {
  bounds.insert(bounds.begin(), "a");
  return stem()
      .constant("low", Tensor::scalar(-1.F))
      .constant("high", Tensor::scalar(6.F))
      .node("Clip", bounds, {"y"})
      .output("y");
}
Builder silu(Builder b, const std::string& from, const std::string& to, bool sigmoid_first = false) {
  const std::string s = to + "_s";
  b.node("Sigmoid", {from}, {s});
  return b.node("Mul", sigmoid_first ? std::vector<std::string>{s, from} : std::vector<std::string>{from, s}, {to});
}

std::vector<FollowCase> cases() {
  std::vector<FollowCase> all;
  all.push_back({"silu", silu(stem(), "a", "y").output("y"), -6});
  all.push_back({"silu_with_the_sigmoid_first", silu(stem(), "a", "y", true).output("y"), -6});
  all.push_back(
      {"silu_whose_sigmoid_has_another_reader", silu(stem(), "a", "y").node("Neg", {"y_s"}, {"z"}).output("y").output("z")});
  all.push_back({"silu_whose_sigmoid_is_an_output", silu(stem(), "a", "y").output("y").output("y_s")});
  all.push_back(
      {"product_with_a_foreign_sigmoid", stem().node("Sigmoid", {"x"}, {"s"}).node("Mul", {"a", "s"}, {"y"}).output("y")});
  all.push_back({"square", stem().node("Mul", {"a", "a"}, {"y"}).output("y")});
  all.push_back({"sigmoid", one("Sigmoid"), -8, 8});
  all.push_back({"tanh", one("Tanh"), -4, 4});
  all.push_back({"relu", one("Relu"), 0});
  all.push_back({"hard_swish", one("HardSwish"), -3});
  all.push_back({"gelu", one("Gelu"), -4});
  all.push_back({"hard_sigmoid", one("HardSigmoid"), -2.5, 2.5});
  all.push_back({"hard_sigmoid_of_numbers", one("HardSigmoid", {{"alpha", .5F}, {"beta", .25F}}), -.5, 1.5});
  all.push_back({"falling_hard_sigmoid", one("HardSigmoid", {{"alpha", -.5F}})});
  all.push_back({"clip", clip({"low", "high"}), -1, 6});
  all.push_back({"clip_above", clip({"", "high"}), -kInfinity, 6});
  all.push_back({"clip_of_computed_bounds", stem().input("low", {}).node("Clip", {"a", "low"}, {"y"}).output("y")});
  all.push_back({"leaky", one("LeakyRelu")});
  all.push_back({"unknown_operator", stem().node("Sigmoid", {"a"}, {"y"}, {}, "com.example").output("y")});
  all.push_back({"output", stem().output("a")});
  all.push_back({"output_with_a_reader", one("Relu").output("a")});
  all.push_back({"nobody", stem().output("x")});

  all.push_back({"widest_of_two", one("Sigmoid").node("Relu", {"a"}, {"z"}).output("z"), -8});
  all.push_back({"two_of_which_one_needs_everything", one("Relu").node("Conv", {"a", "w"}, {"z"}).output("z")});

  const std::map<std::string, Attribute> axis{{"axis", int64_t{1}}};
  const Builder flat = stem().constant("shape", ints({1, -1})).node("Reshape", {"a", "shape"}, {"r"});
  all.push_back({"through_reshape", silu(flat, "r", "y").output("y"), -6});
  all.push_back({"reshaped_output", flat, -kInfinity});
  all.back().builder.output("r");
  Builder joined = stem().node("Concat", {"a", "x"}, {"c"}, axis);
  all.push_back({"through_concat", joined.node("Relu", {"c"}, {"y"}).output("y"), 0});
  Builder split = stem().node("Split", {"a"}, {"s", "t"}, axis);
  all.push_back({"split_of_which_one_half_is_flat", silu(split, "s", "y").node("Neg", {"t"}, {"z"}).output("y").output("z")});
  all.push_back({"split_of_which_both_are", silu(silu(split, "s", "y"), "t", "z").output("y").output("z"), -6});
  return all;
}

TEST(UsefulInterval, Cases) {
  for (const FollowCase& c : cases()) {
    const Graph g = c.builder.build();
    const Interval found = useful_interval(g, GraphIndex(g), "a");
    EXPECT_NEAR(found.low == c.low ? 0 : found.low - c.low, 0, 1e-6) << c.name << " " << found.low;
    EXPECT_NEAR(found.high == c.high ? 0 : found.high - c.high, 0, 1e-6) << c.name << " " << found.high;
  }
}

}  // namespace
}  // namespace pare
