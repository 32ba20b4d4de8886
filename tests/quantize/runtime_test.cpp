#include <gmock/gmock.h>

#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;

constexpr double kBar = 25;  // dB of an output against float

const std::map<std::string, Attribute> kSame{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
const std::map<std::string, Attribute> kAxis{{"axis", int64_t{1}}};

/// A network and the kernels that one run of its quantized form must show.
struct RuntimeCase {
  std::string name;
  std::function<Graph(int64_t opset)> graph;
  std::map<std::string, int> kernels;
  Scheme scheme = {};
};

Builder stem(int64_t opset) {
  return Builder(opset)
      .input("x", {1, 3, 8, 8})
      .weights("w", {8, 3, 3, 3}, -.5, .5)
      .weights("b", {8})
      .weights("v", {8, 8, 3, 3}, -.2F, .2F)
      .node("Conv", {"x", "w", "b"}, {"a"}, kSame);
}
Builder& last(Builder& b, const std::string& from, int64_t channels = 8) {
  return b.weights("l", {8, channels, 3, 3}, -.2F, .2F).node("Conv", {from, "l", "b"}, {"y"}, kSame).output("y");
}
/// Conv -> op -> Conv.
auto around(const std::string& op, std::map<std::string, Attribute> attributes = {}, std::vector<std::string> more = {}) {
  return [=](int64_t opset) {
    Builder b = stem(opset);
    b.constant("c", models::random({8, 1, 1}, 3))
        .constant("shape", ints({1, 8, 16, 4}))
        .constant("scales", floats({4}, {1, 1, 2, 2}));
    b.constant("minus", Tensor::scalar(-1.F)).constant("one", Tensor::scalar(1.F));
    b.constant("low", Tensor::scalar(0.F)).constant("high", Tensor::scalar(6.F)).constant("squeeze", ints({0}));
    std::vector<std::string> inputs{"a"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return last(b.node(op, inputs, {"m"}, attributes), "m").build();
  };
}

std::vector<RuntimeCase> cases() {
  std::vector<RuntimeCase> all;
  const std::map<std::string, int> two{{"QLinearConv", 2}};
  const auto with = [&](std::map<std::string, int> more) {
    more.insert(two.begin(), two.end());
    return more;
  };
  const std::map<std::string, Attribute> pool{{"kernel_shape", std::vector<int64_t>{2, 2}},
                                              {"strides", std::vector<int64_t>{2, 2}}};
  const std::map<std::string, Attribute> nearest{{"mode", std::string("nearest")},
                                                 {"coordinate_transformation_mode", std::string("asymmetric")},
                                                 {"nearest_mode", std::string("floor")}};
  all.push_back({"relu", around("Relu"), with({{"Relu", 0}})});
  all.push_back({"relu_int8", around("Relu"), with({{"Relu", 0}}), {.activation = DType::i8}});
  all.push_back({"relu_minmax", around("Relu"), with({{"Relu", 0}}), {.range = RangeMethod::minmax}});
  all.push_back({"relu_symmetric", around("Relu"), two, {.symmetric = true}});
  all.push_back({"relu_int8_symmetric", around("Relu"), two, {.activation = DType::i8, .symmetric = true}});
  all.push_back({"per_tensor", around("Relu"), with({{"Relu", 0}}), {.per_channel = false}});
  all.push_back({"seven_bits", around("Relu"), with({{"Relu", 0}}), {.weight_bits = 7}});
  all.push_back({"relu6", around("Clip", {}, {"low", "high"}), with({{"Clip", 0}}), {.range = RangeMethod::minmax}});
  all.push_back({"clip_around_zero", around("Clip", {}, {"minus", "one"}), two, {.range = RangeMethod::minmax}});
  all.push_back({"leaky", around("LeakyRelu", {{"alpha", .1F}}), with({{"QLinearLeakyRelu", 1}})});
  all.push_back({"add_constant", around("Add", {}, {"c"}), with({{"QLinearAdd", 1}})});
  all.push_back({"mul_constant", around("Mul", {}, {"c"}), with({{"QLinearMul", 1}})});
  all.push_back({"max_pool", around("MaxPool", pool), with({{"NhwcMaxPool", 1}})});
  all.push_back({"average_pool", around("AveragePool", pool), with({{"QLinearAveragePool", 1}})});
  all.push_back({"resize", around("Resize", nearest, {"", "scales"}), with({{"Resize", 1}})});
  all.push_back({"reshape", around("Reshape", {}, {"shape"}), with({{"Reshape", 1}})});
  all.push_back(
      {"shape_of_integers",  // nothing is converted for a node that reads no values
       [](int64_t opset) {
         Builder b(opset);
         b.input("x", {-1, 3, 8, 8}).weights("w", {8, 3, 3, 3}, -.5, .5).weights("b", {8}).constant("at", ints({0}));
         b.node("Conv", {"x", "w", "b"}, {"a"}, kSame).node("Shape", {"a"}, {"s"}).node("Slice", {"s", "at", "to"}, {"n"});
         b.constant("rest", ints({8, -1, 4}))
             .constant("to", ints({1}))
             .node("Concat", {"n", "rest"}, {"t"}, {{"axis", int64_t{0}}});
         return last(b.node("Reshape", {"a", "t"}, {"m"}), "m").build();
       },
       with({{"Shape", 1}, {"DequantizeLinear", 1}})});
  all.push_back({"silu",
                 [](int64_t opset) {
                   Builder b = stem(opset);
                   return last(b.node("Sigmoid", {"a"}, {"s"}).node("Mul", {"a", "s"}, {"m"}), "m").build();
                 },
                 with({{"QLinearSigmoid", 1}, {"QLinearMul", 1}})});
  all.push_back({"residual",
                 [](int64_t opset) {
                   Builder b = stem(opset);
                   b.node("Conv", {"a", "v"}, {"d"}, kSame).node("Relu", {"d"}, {"r"}).node("Add", {"a", "r"}, {"m"});
                   return last(b, "m").build();
                 },
                 {{"QLinearConv", 3}, {"QLinearAdd", 1}, {"Relu", 0}}});
  all.push_back({"split_and_concat",
                 [](int64_t opset) {
                   Builder b = stem(opset).weights("u", {8, 4, 3, 3}, -.2F, .2F);
                   auto halves = kAxis;
                   if (opset >= 18) halves["num_outputs"] = int64_t{2};
                   b.node("Split", {"a"}, {"s", "t"}, halves).node("Conv", {"t", "u"}, {"d"}, kSame);
                   return last(b.node("Concat", {"s", "t", "d"}, {"m"}, kAxis), "m", 16).build();
                 },
                 {{"QLinearConv", 3}, {"QLinearConcat", 1}, {"Split", 1}}});
  all.push_back({"depthwise_and_grouped",
                 [](int64_t opset) {
                   Builder b = stem(opset).weights("d", {8, 1, 3, 3}).weights("g", {8, 2, 3, 3});
                   auto deep = kSame, grouped = kSame;
                   deep["group"] = int64_t{8}, grouped["group"] = int64_t{4};
                   b.node("Conv", {"a", "d"}, {"e"}, deep).node("Conv", {"e", "g"}, {"y"}, grouped).output("y");
                   return b.build();
                 },
                 {{"QLinearConv", 3}}});
  all.push_back(
      {"classifier",
       [](int64_t opset) {
         Builder b = stem(opset).weights("f", {8, 64}).weights("fb", {1, 64}).weights("h", {10, 64}).weights("hb", {10});
         b.node("GlobalAveragePool", {"a"}, {"p"}).node("Flatten", {"p"}, {"q"}).node("Gemm", {"q", "f", "fb"}, {"g"});
         b.node("Relu", {"g"}, {"r"}).node("Gemm", {"r", "h", "hb"}, {"y"}, {{"transB", int64_t{1}}}).output("y");
         return b.build();
       },
       {{"QLinearConv", 1}, {"QLinearGlobalAveragePool", 1}, {"QGemm", 2}}});
  all.push_back({"attention",
                 [](int64_t opset) {
                   Builder b = Builder(opset).input("x", {1, 24, 32}).weights("w", {32, 32}).weights("v", {32, 32});
                   b.node("MatMul", {"x", "w"}, {"q"}).node("MatMul", {"x", "v"}, {"k"});
                   b.node("Transpose", {"k"}, {"t"}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
                   return b.node("MatMul", {"q", "t"}, {"y"}).output("y").build();
                 },
                 {{"QLinearMatMul", 3}}});
  all.push_back({"batched_weight",
                 [](int64_t opset) {
                   return Builder(opset)
                       .input("x", {2, 24, 32})
                       .weights("w", {2, 32, 40})
                       .node("MatMul", {"x", "w"}, {"y"})
                       .output("y")
                       .build();
                 },
                 {{"QLinearMatMul", 1}}});
  all.push_back(
      {"one_dimensional_conv",
       [](int64_t opset) {
         return Builder(opset).input("x", {1, 8, 32}).weights("w", {8, 8, 3}).node("Conv", {"x", "w"}, {"y"}).output("y").build();
       },
       {{"QLinearConv", 1}}});
  return all;
}

TEST(Runtime, RunsIntegerKernelsAndKeepsTheSignal) {
  for (const RuntimeCase& c : cases()) {
    for (const int64_t opset : {13, 17, 22}) {
      SCOPED_TRACE(c.name + " at opset " + std::to_string(opset));
      const Graph g = c.graph(opset);
      const Graph q = quantized(g, c.scheme);
      RandomSource source(g, 4);
      EXPECT_GE(sqnr(g, q, source), kBar);
      const auto found = kernels(q);
      std::string all;
      for (const auto& [op, count] : found) all += op + " " + std::to_string(count) + ", ";
      for (const auto& [op, count] : c.kernels) EXPECT_EQ(found.contains(op) ? found.at(op) : 0, count) << op << " of " << all;
      for (const std::string op : {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"})
        EXPECT_FALSE(found.contains(op)) << op;
    }
  }
}

TEST(Runtime, ConvTransposeStaysFloat) {
  Builder b = stem(17).weights("t", {8, 8, 2, 2});
  const Graph g = last(b.node("ConvTranspose", {"a", "t"}, {"m"}), "m").build();
  const Graph q = quantized(g);
  EXPECT_EQ(q.constant("t")->type(), DType::f32);
  RandomSource source(g, 4);
  EXPECT_GE(sqnr(g, q, source), kBar);
}

}  // namespace
}  // namespace pare
