#include <gmock/gmock.h>

#include <cmath>

#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// x, y quantized, all nodes integer.
Plan plan_for(const Graph& graph, float x_scale, const Scheme& scheme = {}) {
  Plan plan;
  plan.scheme = scheme;
  for (const Node& node : graph.nodes) {
    plan.nodes[node.outputs.front()] = {node.op_type, true, ""};
    plan.tensors[node.outputs.front()].quantized = true;
    plan.tensors[node.outputs.front()].params = {.5F, 128};
  }
  plan.tensors["x"].quantized = true;
  plan.tensors["x"].params = {x_scale, 0};
  return plan;
}

Graph written(const Graph& graph, float x_scale = 1, const Scheme& scheme = {}) {
  Log log;
  return insert_qdq(graph, plan_for(graph, x_scale, scheme), log);
}

Graph conv(const Tensor& weight, const Tensor& bias, int64_t group = 1) {
  return Builder(13)
      .input("x", {1, weight.shape()[1] * group, 5, 5})
      .constant("w", weight)
      .constant("b", bias)
      .node("Conv", {"x", "w", "b"}, {"y"}, {{"group", group}})
      .output("y")
      .build();
}

std::vector<float> numbers(const Graph& g, const std::string& name) { return to_floats(*g.constant(name)); }

TEST(InsertQdqWeights, CaseTwoZeroAndTinyChannels) {
  Tensor w = models::random({4, 3, 3, 3}, 1);
  const auto values = w.write<float>();
  for (size_t i = 0; i < 27; ++i) values[27 + i] = 0, values[54 + i] = -0.F, values[81 + i] *= 1e-6F;
  values[81] = 1e-6F;
  for (const bool per_channel : {true, false}) {
    const Graph g = written(conv(w, models::random({4}, 2)), .01F, {.per_channel = per_channel});
    for (const float scale : numbers(g, "w_scale")) EXPECT_TRUE(std::isfinite(scale) && scale > 0) << scale;
    const auto q = numbers(g, "w_quantized");
    EXPECT_THAT((std::vector<float>{q.begin() + 27, q.begin() + 81}), Each(0));
    EXPECT_NO_THROW(Session{g});
  }
  const Graph no_bias =
      written(Builder(13).input("x", {1, 3, 5, 5}).constant("w", w).node("Conv", {"x", "w"}, {"y"}).output("y").build());
  EXPECT_NEAR(numbers(no_bias, "w_scale")[3], 7.874e-9, 1e-12);
  EXPECT_EQ(numbers(no_bias, "w_quantized")[81], 127);
}

TEST(InsertQdqWeights, NothingButZeros) {
  const Graph given = conv(Tensor(DType::f32, {2, 3, 1, 1}), floats({2}, {.04F, 0}));
  const Graph g = written(given, 1);
  EXPECT_THAT(numbers(g, "w_quantized"), Each(0));
  for (const float scale : numbers(g, "w_scale")) EXPECT_TRUE(std::isfinite(scale) && scale > 0);
  for (const float scale : numbers(g, "b_scale")) EXPECT_TRUE(std::isfinite(scale) && scale > 0);
}

struct AxisCase {
  std::string name;
  Graph graph;
  int64_t axis;
  std::vector<float> scales;
};

