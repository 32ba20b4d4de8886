#include "quantize/make_plan.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::map<std::string, Attribute> kSame{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
const std::map<std::string, Attribute> kAxis{{"axis", int64_t{1}}};

/// Statistics of one tensor: samples that each span [low, high].
TensorStatistics spanning(const std::vector<Range>& samples) {
  TensorStatistics s;
  for (const Range& r : samples) {
    std::vector<float> values;
    for (int i = 0; i <= 1000; ++i) values.push_back(static_cast<float>(r.low + (r.high - r.low) * i / 1000));
    s.histogram.add(values);
    s.sum_of_minima.add(static_cast<float>(r.low));
    s.sum_of_maxima.add(static_cast<float>(r.high));
    ++s.samples;
  }
  return s;
}

using Ranges = std::map<std::string, Range>;

const Scheme kMinMax{.range = RangeMethod::minmax};

Plan plan_with(const Graph& graph, const Ranges& ranges, const Scheme& scheme = kMinMax) {
  std::map<std::string, TensorStatistics> statistics;
  for (const auto& [name, r] : ranges) statistics[name] = spanning({r});
  return make_plan(graph, integer_region(graph, {}), statistics, scheme);
}

Builder stem() { return Builder(17).input("x", {1, 8, 6, 6}).weights("w", {8, 8, 3, 3}).node("Conv", {"x", "w"}, {"a"}, kSame); }
Builder& conv(Builder& b, const std::string& from, const std::string& to, int64_t channels = 8) {
  const std::string w = "w_" + to;
  return b.weights(w, {8, channels, 3, 3}).node("Conv", {from, w}, {to}, kSame).output(to);
}

