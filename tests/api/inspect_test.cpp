#include "pare/inspect.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/save.h"
#include "pare/error.h"
#include "tests/models/builder.h"
#include "verify/weight_range.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

InspectReport inspected(const Builder& builder) {
  const std::string path = testing::TempDir() + "/pare_inspect_" + std::to_string(::getpid()) + ".onnx";
  save_model(builder.build(), path);
  InspectReport report = inspect({path});
  std::filesystem::remove(path);
  return report;
}

std::vector<std::string> precisions(const InspectReport& report) {
  std::vector<std::string> all;
  for (const WeightFacts& w : report.weights) all.push_back(w.precision);
  return all;
}

int64_t elements(const std::vector<ConstantFacts>& list) {
  int64_t sum = 0;
  for (const ConstantFacts& c : list) sum += c.elements;
  return sum;
}

Tensor int8_weights(Shape shape) {
  Tensor t(DType::i8, std::move(shape));
  int8_t next = -127;
  for (int8_t& v : t.write<int8_t>()) v = static_cast<int8_t>(next += 11);
  return t;
}

std::ifstream golden(const std::string& name) {
  std::ifstream file(std::string(PARE_GOLDEN) + "/" + name);
  std::string comment;
  if (!std::getline(file, comment)) throw std::runtime_error("no golden file " + name);
  return file;
}

double number(std::istream& in) {
  std::string word;
  in >> word;
  return std::stod(word);  // hexadecimal, nan and inf too
}

void expect_figures(const WeightRange& got, std::istream& want, const std::string& name) {
  const double ratio = number(want);
  EXPECT_NEAR(got.ratio, ratio, 1e-9 * ratio) << name;
  EXPECT_EQ(got.zero_channels, number(want)) << name;
  EXPECT_NEAR(got.zero, number(want), 1e-12) << name;
  EXPECT_NEAR(got.zero_per_channel, number(want), 1e-12) << name;
  EXPECT_NEAR(got.zero_per_tensor, number(want), 1e-12) << name;
  EXPECT_EQ(got.levels_per_channel, number(want)) << name;
  EXPECT_EQ(got.levels_per_tensor, number(want)) << name;
  EXPECT_EQ(got.not_finite, number(want)) << name;
}

TEST(WeightRange, AgreesWithNumpy) {
  std::ifstream file = golden("inspect_range.txt");
  std::string name;
  size_t cases = 0;
  for (; file >> name; ++cases) {
    size_t outer = 0, channels = 0, inner = 0;
    file >> outer >> channels >> inner;
    std::vector<float> weights(outer * channels * inner);
    for (float& w : weights) w = static_cast<float>(number(file));
    expect_figures(weight_range(weights, outer, channels, inner), file, name);
  }
  EXPECT_EQ(cases, 9U);
}

TEST(WeightRange, NothingInNothingOut) {
  const WeightRange r = weight_range({}, 1, 0, 1);
  EXPECT_EQ(r.ratio, 0);
  EXPECT_EQ(r.zero, 0);
}

TEST(Inspect, AgreesWithOnnxAndNumpyOnSharedModels) {
  if (!std::filesystem::exists(PARE_SHARED "/data/lab")) GTEST_SKIP() << "no shared models";
  std::ifstream file = golden("inspect_models.txt");
  InspectReport report;
  std::string kind, name;
  while (file >> kind >> name) {
    if (kind == "model") {
      report = inspect({PARE_SHARED "/data/" + name + ".onnx"});
      EXPECT_EQ(report.nodes, number(file)) << name;
      EXPECT_EQ(static_cast<double>(report.weights.size()), number(file)) << name;
      EXPECT_EQ(report.weight_bytes, number(file)) << name;
      EXPECT_EQ(report.multiply_adds, number(file)) << name;
      EXPECT_EQ(report.uncounted_nodes, 0) << name;
      EXPECT_EQ(report.int8_weights, number(file)) << name;
    } else {
      const auto w =
          std::find_if(report.weights.begin(), report.weights.end(), [&](const WeightFacts& f) { return f.node == name; });
      ASSERT_TRUE(w != report.weights.end() && w->range) << name;
      expect_figures(*w->range, file, report.file + " " + name);
    }
  }
}