TEST(InsertQdqWeights, OneScaleForEachOutputChannel) {
  const auto product = [](const std::string& op, const Tensor& w, std::map<std::string, Attribute> attributes = {}) {
    return Builder(13).input("x", {4, 2}).constant("w", w).node(op, {"x", "w"}, {"y"}, std::move(attributes)).output("y").build();
  };
  const auto c = [](const Tensor& w, int64_t group) { return conv(w, Tensor(DType::f32, {w.shape()[0]}), group); };
  for (const AxisCase& a :
       std::vector<AxisCase>{{"conv", c(floats({2, 2, 1, 1}, {127, 1, 2, -254}), 1), 0, {1, 2}},
                             {"depthwise", c(floats({2, 1, 1, 1}, {127, -254}), 2), 0, {1, 2}},
                             {"grouped", c(floats({4, 2, 1, 1}, {127, 0, 0, 254, 381, 1, 1, -508}), 2), 0, {1, 2, 3, 4}},
                             {"gemm", product("Gemm", floats({2, 3}, {127, 2, 3, 1, 254, -381})), 1, {1, 2, 3}},
                             {"gemm_transposed",
                              product("Gemm", floats({3, 2}, {127, 2, 3, 254, 1, -381}), {{"transB", int64_t{1}}}),
                              0,
                              {1, 2, 3}},
                             {"matmul", product("MatMul", floats({2, 3}, {127, 2, 3, 1, 254, -381})), 1, {1, 2, 3}},
                             {"one_channel", c(floats({1, 2, 1, 1}, {127, 1}), 1), 0, {1}}}) {
    SCOPED_TRACE(a.name);
    const Graph g = written(a.graph);
    EXPECT_EQ(numbers(g, "w_scale"), a.scales);
    EXPECT_EQ(g.constant("w_scale")->shape(), Shape{static_cast<int64_t>(a.scales.size())});
    const Node& dq = g.nodes[*GraphIndex(g).producer("w_dequantized")];
    EXPECT_EQ(dq.attribute<int64_t>("axis", -9), a.axis);
    EXPECT_EQ(g.constant("w_quantized")->type(), DType::i8);
    EXPECT_EQ(g.constant("w_quantized")->shape(), a.graph.constant("w")->shape());
    const Graph whole = written(a.graph, 1, {.per_channel = false});
    EXPECT_EQ(numbers(whole, "w_scale"), std::vector<float>{a.scales.back()});
    EXPECT_EQ(whole.constant("w_scale")->shape(), Shape{});
    EXPECT_NO_THROW(Session{g});
    EXPECT_NO_THROW(Session{whole});
  }
}

TEST(InsertQdqWeights, AVectorHasOneScale) {  // its only axis is the summed one
  const Graph given =
      Builder(13).input("x", {4, 2}).constant("w", floats({2}, {127, 254})).node("MatMul", {"x", "w"}, {"y"}).output("y").build();
  EXPECT_THAT(numbers(written(given), "w_scale"), ElementsAre(2));
}

TEST(InsertQdqWeights, CaseTwentyTwoSevenBits) {
  const Tensor w = models::random({4, 3, 3, 3}, 1);
  const Graph g = written(conv(w, models::random({4}, 2)), 1, {.weight_bits = 7});
  const auto q = numbers(g, "w_quantized");
  float largest = 0;
  for (const float v : q) largest = std::max(largest, std::abs(v));
  EXPECT_EQ(largest, 64);
  for (size_t i = 0; i < q.size(); ++i)
    EXPECT_NEAR(q[i] * numbers(g, "w_scale")[i / 27], w.as<float>()[i], numbers(g, "w_scale")[i / 27] / 2 + 1e-7);
}

TEST(InsertQdqWeights, BiasIsInt32AtTheProductOfTheScales) {
  const Graph g = written(conv(floats({2, 1, 1, 1}, {127, 254}), floats({2}, {3, -7.5F})), .5F);
  EXPECT_EQ(g.constant("b_quantized")->type(), DType::i32);
  EXPECT_THAT(numbers(g, "b_quantized"), ElementsAre(6, -8));  // 3 / .5, -7.5 / 1: half to even
  EXPECT_THAT(numbers(g, "b_scale"), ElementsAre(.5F, 1));
  EXPECT_EQ(models::ops(g).find("Conv"), models::ops(g).rfind("Conv"));
  const Graph whole = written(conv(floats({2, 1, 1, 1}, {127, 254}), floats({2}, {3, -7.5F})), .5F, {.per_channel = false});
  EXPECT_THAT(numbers(whole, "b_quantized"), ElementsAre(3, -8));
  EXPECT_EQ(whole.constant("b_scale")->shape(), Shape{});
}

TEST(InsertQdqWeights, ASharedBiasIsWrittenForEachPairOfScales) {
  const Graph given = Builder(13)
                          .input("x", {1, 2, 5, 5})
                          .constant("w", floats({2, 2, 1, 1}, {127, 1, 1, 127}))
                          .constant("b", floats({2}, {1, 2}))
                          .node("Conv", {"x", "w", "b"}, {"y"})
                          .node("Conv", {"y", "w", "b"}, {"z"})
                          .output("z")
                          .build();
  const Graph g = written(given, .25F);  // y has scale .5
  EXPECT_THAT(numbers(g, "b_quantized"), ElementsAre(4, 8));
  EXPECT_THAT(numbers(g, "b_quantized_1"), ElementsAre(2, 4));
  EXPECT_FALSE(g.constant("w_quantized_1"));
  EXPECT_FALSE(g.constant("b"));
}

