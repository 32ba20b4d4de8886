// Graphs of cases 18 and 19 of the fault list and their kinds: what must quantize, what must stay whole.
#include <gmock/gmock.h>

#include "ir/check.h"
#include "passes/pipeline.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;

const std::map<std::string, Attribute> kSame{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

Graph prepared(const Graph& graph) {
  Log log;
  return run_passes(graph, prepare_passes(), {[](const Graph& g) { return Session(g).run({}); }, {}}, log);
}

/// Prepares and quantizes; the result keeps the signal of the original and holds this many int8 weights.
Graph expect_quantized(const Graph& graph, int weights, double bar = 25) {
  const Graph q = quantized(prepared(graph));
  check_structure(q);
  int found = 0;
  for (const Node& node : q.nodes)
    if (const Tensor* t = node.is("DequantizeLinear") ? q.constant(node.inputs[0]) : nullptr; t != nullptr)
      found += t->type() == DType::i8 ? 1 : 0;
  EXPECT_EQ(found, weights);
  RandomSource source(graph, 4);
  EXPECT_GE(sqnr(graph, q, source), bar);
  return q;
}

Builder input() { return Builder(17).input("x", {1, 8, 8, 8}); }

TEST(OddGraphs, Case18WeightFromAConstantNode) {
  Builder b = input();
  b.node("Constant", {}, {"w"}, {{"value", models::random({8, 8, 3, 3}, 1, -.5, .5)}}).node("Conv", {"x", "w"}, {"y"}, kSame);
  expect_quantized(b.output("y").build(), 1);
}

TEST(OddGraphs, Case18WeightThroughIdentity) {
  Builder b = input().weights("v", {8, 8, 3, 3}, -.5, .5);
  b.node("Identity", {"v"}, {"w"}).node("Conv", {"x", "w"}, {"y"}, kSame);
  expect_quantized(b.output("y").build(), 1);
}

TEST(OddGraphs, Case18HalfPrecisionWeightThroughCast) {
  // 0.5 and -0.25 in IEEE 754 binary16
  Tensor half(DType::f16, {8, 8, 3, 3});
  auto bytes = half.raw_write();
  for (size_t i = 0; i < bytes.size(); i += 2) bytes[i + 1] = i % 3 == 0 ? std::byte{0x38} : std::byte{0xB4};
  Builder b = input().constant("h", half);
  b.node("Cast", {"h"}, {"w"}, {{"to", int64_t{1}}}).node("Conv", {"x", "w"}, {"y"}, kSame);
  expect_quantized(b.output("y").build(), 1);
}

TEST(OddGraphs, HalfPrecisionFromEndToEnd) {
  Builder b(17);
  b.input("x", {1, 8, 8, 8}, DType::f16).constant("w", converted(models::random({8, 8, 3, 3}, 1, -.5, .5), DType::f16));
  b.node("Conv", {"x", "w"}, {"c"}, kSame).node("Relu", {"c"}, {"y"});
  const Graph q = expect_quantized(b.output("y", DType::f16).build(), 1);
  EXPECT_EQ(q.inputs[0].type, DType::f16);
  EXPECT_EQ(q.outputs[0].type, DType::f16);
  EXPECT_EQ(kernels(q)["QLinearConv"], 1);
}

TEST(OddGraphs, ConvTransposeThatMakesBlocks) {
  Builder b = input().weights("v", {8, 8, 3, 3}, -.2F, .2F).weights("w", {8, 8, 2, 2}, -.3F, .3F).weights("b", {8});
  b.node("Conv", {"x", "v"}, {"c"}, kSame)
      .node("ConvTranspose", {"c", "w", "b"}, {"u"}, {{"strides", std::vector<int64_t>{2, 2}}})
      .node("Conv", {"u", "v"}, {"y"}, kSame);
  EXPECT_EQ(kernels(expect_quantized(b.output("y").build(), 2))["QLinearConv"], 3);
}

TEST(OddGraphs, AConstantAsFirstFactor) {
  Builder b(17);
  b.input("x", {1, 64, 64}).weights("a", {64, 64}, -.3F, .3F).weights("w", {64, 64}, -.3F, .3F);
  b.node("MatMul", {"a", "x"}, {"m"}).node("MatMul", {"m", "w"}, {"y"});
  EXPECT_EQ(kernels(expect_quantized(b.output("y").build(), 2))["QLinearMatMul"], 2);
}

TEST(OddGraphs, GemmThatTransposesItsInput) {
  Builder b(17);
  b.input("x", {64, 64}).weights("v", {64, 64}, -.3F, .3F).weights("w", {64, 64}, -.3F, .3F);
  b.node("Gemm", {"x", "v"}, {"m"}, {{"transA", int64_t{1}}}).node("Gemm", {"m", "w"}, {"y"}, {{"transA", int64_t{1}}});
  EXPECT_EQ(kernels(expect_quantized(b.output("y").build(), 2))["QGemm"], 2);
}

TEST(OddGraphs, Case18BranchesThatReadOneOuterWeightStayWhole) {
  const Builder then_branch = Builder(17).node("Conv", {"a", "w"}, {"t"}, kSame).output("t");
  const Builder else_branch = Builder(17).node("Conv", {"a", "w"}, {"c"}, kSame).node("Neg", {"c"}, {"e"}).output("e");
  Builder b = input().weights("w", {8, 8, 3, 3}, -.2F, .2F);
  b.node("Conv", {"x", "w"}, {"a"}, kSame)
      .node("ReduceMax", {"x"}, {"m"}, {{"keepdims", int64_t{0}}})
      .constant("zero", Tensor::scalar(0.F))
      .node("Greater", {"m", "zero"}, {"f"})
      .node("If", {"f"}, {"i"}, {{"then_branch", then_branch.subgraph()}, {"else_branch", else_branch.subgraph()}})
      .node("Conv", {"i", "w"}, {"y"}, kSame);
  const Graph q = expect_quantized(b.output("y").build(), 1);  // both outer Convs share one int8 copy
  ASSERT_NE(q.constant("w"), nullptr);                         // the branches still read it
  EXPECT_EQ(q.constant("w")->type(), DType::f32);
}

TEST(OddGraphs, Case18LoopBodiesStayWhole) {
  const Builder body = Builder(17)
                           .input("i", {}, DType::i64)
                           .input("c", {}, DType::boolean)
                           .input("s", {1, 8, 8, 8})
                           .node("Identity", {"c"}, {"go"})
                           .node("Conv", {"s", "w"}, {"t"}, kSame)
                           .output("go", DType::boolean)
                           .output("t");
  Builder b = input().weights("w", {8, 8, 3, 3}, -.2F, .2F).constant("n", Tensor::scalar(int64_t{2}));
  b.node("Conv", {"x", "w"}, {"a"}, kSame).node("Loop", {"n", "", "a"}, {"y"}, {{"body", body.subgraph()}});
  const Graph q = expect_quantized(b.output("y").build(), 1);
  EXPECT_EQ(q.constant("w")->type(), DType::f32);
}

TEST(OddGraphs, Case19NamesThatCollideOrAreStrange) {
  // Every name that the writer would like to give exists already, or is a tensor's of the network.
  Builder b = input();
  b.weights("w", {8, 8, 3, 3}, -.2F, .2F).weights("w_quantized", {8, 8, 3, 3}, -.2F, .2F).weights("w_scale", {8});
  b.node("Conv", {"x", "w", "w_scale"}, {"x_quantized"}, kSame)
      .node("Conv", {"x_quantized", "w_quantized"}, {"x_dequantized"}, kSame)
      .node("Conv", {"x_dequantized", "w"}, {"x_scale"}, kSame)
      .node("Conv", {"x_scale", "w"}, {"größe/出力 \"1\""}, kSame);
  Graph g = b.output("größe/出力 \"1\"").build();
  for (Node& node : g.nodes) node.name = "";
  g.nodes[1].name = "x_quantized_QuantizeLinear";
  const Graph q = expect_quantized(g, 2);
  EXPECT_EQ(q.inputs[0].name, "x");
  EXPECT_EQ(q.outputs[0].name, "größe/出力 \"1\"");
}

TEST(OddGraphs, AbsentOptionalInputsAndOutputs) {
  // LSTM whose first output is absent, Clip without its lower bound.
  Builder b = input().weights("w", {8, 8, 3, 3}, -.2F, .2F).constant("high", Tensor::scalar(.5F));
  b.node("Conv", {"x", "w", ""}, {"a"}, kSame).node("Clip", {"a", "", "high"}, {"k"}).node("Conv", {"k", "w"}, {"d"}, kSame);
  b.constant("shape", ints({8, 1, 64})).node("Reshape", {"d", "shape"}, {"r"});
  b.weights("lw", {1, 16, 64}, -.2F, .2F).weights("lr", {1, 16, 4}, -.2F, .2F);
  b.node("LSTM", {"r", "lw", "lr"}, {"", "y"}, {{"hidden_size", int64_t{4}}});
  Graph g = b.output("y").build();
  g.nodes.back().name = "lstm";
  expect_quantized(g, 1);
}

TEST(OddGraphs, IntegerTensorsAndOtherDomainsStay) {
  Builder b = input().weights("w", {8, 8, 3, 3}, -.2F, .2F).input("ids", {1, 8}, DType::i64).constant("one", ints({1}));
  b.node("Conv", {"x", "w"}, {"a"}, kSame)
      .node("Add", {"ids", "one"}, {"next"})
      .node("Special", {"a"}, {"s"}, {}, "com.example")
      .node("Conv", {"a", "w"}, {"y"}, kSame);
  const Graph g = b.output("y").output("next", DType::i64).output("s").build();
  const Region region = integer_region(g, {});
  EXPECT_EQ(integer_nodes(g, region), "a y");
  EXPECT_EQ(reason_of(g, region, "next"), "it does not work on float32");
  EXPECT_EQ(reason_of(g, region, "s"), "unknown operator");
}

TEST(OddGraphs, SharedWeightAndBiasBehindDifferentScales) {
  Builder b = input().weights("w", {8, 8, 3, 3}, -.2F, .2F).weights("b", {8}).constant("ten", Tensor::scalar(10.F));
  b.node("Conv", {"x", "w", "b"}, {"a"}, kSame)
      .node("Mul", {"a", "ten"}, {"m"})
      .node("Conv", {"m", "w", "b"}, {"c"}, kSame)
      .node("Conv", {"c", "w", "b"}, {"y"}, kSame);
  const Graph q = expect_quantized(b.output("y").build(), 1);
  int biases = 0;
  for (const auto& [name, tensor] : q.initializers) biases += tensor.type() == DType::i32 ? 1 : 0;
  EXPECT_EQ(biases, 3);  // one for each input scale
}

TEST(OddGraphs, GemmTransposedAndConvWithADepthMultiplier) {
  Builder b = input().weights("d", {16, 1, 3, 3}, -.5, .5).weights("g", {8, 4, 3, 3}, -.2F, .2F).weights("t", {12, 8});
  auto deep = kSame, grouped = kSame;
  deep["group"] = int64_t{8}, grouped["group"] = int64_t{4};
  b.node("Conv", {"x", "d"}, {"e"}, deep)
      .node("Conv", {"e", "g"}, {"f"}, grouped)
      .node("GlobalAveragePool", {"f"}, {"p"})
      .node("Flatten", {"p"}, {"q"})
      .node("Gemm", {"q", "t"}, {"y"}, {{"transB", int64_t{1}}});
  expect_quantized(b.output("y").build(), 3, 20);
}

}  // namespace
}  // namespace pare
