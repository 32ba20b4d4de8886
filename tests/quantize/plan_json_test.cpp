#include <gmock/gmock.h>

#include <regex>

#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using testing::AllOf;
using testing::HasSubstr;

/// x -> Conv -> Relu -> HardSwish, an output.
Graph net() {
  return Builder(17)
      .input("x", {1, 8, 6, 6})
      .weights("w", {8, 8, 3, 3})
      .node("Conv", {"x", "w"}, {"a"})
      .node("Relu", {"a"}, {"r"})
      .node("HardSwish", {"r"}, {"y"})
      .output("y")
      .build();
}

/// The plan of net() as JSON, the first place that fits `pattern` replaced.
std::string edited(const std::string& pattern, const std::string& replacement) {
  const std::string text = to_json(plan_of(net()));
  const std::string changed = std::regex_replace(text, std::regex(pattern), replacement, std::regex_constants::format_first_only);
  EXPECT_NE(changed, text) << pattern;
  return changed;
}

TEST(PlanJson, RoundTrip) {
  Scheme scheme{.activation = DType::i8, .symmetric = true, .per_channel = false, .weight_bits = 7};
  scheme.range = RangeMethod::entropy;
  scheme.percentile = 99.9;
  scheme.follow_activation = false;
  scheme.bias_correction = false;
  Plan plan = plan_of(net(), scheme);
  plan.tensors.at("x").channel_means = {.1F, -2.5e-8F};
  const Plan back = plan_from_json(to_json(plan), "p.json");
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.scheme.activation, DType::i8);
  EXPECT_TRUE(back.scheme.symmetric);
  EXPECT_FALSE(back.scheme.per_channel);
  EXPECT_EQ(back.scheme.weight_bits, 7);
  EXPECT_EQ(back.scheme.range, RangeMethod::entropy);
  EXPECT_EQ(back.scheme.percentile, 99.9);
  EXPECT_FALSE(back.scheme.follow_activation);
  EXPECT_FALSE(back.scheme.bias_correction);
  ASSERT_EQ(back.tensors.size(), plan.tensors.size());
  for (const auto& [name, t] : plan.tensors) {
    const TensorPlan& b = back.tensors.at(name);
    EXPECT_EQ(b.quantized, t.quantized);
    EXPECT_EQ(b.params, t.params) << name;  // to the bit
    EXPECT_EQ(b.range, t.range);
    EXPECT_EQ(b.channel_means, t.channel_means);
    EXPECT_EQ(b.group, t.group);
    EXPECT_EQ(b.method, t.method);
    EXPECT_EQ(b.reason, t.reason);
  }
  ASSERT_EQ(back.nodes.size(), plan.nodes.size());
  for (const auto& [name, n] : plan.nodes) {
    EXPECT_EQ(back.nodes.at(name).op, n.op);
    EXPECT_EQ(back.nodes.at(name).integer, n.integer);
    EXPECT_EQ(back.nodes.at(name).reason, n.reason);
  }
}

TEST(PlanJson, TheEmptyPlan) { EXPECT_EQ(to_json(plan_from_json(to_json(Plan{}), "p.json")), to_json(Plan{})); }

TEST(PlanJson, AnEditedPlanIsAccepted) {
  const Plan plan = plan_from_json(edited(R"("scale": [0-9.e-]+)", R"("scale": 0.5)"), "p.json");
  EXPECT_EQ(plan.tensors.at("r").params.scale, .5F);
  Log log;
  const Graph q = insert_qdq(net(), plan, log);
  bool found = false;
  for (const auto& [name, t] : q.initializers) found = found || t == Tensor::scalar(.5F);
  EXPECT_TRUE(found);
}

struct EditCase {
  std::string name, pattern, replacement, place, message;
};