/// What the runtime gives at constant input 0: the bias alone.
std::vector<float> at_zero(const Graph& g, float x = 0) {
  Tensor input(DType::f32, *g.inputs[0].shape());
  for (float& v : input.write<float>()) v = x;
  const auto y = Session(g).run({{"x", input}})[0];
  return {y.as<float>().begin(), y.as<float>().end()};
}

TEST(InsertQdqWeights, ABiasThatOverflowsRaisesTheScale) {
  for (const float bias : {1e4F, -1e4F}) {
    const Graph given = conv(floats({2, 1, 1, 1}, {1e-6F, 1}), floats({2}, {bias, 1}));
    Plan plan = plan_for(given, 1e-3F);
    plan.tensors.at("y").params = {100, 128};
    Log log;
    const Graph g = insert_qdq(given, plan, log);
    EXPECT_GT(numbers(g, "w_scale")[0], 1e-6F / 127);
    EXPECT_FLOAT_EQ(numbers(g, "w_scale")[1], 1.F / 127);
    ASSERT_EQ(log.size(), 1U);
    EXPECT_EQ(log[0].what, "raised weight scales");
    EXPECT_THAT(log[0].why, HasSubstr("1 biases would overflow int32"));
    EXPECT_FLOAT_EQ(at_zero(g)[0], bias);
    EXPECT_FLOAT_EQ(at_zero(g, .255F)[0], bias);
  }
}

TEST(InsertQdqWeights, TheAccumulatorHasRoomBesideTheBias) {
  for (const float sign : {1.F, -1.F}) {
    const Graph given = conv(floats({1, 64, 1, 1}, std::vector<float>(64, sign * 5e-5F)), floats({1}, {sign}));
    Plan plan = plan_for(given, 1e-3F);
    plan.tensors.at("y").params = {.01F, 128};
    Log log;
    EXPECT_NEAR(at_zero(insert_qdq(given, plan, log), .255F)[0], sign, .011);
  }
}

TEST(InsertQdqWeights, ABiasOnADeadChannelKeepsItsPrecision) {
  const Graph given = conv(floats({2, 1, 1, 1}, {100, 0}), floats({2}, {1, .04F}));
  Plan plan = plan_for(given, .5F);
  plan.tensors.at("y").params = {.001F, 0};
  Log log;
  const Graph g = insert_qdq(given, plan, log);
  const float back = numbers(g, "b_quantized")[1] * numbers(g, "b_scale")[1];
  EXPECT_NEAR(back, .04F, 1e-6);
  EXPECT_NEAR(at_zero(g)[25], .04F, .0006);
  EXPECT_TRUE(log.empty());
}

TEST(InsertQdqWeights, ScalesWhoseProductUnderflows) {
  const Graph g = written(conv(floats({2, 1, 1, 1}, {1e-30F, 1}), floats({2}, {0, 1})), 1e-20F);
  for (const float scale : numbers(g, "b_scale")) EXPECT_TRUE(std::isfinite(scale) && scale > 0) << scale;
  EXPECT_EQ(numbers(g, "b_quantized")[0], 0);
}

TEST(InsertQdqWeights, NaNIsNamed) {
  const std::string error = error_of([] { written(conv(floats({2, 1, 1, 1}, {1, std::nanf("")}), floats({2}, {0, 1}))); });
  EXPECT_THAT(error, HasSubstr("node 'y_node' (Conv)"));
  EXPECT_THAT(error, HasSubstr("tensor 'w'"));
  EXPECT_THAT(error, HasSubstr("channel 1"));
  EXPECT_THAT(error_of([] {
                written(conv(floats({2, 1, 1, 1}, {1, 1}), floats({2}, {0, std::nanf("")})));
              }),
              HasSubstr("tensor 'b'"));
}

}  // namespace
}  // namespace pare