TEST(Inspect, TheOutlierOfTheLabIsMarked) {
  if (!std::filesystem::exists(PARE_SHARED "/data/lab")) GTEST_SKIP() << "no shared models";
  const InspectReport r = inspect({PARE_SHARED "/data/lab/mlp_k1024.onnx"});
  EXPECT_GT(r.weights.front().range->ratio, 1000);
  EXPECT_LT(r.weights[1].range->ratio, kOutlierRatio);
  EXPECT_EQ(elements(r.parameters), 284'682);
  EXPECT_EQ(r.parameters.front().bytes, 1'138'728);
}

enum class State { int8, fake, folded };

/// Three convolutions with Q/DQ on activations, the weights as the state says (cases.md 3).
Builder three_convs(State state) {
  Builder b(13);
  b.input("x", {1, 4, 8, 8}).constant("s", Tensor::scalar(0.1F)).constant("z", Tensor::scalar<int8_t>(0));
  b.constant("ws", floats({4}, {.01F, .02F, .03F, .04F})).constant("wz", Tensor::of<int8_t>({4}, std::vector<int8_t>(4, 0)));
  std::string from = "x";
  for (const std::string i : {"1", "2", "3"}) {
    b.node("QuantizeLinear", {from, "s", "z"}, {"q" + i}).node("DequantizeLinear", {"q" + i, "s", "z"}, {"d" + i});
    std::string weight = "w" + i;
    if (state == State::int8)
      b.constant(weight, int8_weights({4, 4, 3, 3}));
    else
      b.weights(weight, {4, 4, 3, 3});
    if (state == State::fake) b.node("QuantizeLinear", {weight, "ws", "wz"}, {weight + "q"}, {{"axis", int64_t{0}}});
    const std::string stored = state == State::fake ? weight + "q" : weight;
    if (state != State::folded) b.node("DequantizeLinear", {stored, "ws", "wz"}, {weight + "d"}, {{"axis", int64_t{0}}});
    from = "c" + i;
    b.node("Conv", {"d" + i, state == State::folded ? weight : weight + "d"}, {from},
           {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  return b.output("c3");
}

TEST(Inspect, TellsTheThreeStatesApart) {
  struct Case {
    State state;
    const char* precision;
    int64_t int8, bytes, quantize, dequantize;
  };
  for (const Case& c : {Case{State::int8, "integer", 3, 432, 3, 6}, Case{State::fake, "fake-quantized", 0, 1728, 6, 6},
                        Case{State::folded, "unquantized", 0, 1728, 3, 3}}) {
    const InspectReport r = inspected(three_convs(c.state));
    EXPECT_THAT(precisions(r), ElementsAre(c.precision, c.precision, c.precision));
    EXPECT_EQ(r.int8_weights, c.int8) << c.precision;
    EXPECT_EQ(r.weight_bytes, c.bytes) << c.precision;
    EXPECT_EQ(r.quantize, c.quantize) << c.precision;
    EXPECT_EQ(r.dequantize, c.dequantize) << c.precision;
    EXPECT_EQ(r.multiply_adds, 3 * 4 * 64 * 36);
  }
}

TEST(Inspect, DequantizesPerChannel) {
  const InspectReport r = inspected(three_convs(State::int8));
  ASSERT_TRUE(r.weights.front().range);
  EXPECT_EQ(r.weights.front().range->channels, 4);
  EXPECT_GT(r.weights.front().range->ratio, 1.3);  // scales of .01 to .04
}

TEST(Inspect, ReadsIntegerOperators) {
  const Tensor zero = Tensor::scalar<uint8_t>(0), wzero = Tensor::scalar<int8_t>(0), scale = Tensor::scalar(0.5F);
  Builder b(13);
  b.input("x", {1, 4, 8, 8}, DType::u8).input("m", {2, 4}, DType::u8);
  b.constant("z", zero).constant("wz", wzero).constant("s", scale);
  b.constant("w", int8_weights({2, 4, 1, 1}))
      .constant("v", int8_weights({4, 3}))
      .constant("bias", Tensor::of<int32_t>({2}, std::vector<int32_t>{1, 2}));
  b.node("QLinearConv", {"x", "s", "z", "w", "s", "wz", "s", "z", "bias"}, {"a"}).output("a", DType::u8);
  b.node("ConvInteger", {"x", "w", "z", "wz"}, {"b"}).output("b", DType::i32);
  b.node("QLinearMatMul", {"m", "s", "z", "v", "s", "wz", "s", "z"}, {"c"}).output("c", DType::u8);
  b.node("MatMulInteger", {"m", "v", "z"}, {"d"}).output("d", DType::i32);
  b.node("QGemm", {"m", "s", "z", "v", "s", "wz", "", "s", "z"}, {"e"}, {}, "com.microsoft");
  const InspectReport r = inspected(b);
  EXPECT_THAT(precisions(r), ElementsAre("integer", "integer", "integer", "integer", "integer"));
  EXPECT_EQ(r.int8_weights, 5);
  EXPECT_EQ(r.weight_bytes, 20);
  EXPECT_EQ(r.qlinear, 3);
  EXPECT_EQ(r.integer, 2);
  EXPECT_EQ(elements(r.parameters), 22);
  EXPECT_EQ(elements(r.quantization_constants), 3);
  for (const WeightFacts& w : r.weights) EXPECT_TRUE(w.range.has_value()) << w.node;
  EXPECT_GE(r.multiply_adds, 2 * (2 * 64 * 4) + 2 * (2 * 3 * 4));
}

TEST(Inspect, FollowsWeightsToTheirSource) {
  struct Case {
    const char* name;
    Builder builder;
    const char* precision;
    const char* type;
    int64_t channels;  // 0: no range
  };
  const auto conv = [](const std::string& weight) {
    return Builder(13).input("x", {1, 3, 8, 8}).node("Conv", {"x", weight}, {"y"}).output("y");
  };
  const auto matmul = [](const std::string& weight) {
    return Builder(13).input("x", {2, 3}).node("MatMul", {"x", weight}, {"y"}).output("y");
  };
  const Tensor w = models::random({5, 3, 1, 1}, 1);
  const Tensor half(DType::f16, {5, 3, 1, 1});
  const std::vector<Case> cases{
      {"initializer", conv("w").constant("w", w), "float", "float", 5},
      {"constant node",
       Builder(13)
           .input("x", {1, 3, 8, 8})
           .node("Constant", {}, {"w"}, {{"value", w}})
           .node("Conv", {"x", "w"}, {"y"})
           .output("y"),
       "float", "float", 5},
      {"half, cast",
       Builder(13)
           .input("x", {1, 3, 8, 8})
           .constant("h", half)
           .node("Cast", {"h"}, {"w"}, {{"to", int64_t{1}}})
           .node("Conv", {"x", "w"}, {"y"})
           .output("y"),
       "float", "float16", 5},
      {"identity",
       Builder(13)
           .input("x", {1, 3, 8, 8})
           .constant("i", w)
           .node("Identity", {"i"}, {"w"})
           .node("Conv", {"x", "w"}, {"y"})
           .output("y"),
       "float", "float", 5},
      {"transposed",
       Builder(13)
           .input("x", {2, 3})
           .weights("t", {5, 3})
           .node("Transpose", {"t"}, {"w"})
           .node("MatMul", {"x", "w"}, {"y"})
           .output("y"),
       "float", "float", 5},
      {"reshaped",
       Builder(13)
           .input("x", {2, 3})
           .weights("t", {15})
           .constant("to", ints({3, 5}))
           .node("Reshape", {"t", "to"}, {"w"})
           .node("MatMul", {"x", "w"}, {"y"})
           .output("y"),
       "float", "float", 0},
      {"matrix", matmul("w").weights("w", {3, 7}), "float", "float", 7},
      {"vector", matmul("w").weights("w", {3}), "float", "float", 1},
      {"left operand", Builder(13).input("x", {3, 4}).weights("w", {6, 3}).node("MatMul", {"w", "x"}, {"y"}).output("y"), "float",
       "float", 6},
      {"two inputs", Builder(13).input("x", {2, 3}).input("w", {3, 4}).node("MatMul", {"x", "w"}, {"y"}).output("y"), "computed",
       "", 0},
      {"computed",
       Builder(13)
           .input("x", {2, 3})
           .weights("a", {3, 3})
           .node("Mul", {"a", "a"}, {"w"})
           .node("MatMul", {"x", "w"}, {"y"})
           .output("y"),
       "computed", "", 0},
  };
  for (const Case& c : cases) {
    const InspectReport r = inspected(c.builder);
    ASSERT_EQ(r.weights.size(), 1U) << c.name;
    EXPECT_EQ(r.weights[0].precision, c.precision) << c.name;
    EXPECT_EQ(r.weights[0].type, c.type) << c.name;
    EXPECT_EQ(r.weights[0].range ? r.weights[0].range->channels : 0, c.channels) << c.name;
  }
}

TEST(Inspect, CountsParametersApartFromOtherConstants) {
  struct Case {
    const char* name;
    Builder builder;
    int64_t parameters, other;
  };
  const std::vector<Case> cases{
      {"bias behind MatMul",
       Builder()
           .input("x", {2, 3})
           .weights("w", {3, 4})
           .weights("b", {4})
           .node("MatMul", {"x", "w"}, {"m"})
           .node("Add", {"m", "b"}, {"y"})
           .output("y"),
       16, 0},
      {"BatchNormalization",
       Builder()
           .input("x", {1, 3, 2, 2})
           .weights("s", {3})
           .weights("b", {3})
           .weights("m", {3})
           .weights("v", {3}, 1, 2)
           .node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
           .output("y"),
       12, 0},
      {"embedding", Builder().input("i", {2}, DType::i64).weights("t", {9, 4}).node("Gather", {"t", "i"}, {"y"}).output("y"), 36,
       0},
      {"shape of a Reshape",
       Builder().input("x", {2, 3}).constant("to", ints({6})).node("Reshape", {"x", "to"}, {"y"}).output("y"), 0, 1},
      {"scalar factor",
       Builder()
           .input("x", {2, 3})
           .weights("w", {3, 4})
           .constant("f", Tensor::scalar(2.F))
           .node("MatMul", {"x", "w"}, {"m"})
           .node("Mul", {"m", "f"}, {"y"})
           .output("y"),
       12, 1},
      {"grid", Builder().input("x", {1, 2, 5}).weights("g", {1, 2, 5}).node("Add", {"x", "g"}, {"y"}).output("y"), 0, 10},
      {"one weight, two readers",
       Builder()
           .input("x", {3, 3})
           .weights("w", {3, 3})
           .node("MatMul", {"x", "w"}, {"m"})
           .node("MatMul", {"m", "w"}, {"y"})
           .output("y"),
       9, 0},
  };
  for (const Case& c : cases) {
    const InspectReport r = inspected(c.builder);
    EXPECT_EQ(elements(r.parameters), c.parameters) << c.name;
    EXPECT_EQ(elements(r.other_constants), c.other) << c.name;
  }
}

TEST(Inspect, CountsMultiplyAdds) {
  struct Case {
    const char* name;
    Builder builder;
    int64_t count, uncounted;
  };
  const auto conv = [](Shape input, Shape weight, int64_t group = 1) {
    return Builder()
        .input("x", std::move(input))
        .weights("w", std::move(weight))
        .node("Conv", {"x", "w"}, {"y"}, {{"group", group}})
        .output("y");
  };
  const std::vector<Case> cases{
      {"convolution", conv({2, 3, 8, 8}, {5, 3, 3, 3}), 2 * 5 * 36 * 27, 0},
      {"depthwise", conv({1, 6, 8, 8}, {6, 1, 3, 3}, 6), 6 * 36 * 9, 0},
      {"free batch", conv({-1, 3, 8, 8}, {5, 3, 3, 3}), 5 * 36 * 27, 0},
      {"free size", conv({1, 3, -1, -1}, {5, 3, 3, 3}), 0, 1},
      {"ConvTranspose",
       Builder()
           .input("x", {1, 4, 5, 5})
           .weights("w", {4, 3, 2, 2})
           .node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", std::vector<int64_t>{2, 2}}})
           .output("y"),
       100 * 12, 0},
      {"Gemm, transposed",
       Builder().input("x", {2, 3}).weights("w", {5, 3}).node("Gemm", {"x", "w"}, {"y"}, {{"transB", int64_t{1}}}).output("y"),
       30, 0},
      {"batched MatMul", Builder().input("x", {2, 4, 3}).input("w", {2, 3, 5}).node("MatMul", {"x", "w"}, {"y"}).output("y"), 120,
       0},
  };
  for (const Case& c : cases) {
    const InspectReport r = inspected(c.builder);
    EXPECT_EQ(r.multiply_adds, c.count) << c.name;
    EXPECT_EQ(r.uncounted_nodes, c.uncounted) << c.name;
  }
}

TEST(Inspect, LooksIntoSubgraphs) {
  const auto branch = [](const std::string& output) { return Builder(13).node("Conv", {"x", "w"}, {output}).output(output); };
  const InspectReport r =
      inspected(Builder(13)
                    .input("x", {1, 3, 8, 8})
                    .input("c", {}, DType::boolean)
                    .weights("w", {5, 3, 1, 1})
                    .node("If", {"c"}, {"y"}, {{"then_branch", branch("t").subgraph()}, {"else_branch", branch("e").subgraph()}})
                    .output("y"));
  EXPECT_EQ(r.nodes, 1);
  EXPECT_EQ(r.subgraphs, 2);
  EXPECT_EQ(r.subgraph_nodes, 2);
  EXPECT_THAT(precisions(r), ElementsAre("float", "float"));
  EXPECT_EQ(elements(r.parameters), 15);
  EXPECT_EQ(r.weight_bytes, 60);
  EXPECT_EQ(r.uncounted_nodes, 2);
}

TEST(Inspect, AcceptsUnknownDomainsAndModelsWithoutWeights) {
  const InspectReport r = inspected(
      Builder(13).input("x", {-1, 3, 4}).node("Foo", {"x"}, {"a"}, {}, "my.ops").node("Relu", {"x"}, {"y"}).output("y"));
  EXPECT_THAT(r.operators, ElementsAre(Pair("Relu", 1), Pair("my.ops.Foo", 1)));
  EXPECT_THAT(r.opsets, ElementsAre(Pair("ai.onnx", 13), Pair("my.ops", 1)));
  EXPECT_THAT(*r.inputs[0].shape, ElementsAre("N", "3", "4"));
  EXPECT_THAT(r.weights, IsEmpty());
  EXPECT_THAT(r.parameters, IsEmpty());
  EXPECT_EQ(r.multiply_adds, 0);
  EXPECT_TRUE(r.free_batch);
}

TEST(Inspect, ErrorsNameTheFile) {
  try {
    inspect({"/nowhere/m.onnx"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::input);
    EXPECT_THAT(e.what(), testing::HasSubstr("/nowhere/m.onnx"));
  }
}

TEST(InspectJson, HoldsTheReport) {
  const auto j = nlohmann::json::parse(to_json(inspected(three_convs(State::int8))));
  EXPECT_EQ(j["opsets"]["ai.onnx"], 13);
  EXPECT_EQ(j["inputs"][0]["shape"], (std::vector<int>{1, 4, 8, 8}));
  EXPECT_EQ(j["operators"]["Conv"], 3);
  EXPECT_EQ(j["int8_weights"], 3);
  EXPECT_EQ(j["weights"].size(), 3U);
  EXPECT_EQ(j["weights"][0]["range"]["channels"], 4);
  EXPECT_EQ(j["quantization"]["DequantizeLinear"], 6);
  EXPECT_EQ(j["parameters"]["types"]["int8"]["elements"], 432);
}

}  // namespace
}  // namespace pare