TEST(PlanJson, Errors) {
  const std::string scale = R"("scale": [0-9.e-]+)", zero = R"("zero_point": [0-9-]+)", r = "p.json: tensor 'r'";
  for (const EditCase& c : std::vector<EditCase>{
           {"zero_scale", scale, R"("scale": 0)", r, "its scale is 0"},
           {"scale_that_rounds_to_zero", scale, R"("scale": 1e-60)", r, "its scale is 0"},
           {"negative_scale", scale, R"("scale": -1)", r, "its scale is -1"},
           {"null_scale", scale, R"("scale": null)", r, "not a plan"},
           {"nan_scale", scale, R"("scale": NaN)", "p.json", "not a plan"},
           {"infinite_scale", scale, R"("scale": 1e39)", r, "allowed is finite and > 0"},
           {"no_scale", scale + ",", "", r, "scale"},
           {"zero_point_below", zero, R"("zero_point": -1)", r, "its zero point -1 lies outside uint8"},
           {"zero_point_above", zero, R"("zero_point": 256)", r, "its zero point 256 lies outside uint8"},
           {"huge_zero_point", zero, R"("zero_point": 4294967296)", r, "its zero point 4294967296 lies outside uint8"},
           {"zero_point_is_no_integer", zero, R"("zero_point": 3.5)", r, "its zero point 3.5 is no integer"},
           {"type", R"("type": "uint8")", R"("type": "int4")", r, "'int4' is no quantized type; known are uint8, int8"},
           {"unknown_key", R"("method")", R"("methd")", r, "unknown key 'methd'"},
           {"unknown_key_of_the_scheme", R"("range": "percentile")", R"("range": "percentile", "bits": 3)", "p.json: scheme",
            "unknown key 'bits'"},
           {"unknown_part", R"("nodes")", R"("node": {}, "nodes")", "p.json", "unknown key 'node'"},
           {"weight_bits", R"("weight_bits": 8)", R"("weight_bits": 4)", "p.json: scheme",
            "weight_bits is 4, allowed are 7 and 8"},
           {"range_method", R"("percentile",)", R"("guess",)", "p.json: scheme", "guess"},
           {"other_version", R"("pare_plan": 1)", R"("pare_plan": 2)", "p.json", "made by another version of pare"},
           {"no_version", R"("pare_plan": 1,)", "", "p.json", "not a plan"},
           {"no_integer", R"x("integer": true,)x", "", "p.json", "key 'integer' not found"},
           {"node", R"("integer": true)", R"("integer": "yes")", "p.json: node of 'a'", "not a plan"}}) {
    SCOPED_TRACE(c.name);
    const std::string text = edited(c.pattern, c.replacement);
    EXPECT_THAT(error_of([&] { plan_from_json(text, "p.json"); }), AllOf(HasSubstr(c.place + ": "), HasSubstr(c.message)));
  }
  for (const std::string text : {"", "pare", "[1]", "{}", "null"})
    EXPECT_THAT(error_of([&] { plan_from_json(text, "p.json"); }), HasSubstr("p.json: not a plan")) << text;
}

struct MismatchCase {
  std::string name;
  std::function<void(Plan&)> edit;
  std::string place, message;
};

TEST(PlanJson, WhatDoesNotFitTheGraphIsAnError) {
  for (const MismatchCase& c : std::vector<MismatchCase>{
           {"unknown_tensor", [](Plan& p) { p.tensors["nobody"] = p.tensors.at("r"); }, "tensor 'nobody'", "does not have"},
           {"unknown_node", [](Plan& p) { p.nodes["nobody"] = {}; }, "'nobody'", "does not have"},
           {"float_input", [](Plan& p) { p.tensors.at("x").quantized = false; }, "node 'a_node'", "keeps its input 'x' float"},
           {"float_output", [](Plan& p) { p.tensors.at("r").quantized = false; }, "node 'r_node'", "keeps its output 'r' float"},
           {"no_kernel", [](Plan& p) { p.nodes.at("y").integer = true; }, "node 'y_node'", "no integer kernel"},
           {"weight", [](Plan& p) { p.tensors["w"] = p.tensors.at("r"); }, "tensor 'w'", "does not have"}}) {
    SCOPED_TRACE(c.name);
    Plan plan = plan_of(net());
    c.edit(plan);
    Log log;
    EXPECT_THAT(error_of([&] { insert_qdq(net(), plan, log); }), AllOf(HasSubstr(c.place), HasSubstr(c.message)));
  }
}

TEST(PlanJson, UnknownOperatorsAndIntegersCannotBeQuantized) {
  const Graph g = Builder(17)
                      .input("x", {1, 8})
                      .node("Special", {"x"}, {"y"}, {}, "com.example")
                      .node("Shape", {"x"}, {"n"})
                      .output("y")
                      .output("n", DType::i64)
                      .build();
  Log log;
  Plan plan;
  plan.nodes["y"] = {"Special", true, ""};
  EXPECT_THAT(error_of([&] { insert_qdq(g, plan, log); }), HasSubstr("no integer kernel"));
  plan.nodes.clear();
  plan.tensors["n"].quantized = true;
  EXPECT_THAT(error_of([&] { insert_qdq(g, plan, log); }), AllOf(HasSubstr("tensor 'n'"), HasSubstr("int64")));
}

}  // namespace
}  // namespace pare