TEST(MakePlan, WhatMovesSharesTheScaleOfItsSource) {
  Builder b = stem().constant("shape", ints({1, 4, 6, 6}));
  b.node("MaxPool", {"a"}, {"p"}, {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  b.node("Split", {"p"}, {"s", "t"}, kAxis).node("Reshape", {"s", "shape"}, {"r"});
  conv(b, "r", "y", 4);
  conv(b, "t", "z", 4);
  const Plan plan = plan_with(b.build(), {{"x", {-1, 1}}, {"a", {-2, 3}}, {"y", {-1, 1}}, {"z", {-1, 1}}});
  const TensorPlan& source = plan.tensors.at("a");
  EXPECT_FLOAT_EQ(source.params.scale, 5.F / 255);
  EXPECT_EQ(source.params.zero_point, 102);
  EXPECT_EQ(source.method, "minmax");
  for (const std::string name : {"p", "s", "t", "r"}) {
    EXPECT_EQ(plan.tensors.at(name).group, "a") << name;
    EXPECT_EQ(plan.tensors.at(name).params, source.params) << name;
    EXPECT_THAT(plan.tensors.at(name).method, HasSubstr("moves '")) << name;
  }
  EXPECT_EQ(plan.tensors.at("y").group, "y");
}

/// Concat of a (-100, 100) and n (-high, high) -> c -> Conv; who else reads n is up to `more`.
struct ConcatCase {
  std::string name;
  double high;
  std::function<void(Builder&)> more;
  bool shared;
};

void nothing(Builder&) {}
void other_reader(Builder& b) { conv(b, "n", "z"); }

TEST(MakePlan, ConcatSharesItsScaleOnlyWhereThatHurtsNobody) {
  const std::vector<ConcatCase> cases{{"narrow_and_used_once", 1, nothing, true},
                                      {"narrow_and_used_elsewhere", 1, other_reader, false},
                                      {"near_and_used_elsewhere", 26, other_reader, true},
                                      {"just_too_narrow", 24, other_reader, false},
                                      {"narrow_and_an_output", 1, [](Builder& b) { b.output("n"); }, false}};
  for (const ConcatCase& c : cases) {
    SCOPED_TRACE(c.name);
    Builder b = stem().weights("wn", {8, 8, 3, 3}).node("Conv", {"x", "wn"}, {"n"}, kSame);
    b.node("Concat", {"a", "n"}, {"c"}, kAxis);
    conv(b, "c", "y", 16);
    c.more(b);
    const Plan plan =
        plan_with(b.build(), {{"x", {-1, 1}}, {"a", {-100, 100}}, {"n", {-c.high, c.high}}, {"y", {-1, 1}}, {"z", {-1, 1}}});
    EXPECT_EQ(plan.tensors.at("a").group, plan.tensors.at("c").group);
    EXPECT_EQ(plan.tensors.at("n").group == plan.tensors.at("c").group, c.shared);
    EXPECT_FLOAT_EQ(plan.tensors.at("c").params.scale, 200.F / 255);
    EXPECT_FLOAT_EQ(plan.tensors.at("n").params.scale, static_cast<float>(c.shared ? 200 : 2 * c.high) / 255);
    EXPECT_EQ(plan.tensors.at("c").method, "widest of 2 inputs");
  }
}

TEST(MakePlan, ANarrowSourceBehindTheInputOfAConcatKeepsItsScale) {
  Builder b = stem().weights("wn", {8, 8, 3, 3}).node("Conv", {"x", "wn"}, {"n"}, kSame);
  b.node("Split", {"n"}, {"s", "t"}, kAxis).node("Concat", {"a", "s"}, {"c"}, kAxis);  // s is used once, t by a Conv
  conv(b, "c", "y", 12);
  conv(b, "t", "z", 4);
  const Plan plan = plan_with(b.build(), {{"x", {-1, 1}}, {"a", {-100, 100}}, {"n", {-1, 1}}, {"y", {-1, 1}}, {"z", {-1, 1}}});
  EXPECT_FLOAT_EQ(plan.tensors.at("t").params.scale, 2.F / 255);
  EXPECT_EQ(plan.tensors.at("s").group, plan.tensors.at("t").group);
  EXPECT_NE(plan.tensors.at("s").group, plan.tensors.at("c").group);
}

TEST(MakePlan, WideningDoesNotCreepThroughConcats) {  // 1 is near 3, 3 is near 10, but 1 is not near 10
  Builder b = stem();
  for (const std::string n : {"n", "m"}) b.weights("w" + n, {8, 8, 3, 3}).node("Conv", {"x", "w" + n}, {n}, kSame);
  b.node("Concat", {"n", "m"}, {"c"}, kAxis).node("Concat", {"c", "a"}, {"d"}, kAxis);
  conv(b, "n", "z");
  conv(b, "d", "y", 24);
  const Plan plan =
      plan_with(b.build(), {{"x", {-1, 1}}, {"n", {-1, 1}}, {"m", {-3, 3}}, {"a", {-10, 10}}, {"y", {-1, 1}}, {"z", {-1, 1}}});
  EXPECT_LE(plan.tensors.at("n").params.scale, 4.1F * 2 / 255);
}

TEST(MakePlan, ConcatHoldsItsConstantsToo) {
  Builder b = stem().constant("k", models::random({1, 1, 6, 6}, 1, 50, 60)).node("Concat", {"a", "k"}, {"c"}, kAxis);
  conv(b, "c", "y", 9);
  const Plan plan = plan_with(b.build(), {{"x", {-1, 1}}, {"a", {-1, 1}}, {"y", {-1, 1}}});
  EXPECT_GE(plan.tensors.at("c").range.high, 59);
}

TEST(MakePlan, TheRangeOfSigmoidIsDerived) {
  Builder b = stem().node("Sigmoid", {"a"}, {"s"}).node("Mul", {"x", "s"}, {"m"});
  conv(b, "m", "y");
  const Graph g = b.build();
  const Plan plan = plan_with(g, {{"x", {-1, 1}}, {"a", {-3, 2}}, {"m", {-1, 1}}, {"y", {-1, 1}}});
  EXPECT_EQ(plan.tensors.at("s").method, "Sigmoid of 'a'");
  EXPECT_NEAR(plan.tensors.at("s").range.high, 1 / (1 + std::exp(-2)), 1e-6);
  EXPECT_NEAR(plan.tensors.at("s").range.low, 1 / (1 + std::exp(3)), 1e-6);
}

TEST(MakePlan, MeasuredAreTheSourcesOnly) {
  Builder b = stem().node("Relu", {"a"}, {"r"}).node("MaxPool", {"r"}, {"p"}, {{"kernel_shape", std::vector<int64_t>{1, 1}}});
  b.node("Sigmoid", {"p"}, {"s"}).node("Mul", {"p", "s"}, {"m"}).node("Concat", {"m", "p"}, {"c"}, kAxis);
  b.node("HardSwish", {"c"}, {"h"});
  conv(b, "h", "y", 16);
  const Graph g = b.build();
  EXPECT_THAT(tensors_to_measure(g, integer_region(g, {})), UnorderedElementsAre("x", "r", "h", "y"));
  Builder deep = stem().node("Sigmoid", {"a"}, {"s"}).node("Mul", {"a", "s"}, {"m"}).node("Concat", {"m", "a"}, {"c"}, kAxis);
  conv(deep, "c", "y", 16);
  const Graph d = deep.build();
  EXPECT_THAT(tensors_to_measure(d, integer_region(d, {})), UnorderedElementsAre("x", "a", "m", "y"));
}

/// Whatever goes back to float in the tail, its neighbours' ranges were measured.
TEST(MakePlan, StatisticsServeASmallerTail) {
  Builder b = stem().weights("v", {8, 8, 3, 3}).node("Conv", {"a", "v"}, {"d"}, kSame).node("Relu", {"d"}, {"r"});
  b.node("Conv", {"a", "v"}, {"e"}, kSame).node("Concat", {"r", "e"}, {"y"}, kAxis).output("y");
  const Graph g = b.build();
  Region region = integer_region(g, {});
  ASSERT_EQ(integer_nodes(g, region), "a d r e y");
  const auto statistics = measured(g, region);
  for (const size_t node : {size_t{4}, size_t{2}}) {
    region.integer[node] = false;
    shrink_region(g, region);
    EXPECT_EQ(error_of([&] { make_plan(g, region, statistics, kMinMax); }), "no error") << node;
  }
}

struct MethodCase {
  Scheme scheme;
  Range range;
};

TEST(MakePlan, RangeMethods) {
  Builder b = stem().output("a");
  const Graph g = b.build();
  std::map<std::string, TensorStatistics> statistics{{"x", spanning({{-1, 1}})}, {"a", spanning({{-1, 2}, {-3, 4}})}};
  const Histogram& h = statistics.at("a").histogram;
  for (const MethodCase& c :
       std::vector<MethodCase>{{{.range = RangeMethod::minmax}, {-3, 4}},
                               {{.range = RangeMethod::mean_minmax}, {-2, 3}},
                               {{.range = RangeMethod::percentile, .percentile = 90}, percentile_range(h, 90)},
                               {{.range = RangeMethod::entropy}, entropy_range(h, 256)},
                               {{.range = RangeMethod::l2}, l2_range(h, 256)}}) {
    const TensorPlan t = make_plan(g, integer_region(g, {}), statistics, c.scheme).tensors.at("a");
    EXPECT_EQ(t.range, c.range) << method_name(c.scheme.range);
    EXPECT_EQ(t.method, method_name(c.scheme.range));
    EXPECT_EQ(t.params, choose_params(c.range, DType::u8, false));
  }
  EXPECT_LT(percentile_range(h, 90).high, 4);
}

struct TypeCase {
  DType type;
  bool symmetric;
  float scale;
  int zero_point;
};

TEST(MakePlan, TypesAndZeroPoints) {
  for (const TypeCase& c : std::vector<TypeCase>{{DType::u8, false, 5.F / 255, 51},
                                                 {DType::u8, true, 4.F / 127, 128},
                                                 {DType::i8, false, 5.F / 255, -77},
                                                 {DType::i8, true, 4.F / 127, 0}}) {
    const Plan plan = plan_with(stem().output("a").build(), {{"x", {-1, 1}}, {"a", {-1, 4}}},
                                {.activation = c.type, .symmetric = c.symmetric, .range = RangeMethod::minmax});
    const TensorPlan& t = plan.tensors.at("a");
    EXPECT_EQ(t.type, c.type);
    EXPECT_FLOAT_EQ(t.params.scale, c.scale);
    EXPECT_EQ(t.params.zero_point, c.zero_point);
  }
}

TEST(MakePlan, CutsSayWhere) {
  Builder b = stem().node("Sigmoid", {"a"}, {"s"}).node("Mul", {"a", "s"}, {"m"});
  const Graph g = conv(b, "m", "y").build();
  const Ranges ranges{{"x", {-1, 1}}, {"a", {-20, 10}}, {"m", {-1, 9}}, {"y", {-1, 1}}};
  const TensorPlan cut = plan_with(g, ranges).tensors.at("a");
  EXPECT_EQ(cut.range, (Range{-6, 10}));
  EXPECT_EQ(cut.reason, "cut from -20: what reads it is flat below -6");
  Scheme plain = kMinMax;
  plain.follow_activation = false;
  EXPECT_EQ(plan_with(g, ranges, plain).tensors.at("a").range, (Range{-20, 10}));
  EXPECT_EQ(plan_with(g, {{"x", {-1, 1}}, {"a", {-20, -7}}, {"m", {-1, 1}}, {"y", {-1, 1}}}).tensors.at("a").range,
            (Range{-20, -7}));  // nothing would be left
}

TEST(MakePlan, MissingStatisticsAreNamed) {
  const Graph g = stem().output("a").build();
  EXPECT_THAT(error_of([&] { plan_with(g, {{"x", {-1, 1}}}); }), HasSubstr("tensor 'a'"));
  const std::map<std::string, TensorStatistics> empty{{"x", spanning({{-1, 1}})}, {"a", {}}};
  EXPECT_THAT(error_of([&] { make_plan(g, integer_region(g, {}), empty, {}); }), HasSubstr("hold no values"));
}

TEST(MakePlan, EveryFloatTensorAndNodeHasAReason) {
  Builder b = stem().input("other", {1, 8, 6, 6}).node("Relu", {"a"}, {"r"}).node("HardSwish", {"r"}, {"h"});
  b.node("Neg", {"other"}, {"n"}).output("n");
  const Graph g = conv(b, "h", "y").build();
  const Plan plan = plan_with(g, {{"x", {-1, 1}}, {"r", {0, 1}}, {"h", {-1, 1}}, {"y", {-1, 1}}});
  for (const std::string name : {"x", "other", "a", "r", "h", "y", "n"}) {
    ASSERT_TRUE(plan.tensors.contains(name)) << name;
    EXPECT_NE(plan.tensors.at(name).quantized, !plan.tensors.at(name).reason.empty()) << name;
  }
  EXPECT_THAT(plan.tensors.at("n").reason, HasSubstr("made in float: "));
  EXPECT_THAT(plan.tensors.at("a").reason, HasSubstr("'r'"));
  for (const Node& node : g.nodes) EXPECT_NE(plan.nodes.at(node.outputs.front()).reason, "") << node.name;
  EXPECT_EQ(plan.nodes.at("h").op, "HardSwish");
}

}  // namespace
}  // namespace pare
