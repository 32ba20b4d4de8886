#include "quantize/region.h"

#include <gmock/gmock.h>

#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct RegionCase {
  std::string name;
  Graph graph;
  std::string integer;      ///< first outputs of the integer nodes
  std::string tensor = "";  ///< output of a float node ...
  std::string reason = "";  ///< ... and part of its reason
  std::set<std::string> excluded = {};
};

const std::map<std::string, Attribute> kSame{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

/// x -> Conv -> a; the rest is up to the case.
Builder stem() { return Builder(17).input("x", {1, 8, 6, 6}).weights("w", {8, 8, 3, 3}).node("Conv", {"x", "w"}, {"a"}, kSame); }
Builder& conv(Builder& b, const std::string& from, const std::string& to) { return b.node("Conv", {from, "w"}, {to}, kSame); }
Builder after(const std::string& op, std::map<std::string, Attribute> attributes = {}, std::vector<std::string> more = {}) {
  Builder b = stem();
  more.insert(more.begin(), "a");
  return b.node(op, more, {"m"}, std::move(attributes));
}
Graph between(const std::string& op, std::map<std::string, Attribute> attributes = {}) {
  Builder b = after(op, std::move(attributes));
  return conv(b, "m", "y").output("y").build();
}

Graph gemm(std::map<std::string, Attribute> attributes, const Tensor& bias) {
  const bool across = attributes.contains("transA");
  return Builder(17)
      .input("x", across ? Shape{64, 4} : Shape{4, 64})
      .weights("w", {64, 32})
      .constant("b", bias)
      .node("Gemm", {"x", "w", "b"}, {"y"}, std::move(attributes))
      .output("y")
      .build();
}

std::vector<RegionCase> arithmetic() {
  std::vector<RegionCase> all;
  Builder chain = stem();
  all.push_back({"chain", conv(chain, "a", "y").output("y").build(), "a y"});
  all.push_back({"relu_is_absorbed", between("Relu"), "a m y"});
  Builder clip = stem().constant("low", Tensor::scalar(0.F)).constant("high", Tensor::scalar(6.F));
  clip.node("Clip", {"a", "low", "high"}, {"m"});
  all.push_back({"clip_is_absorbed", conv(clip, "m", "y").output("y").build(), "a m y"});
  Builder twice = after("Relu");
  twice.node("Add", {"a", "m"}, {"s"});
  all.push_back({"relu_with_a_second_reader", conv(twice, "s", "y").output("y").build(), "a s y", "m", "others read its input"});
  Builder output = after("Relu").output("a");
  all.push_back({"relu_behind_an_output", conv(output, "m", "y").output("y").build(), "a y", "m", "others read its input"});
  all.push_back({"relu_on_the_input",
                 Builder(17)
                     .input("x", {1, 8, 6, 6})
                     .weights("w", {8, 8, 3, 3})
                     .node("Relu", {"x"}, {"m"})
                     .node("Conv", {"m", "w"}, {"y"}, kSame)
                     .output("y")
                     .build(),
                 "y", "m", "its input is float"});
  all.push_back({"unknown_operator", after("Det").output("m").build(), "a", "m", "unknown operator"});
  Builder custom = stem().node("Relu", {"a"}, {"m"}, {}, "com.example");
  all.push_back({"custom_domain", conv(custom, "m", "y").output("y").build(), "a", "m", "unknown operator"});
  all.push_back({"unknown_type", conv(custom, "m", "z").output("z").build(), "a", "z", "unknown"});
  all.push_back({"no_kernel", between("HardSwish"), "a y", "m", "no integer kernel"});
  all.push_back(
      {"dynamic_weight",
       Builder(17).input("x", {1, 8, 6, 6}).input("w", {8, 8, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y").build(), "", "y",
       "its weight is no float constant"});
  all.push_back({"dynamic_bias",
                 Builder(17)
                     .input("x", {1, 8, 6, 6})
                     .input("b", {8})
                     .weights("w", {8, 8, 3, 3})
                     .node("Conv", {"x", "w", "b"}, {"y"})
                     .output("y")
                     .build(),
                 "", "y", "its bias is no float constant"});
  all.push_back({"conv_transpose", stem().weights("t", {8, 8, 2, 2}).node("ConvTranspose", {"a", "t"}, {"y"}).output("y").build(),
                 "a", "y", "no integer kernel"});

  const Tensor bias = models::random({32}, 1);
  all.push_back({"gemm", gemm({}, bias), "y"});
  all.push_back({"gemm_row_bias", gemm({}, bias.reshaped({1, 32})), "y"});
  all.push_back({"gemm_one_output",
                 Builder(17)
                     .input("x", {4, 64})
                     .weights("w", {64, 64})
                     .weights("v", {64, 1})
                     .weights("b", {1})
                     .node("Gemm", {"x", "w"}, {"h"})
                     .node("Gemm", {"h", "v", "b"}, {"y"})
                     .output("y")
                     .build(),
                 "h y"});
  all.push_back({"gemm_trans_a", gemm({{"transA", int64_t{1}}}, bias), "", "y", "transA"});
  all.push_back({"gemm_alpha", gemm({{"alpha", .5F}}, bias), "", "y", "alpha"});
  all.push_back({"gemm_scalar_bias", gemm({}, Tensor::scalar(1.F)), "", "y", "its bias is no vector"});
  all.push_back({"gemm_one_bias", gemm({}, models::random({1}, 1)), "", "y", "its bias is no vector"});
  all.push_back({"gemm_bias_per_row", gemm({}, models::random({4, 1}, 1)), "", "y", "its bias is no vector"});
  all.push_back({"gemm_full_bias", gemm({}, models::random({4, 32}, 1)), "", "y", "its bias is no vector"});
  return all;
}

std::vector<RegionCase> products() {
  std::vector<RegionCase> all;
  all.push_back({"matmul_of_two_activations",
                 Builder(17)
                     .input("x", {1, 32, 32})
                     .weights("w", {32, 32})
                     .node("MatMul", {"x", "w"}, {"q"})
                     .node("MatMul", {"x", "w"}, {"k"})
                     .node("Transpose", {"k"}, {"t"}, {{"perm", std::vector<int64_t>{0, 2, 1}}})
                     .node("MatMul", {"q", "t"}, {"y"})
                     .output("y")
                     .build(),
                 "q k t y"});
  all.push_back({"constant_times_activation",
                 Builder(17).input("x", {32, 32}).weights("w", {32, 32}).node("MatMul", {"w", "x"}, {"y"}).output("y").build(),
                 "", "y", "its first factor is the constant"});
  all.push_back({"light_conv",  // YOLOv8's DFL
                 Builder(17)
                     .input("x", {1, 16, 4, 20})
                     .weights("w", {1, 16, 1, 1})
                     .node("Softmax", {"x"}, {"s"}, {{"axis", int64_t{1}}})
                     .node("Conv", {"s", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "", "y", "converting 1360 elements costs more than its 1280 multiply-adds save"});
  all.push_back({"not_finite_constant",
                 stem()
                     .constant("c", floats({2}, {1, std::numeric_limits<float>::infinity()}).reshaped({2, 1, 1, 1}))
                     .node("Add", {"a", "c"}, {"m"})
                     .node("Conv", {"m", "w"}, {"y"}, kSame)
                     .output("y")
                     .build(),
                 "a y", "m", "infinite"});
  return all;
}

std::vector<RegionCase> around() {
  std::vector<RegionCase> all;
  all.push_back({"final_sigmoid", after("Sigmoid").output("m").build(), "a", "m", "no integer product follows"});
  Builder silu = after("Sigmoid");
  silu.node("Mul", {"a", "m"}, {"s"});
  all.push_back({"inner_silu", conv(silu, "s", "y").output("y").build(), "a m s y"});
  Builder join = stem();
  conv(join, "x", "b").node("Concat", {"a", "b"}, {"y"}, {{"axis", int64_t{1}}}).output("y");
  all.push_back({"final_concat", join.build(), "a b y"});
  Builder mixed = stem();
  mixed.node("HardSwish", {"x"}, {"h"}).node("Concat", {"a", "h"}, {"y"}, {{"axis", int64_t{1}}}).output("y");
  all.push_back({"final_concat_of_mixed", mixed.build(), "a", "y", "some of its inputs are float"});
  Builder inner = stem().weights("w2", {8, 16, 3, 3});
  inner.node("HardSwish", {"x"}, {"h"})
      .node("Concat", {"a", "h"}, {"m"}, {{"axis", int64_t{1}}})
      .node("Conv", {"m", "w2"}, {"y"});
  all.push_back({"inner_concat_of_mixed", inner.output("y").build(), "a m y"});
  for (const auto& [mode, integer] : {std::pair{"nearest", true}, {"linear", false}}) {
    Builder b = stem().constant("scales", floats({4}, {1, 1, 2, 2}));
    b.node("Resize", {"a", "", "scales"}, {"m"},
           {{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string("asymmetric")}});
    all.push_back({mode, conv(b, "m", "y").output("y").build(), integer ? "a m y" : "a y", integer ? "" : "m",
                   integer ? "" : "it interpolates"});
  }
  const std::map<std::string, Attribute> pool{{"kernel_shape", std::vector<int64_t>{2, 2}}};
  all.push_back({"max_pool", between("MaxPool", pool), "a m y"});
  Builder indices = stem().node("MaxPool", {"a"}, {"m", "i"}, pool).output("i", DType::i64);
  all.push_back({"max_pool_with_indices", conv(indices, "m", "y").output("y").build(), "a y", "m", "it gives indices too"});
  Builder shape = stem();
  shape.node("Shape", {"a"}, {"n"})
      .constant("from", ints({0}))
      .constant("to", ints({2}))
      .constant("rest", ints({-1}))
      .node("Slice", {"n", "from", "to"}, {"two"})
      .node("Concat", {"two", "rest"}, {"target"}, {{"axis", int64_t{0}}})
      .node("Reshape", {"a", "target"}, {"y"})
      .output("y");
  all.push_back({"int64_side_path", shape.build(), "a y", "two", "it does not work on float32"});
  all.push_back({"gather_from_a_constant",
                 Builder(17)
                     .input("i", {4}, DType::i64)
                     .weights("table", {10, 64})
                     .weights("w", {64, 64})
                     .node("Gather", {"table", "i"}, {"e"})
                     .node("MatMul", {"e", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "y", "e", "its input is float"});
  return all;
}

std::vector<RegionCase> exclusions() {
  const Graph g = between("Relu");
  return {{"by_name", g, "a m", "y", "excluded by the user", {"y_node"}},
          {"by_output", g, "y", "a", "excluded by the user", {"a"}},
          {"what_follows_leaves_too", g, "y", "m", "its input is float", {"a"}},
          {"clamp_excluded", g, "a y", "m", "excluded by the user", {"m"}},
          {"split_by_any_output",
           Builder(17)
               .input("x", {1, 8, 6, 6})
               .weights("w", {8, 8, 3, 3})
               .node("Conv", {"x", "w"}, {"a"})
               .node("Split", {"a"}, {"s", "t"}, {{"axis", int64_t{1}}})
               .output("s")
               .output("t")
               .build(),
           "a",
           "s",
           "excluded by the user",
           {"s"}}};
}

TEST(IntegerRegion, Cases) {
  for (const auto& table : {arithmetic(), products(), around(), exclusions()}) {
    for (const RegionCase& c : table) {
      SCOPED_TRACE(c.name);
      const Region region = integer_region(c.graph, c.excluded);
      EXPECT_EQ(integer_nodes(c.graph, region), c.integer);
      if (!c.tensor.empty()) {
        EXPECT_THAT(reason_of(c.graph, region, c.tensor), HasSubstr(c.reason));
      }
      for (size_t i = 0; i < c.graph.nodes.size(); ++i) EXPECT_NE(region.reasons[i], "") << i;
    }
  }
}

TEST(PossibleRegion, NeedsElementsAndAKernelForEachAttribute) {
  const std::map<std::string, Attribute> pool{{"kernel_shape", std::vector<int64_t>{2, 2}}};
  auto dilated = pool, dense = pool;
  dilated["dilations"] = std::vector<int64_t>{2, 1};
  dense["dilations"] = std::vector<int64_t>{1, 1};
  const auto reason = [](const Graph& g) { return possible_region(g, {}).reasons[0]; };
  const auto average = [](const std::map<std::string, Attribute>& attributes) {
    return Builder(19).input("x", {1, 8, 6, 6}).node("AveragePool", {"x"}, {"y"}, attributes).output("y").build();
  };
  EXPECT_EQ(reason(average(dilated)), "the runtime has no integer kernel for dilations");
  EXPECT_EQ(reason(average(dense)), "QLinearAveragePool");
  EXPECT_EQ(reason(average(pool)), "QLinearAveragePool");
  const auto flat = [](Shape shape) { return Builder().input("x", shape).node("Flatten", {"x"}, {"y"}).output("y").build(); };
  EXPECT_EQ(reason(flat({3, 0})), "'x' has no elements");
  EXPECT_EQ(reason(flat({-1, 4})), "Flatten");
}

TEST(IntegerRegion, UnknownExclusionIsNamed) {
  const std::string error = error_of([] { integer_region(between("Relu"), {"a", "nobody"}); }, ErrorKind::usage);
  EXPECT_THAT(error, HasSubstr("--exclude"));
  EXPECT_THAT(error, HasSubstr("'nobody'"));
}

TEST(IntegerTensors, WhatAClampCutsStaysOut) {
  const Graph g = between("Relu");
  EXPECT_THAT(integer_tensors(g, integer_region(g, {})), UnorderedElementsAre("x", "m", "y"));
  EXPECT_THAT(integer_tensors(g, integer_region(g, {"m"})), UnorderedElementsAre("x", "a", "m", "y"));
}

TEST(ActivationInputs, LeaveConstantsOut) {
  const Graph g = stem()
                      .constant("scales", floats({4}, {1, 1, 2, 2}))
                      .constant("c", Tensor::scalar(2.F))
                      .node("Resize", {"a", "", "scales"}, {"m"})
                      .node("Mul", {"c", "m"}, {"n"})
                      .node("Concat", {"n", "m", "n"}, {"y"}, {{"axis", int64_t{1}}})
                      .output("y")
                      .build();
  EXPECT_THAT(activation_inputs(g, g.nodes[0]), ElementsAre("x"));
  EXPECT_THAT(activation_inputs(g, g.nodes[1]), ElementsAre("a"));
  EXPECT_THAT(activation_inputs(g, g.nodes[2]), ElementsAre("m"));
  EXPECT_THAT(activation_inputs(g, g.nodes[3]), ElementsAre("n", "m", "n"));
}

std::string tail_of(const Graph& graph) {
  std::string all;
  const auto tail = tail_nodes(graph);
  for (size_t i = 0; i < tail.size(); ++i)
    if (tail[i]) all += (all.empty() ? "" : " ") + graph.nodes[i].outputs.front();
  return all;
}

TEST(TailNodes, ClassifierWithSoftmax) {
  EXPECT_EQ(tail_of(stem()
                        .weights("v", {8, 10})
                        .node("GlobalAveragePool", {"a"}, {"p"})
                        .node("Flatten", {"p"}, {"f"})
                        .node("Gemm", {"f", "v"}, {"g"})
                        .node("Softmax", {"g"}, {"y"})
                        .output("y")
                        .build()),
            "g y");
}

TEST(TailNodes, DecodingWithALightConvolution) {
  Builder b = Builder(17).input("x", {1, 8, 64, 64}).weights("w", {64, 8, 3, 3}).weights("v", {64, 64, 3, 3});
  b.weights("dfl", {1, 64, 1, 1}).constant("k", Tensor::scalar(640.F));
  b.node("Conv", {"x", "w"}, {"a"}).node("Conv", {"a", "v"}, {"c"}).node("Conv", {"c", "v"}, {"d"});
  b.node("Softmax", {"d"}, {"p"}, {{"axis", int64_t{1}}}).node("Conv", {"p", "dfl"}, {"e"}).node("Mul", {"e", "k"}, {"y"});
  EXPECT_EQ(tail_of(b.output("y").build()), "d p e y");
}

TEST(TailNodes, NetworkOfHeavyLayers) {
  Builder b = Builder(17).input("x", {1, 64}).weights("w", {64, 64});
  EXPECT_EQ(tail_of(b.node("Gemm", {"x", "w"}, {"a"})
                        .node("Relu", {"a"}, {"r"})
                        .node("Gemm", {"r", "w"}, {"c"})
                        .node("Relu", {"c"}, {"y"})
                        .output("y")
                        .build()),
            "c y");
}

}  // namespace
}  // namespace pare
