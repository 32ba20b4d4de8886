#include "ir/op_table.h"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;

/// Names of the inputs of each operator in ONNX's registry at opset 22.
std::map<std::string, std::vector<std::string>> schemas() {
  std::ifstream in(std::string(PARE_GOLDEN) + "/schemas.txt");
  std::map<std::string, std::vector<std::string>> all;
  std::string line, op;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream words(line);
    words >> op;
    for (std::string name; words >> name;) all[op].push_back(name);
  }
  return all;
}

TEST(OpTable, RowsAgreeWithOnnxSchemas) {
  const auto known = schemas();
  std::set<std::string_view> seen;
  for (const OpRow& row : op_rows()) {
    EXPECT_TRUE(seen.insert(row.op).second) << row.op << " stands twice";
    ASSERT_TRUE(known.contains(std::string(row.op))) << row.op << ": run tools/golden/ir.py";
    const auto& inputs = known.at(std::string(row.op));
    EXPECT_EQ(row.flow == Flow::weighted, row.weight_input >= 0) << row.op;
    EXPECT_EQ(row.flow == Flow::curve, row.curve != nullptr) << row.op;
    const auto input = [&](int i) { return i < 0 ? std::string() : inputs.at(static_cast<size_t>(i)); };
    EXPECT_THAT(input(row.weight_input), testing::AnyOf("", "W", "B")) << row.op;
    EXPECT_THAT(input(row.bias_input), testing::AnyOf("", "B", "C")) << row.op;
    for (double x = -10; row.curve != nullptr && x < 10; x += 0.25) EXPECT_LE(row.curve(x), row.curve(x + 0.25)) << row.op;
  }
}

TEST(OpTable, AnotherDomainOrNameHasNoRow) {
  EXPECT_NE(op_row({"Conv", "", "", {}, {}, {}, ""}), nullptr);
  EXPECT_EQ(op_row({"Conv", "", "com.microsoft", {}, {}, {}, ""}), nullptr);
  EXPECT_EQ(op_row({"NonMaxSuppression", "", "", {}, {}, {}, ""}), nullptr);
}

struct Product {
  std::string name;
  Graph graph;
  int64_t axis, multiply_adds;
};

TEST(OpTable, ChannelAxisAndMultiplyAdds) {
  const std::vector<Product> cases{
      {"conv", Builder().input("x", {1, 4, 8, 8}).weights("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y").build(),
       0, 6 * 6 * 6 * 4 * 9},
      {"depthwise",
       Builder()
           .input("x", {1, 4, 8, 8})
           .weights("w", {4, 1, 3, 3})
           .node("Conv", {"x", "w"}, {"y"}, {{"group", int64_t{4}}})
           .output("y")
           .build(),
       0, 4 * 6 * 6 * 9},
      {"conv_free_batch",
       Builder().input("x", {-1, 4, 8, 8}).weights("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y").build(), 0,
       6 * 6 * 6 * 4 * 9},
      {"conv_transpose",
       Builder()
           .input("x", {1, 4, 5, 5})
           .weights("w", {4, 3, 2, 2})
           .node("ConvTranspose", {"x", "w"}, {"y"}, {{"group", int64_t{2}}})
           .output("y")
           .build(),
       1, 4 * 25 * 3 * 4},
      {"gemm", Builder().input("x", {2, 5}).weights("w", {5, 7}).node("Gemm", {"x", "w"}, {"y"}).output("y").build(), 1,
       2 * 5 * 7},
      {"gemm_transposed",
       Builder()
           .input("x", {2, 5})
           .weights("w", {7, 5})
           .node("Gemm", {"x", "w"}, {"y"}, {{"transB", int64_t{1}}})
           .output("y")
           .build(),
       0, 2 * 5 * 7},
      {"matmul", Builder().input("x", {2, 3, 5}).weights("w", {5, 7}).node("MatMul", {"x", "w"}, {"y"}).output("y").build(), 1,
       2 * 3 * 5 * 7},
      {"batched_matmul",
       Builder().input("x", {4, 3, 5}).weights("w", {4, 5, 7}).node("MatMul", {"x", "w"}, {"y"}).output("y").build(), 2,
       4 * 3 * 5 * 7},
  };
  for (const Product& c : cases) {
    EXPECT_EQ(weight_channel_axis(c.graph.nodes[0], *c.graph.constant("w")), c.axis) << c.name;
    EXPECT_EQ(multiply_adds(c.graph, c.graph.nodes[0]), c.multiply_adds) << c.name;
  }
  const Graph relu = Builder().input("x", {2}).node("Relu", {"x"}, {"y"}).output("y").build();
  EXPECT_EQ(multiply_adds(relu, relu.nodes[0]), 0);
}

struct Clamp {
  std::string name;
  Graph graph;
  std::optional<Interval> bounds;
};

TEST(OpTable, ClampBounds) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto clip = [](std::vector<std::string> inputs) {
    return Builder()
        .input("x", {2})
        .input("dynamic", {})
        .constant("lo", Tensor::scalar(-1.F))
        .constant("hi", floats({1}, {6}))
        .node("Clip", std::move(inputs), {"y"})
        .output("y")
        .build();
  };
  const std::vector<Clamp> cases{
      {"relu", Builder().input("x", {2}).node("Relu", {"x"}, {"y"}).output("y").build(), Interval{0, kInf}},
      {"both", clip({"x", "lo", "hi"}), Interval{-1, 6}},
      {"low_only", clip({"x", "lo"}), Interval{-1, kInf}},
      {"high_only", clip({"x", "", "hi"}), Interval{-kInf, 6}},
      {"none", clip({"x"}), Interval{-kInf, kInf}},
      {"dynamic", clip({"x", "dynamic"}), std::nullopt},
      {"attributes", Builder(9).input("x", {2}).node("Clip", {"x"}, {"y"}, {{"min", 0.F}, {"max", 6.F}}).output("y").build(),
       Interval{0, 6}},
      {"other", Builder().input("x", {2}).node("Tanh", {"x"}, {"y"}).output("y").build(), std::nullopt},
  };
  for (const Clamp& c : cases) {
    const auto got = clamp_bounds(c.graph, c.graph.nodes[0]);
    ASSERT_EQ(got.has_value(), c.bounds.has_value()) << c.name;
    if (!got) continue;
    EXPECT_EQ(got->low, c.bounds->low) << c.name;
    EXPECT_EQ(got->high, c.bounds->high) << c.name;
  }
}

}  // namespace
}  // namespace pare
