#include "quantize/head.h"

#include <gmock/gmock.h>

#include <cmath>

#include "calib/collect.h"
#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;
using testing::AllOf;
using testing::HasSubstr;

const std::map<std::string, Attribute> kSame{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
const std::map<std::string, Attribute> kAxis{{"axis", int64_t{1}}};
constexpr int64_t kSide = 10;  // more places than channels

/// Two quantized layers before the head: "f", 16 channels.
Builder body() {
  Builder b =
      Builder(17).input("x", {1, 3, kSide, kSide}).weights("w1", {16, 3, 3, 3}, -.5, .5).weights("w2", {16, 16, 3, 3}, -.2F, .2F);
  b.node("Conv", {"x", "w1"}, {"c1"}, kSame).node("Relu", {"c1"}, {"r1"}).node("Conv", {"r1", "w2"}, {"c2"}, kSame);
  return b.node("Sigmoid", {"c2"}, {"s2"}).node("Mul", {"c2", "s2"}, {"f"});
}

/// Case 16: Conv -> SiLU -> split: boxes * 640 and Sigmoid scores -> Concat.
Graph detector() {
  Builder b =
      body().weights("w3", {8, 16, 3, 3}, -.2F, .2F).constant("k", Tensor::scalar(640.F)).constant("flat", ints({1, 8, -1}));
  b.node("Conv", {"f", "w3"}, {"c3"}, kSame).node("Sigmoid", {"c3"}, {"s3"}).node("Mul", {"c3", "s3"}, {"h"});
  b.node("Split", {"h"}, {"boxes", "logits"}, kAxis)
      .node("Mul", {"boxes", "k"}, {"pixels"})
      .node("Sigmoid", {"logits"}, {"scores"});
  return b.node("Concat", {"pixels", "scores"}, {"c"}, kAxis).node("Reshape", {"c", "flat"}, {"y"}).output("y").build();
}

/// The same with DFL: 4 x 4 bins -> Softmax -> light Conv.
Graph dfl_detector() {
  Builder b = body().weights("wb", {16, 16, 3, 3}, -.2F, .2F).weights("ws", {4, 16, 3, 3}, -.4F, .4F);
  b.constant("bins", floats({1, 4, 1, 1}, {0, 1, 2, 3})).constant("k", Tensor::scalar(64.F));
  b.constant("four", ints({1, 4, 4, -1})).constant("flat", ints({1, 4, -1}));
  b.node("Conv", {"f", "wb"}, {"cb"}, kSame).node("Conv", {"f", "ws"}, {"cs"}, kSame);
  b.node("Reshape", {"cb", "four"}, {"v"}).node("Transpose", {"v"}, {"t"}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  b.node("Softmax", {"t"}, {"p"}, kAxis).node("Conv", {"p", "bins"}, {"d"}).node("Reshape", {"d", "flat"}, {"e"});
  b.node("Mul", {"e", "k"}, {"pixels"}).node("Reshape", {"cs", "flat"}, {"l"}).node("Sigmoid", {"l"}, {"scores"});
  return b.node("Concat", {"pixels", "scores"}, {"y"}, kAxis).output("y").build();
}

/// Two convolutions' raw outputs under one Concat. Each is one filter with four gains: of their channels all but the first span
/// nine tenths of the range, and those of the second convolution `factor` times less than those of the first.
Graph raw_heads(float factor) {
  Builder b = body().constant("flat", ints({1, 8, -1}));
  std::string from = "f";
  for (const std::string to : {"d1", "d2", "d3", "d4", "d5", "d6"}) {
    b.weights("w" + to, {16, 16, 3, 3}, -.15F, .15F).node("Conv", {from, "w" + to}, {to}, kSame);
    from = to;
  }
  for (const auto& [name, gain] : {std::pair{"wa", factor}, {"wb", 1.F}}) {
    Tensor w = models::random({4, 16, 1, 1}, 7);
    const auto values = w.write<float>();
    for (size_t i = 16; i < values.size(); ++i) values[i] = values[i % 16];
    for (size_t i = 0; i < values.size(); ++i) values[i] *= gain * (i < 16 ? 1.F : .9F);
    b.constant(name, w);
  }
  b.node("Conv", {from, "wa"}, {"a"}).node("Conv", {from, "wb"}, {"b"}).node("Concat", {"a", "b"}, {"c"}, kAxis);
  return b.node("Reshape", {"c", "flat"}, {"y"}).output("y").build();
}

struct Settled {
  Region region;
  Plan plan;
  Log log;
};

Settled settle(const Graph& graph) {
  Settled s{integer_region(graph, {}), {}, {}};
  const auto statistics = measured(graph, s.region);
  const PlanMaker make = [&](const Region& r) { return make_plan(graph, r, statistics, {}); };
  RandomSource source(graph);
  settle_head(graph, s.region, make, source, 1, s.log);
  s.plan = make(s.region);
  return s;
}

/// Largest error of channels [from, to) of 1 x channels x places, and the mean error of each over `range`.
double largest_error(const Tensor& a, const Tensor& b, int64_t from, int64_t to) {
  const int64_t places = a.shape()[2];
  double worst = 0;
  for (int64_t i = from * places; i < to * places; ++i)
    worst = std::max<double>(worst, std::abs(a.as<float>()[static_cast<size_t>(i)] - b.as<float>()[static_cast<size_t>(i)]));
  return worst;
}

/// Quantized outputs against the float decoding of the same integer layers' outputs.
void expect_good_scores(const Graph& graph, const std::vector<std::string>& layers) {
  const Settled s = settle(graph);
  Log log;
  const Graph q = insert_qdq(graph, s.plan, log);
  Plan body = s.plan;  // only what comes before and the layers themselves on integers
  const GraphIndex index(graph);
  bool behind = false;
  for (const Node& node : graph.nodes) {
    const std::string& name = node.outputs.front();
    const bool layer = std::find(layers.begin(), layers.end(), name) != layers.end();
    if (behind && !layer) {
      body.nodes.at(name).integer = false;
      for (const std::string& output : node.outputs) body.tensors.erase(output);
    }
    behind = behind || name == layers.back();
  }
  const Graph reference = insert_qdq(graph, body, log);
  RandomSource source(graph);
  Session a(reference), b(q);
  for (size_t i = 0; i < source.size(); ++i) {
    const Feeds feeds = source.load(i)->inputs;
    const Tensor x = a.run(feeds)[0], y = b.run(feeds)[0];
    EXPECT_LE(largest_error(x, y, 4, 8), 1. / 255);
    EXPECT_LE(largest_error(x, y, 0, 4), 6);                                                           // of 640
    EXPECT_GT(largest_error(x, y, 0, 8) + largest_error(x, Tensor(DType::f32, x.shape()), 4, 8), .3);  // scores are alive
  }
  for (const auto& [name, t] : s.plan.tensors) EXPECT_FALSE(t.range.high > 10 && t.group == s.plan.tensors.at("scores").group);
}

TEST(SettleHead, Case16ScoresKeepTheirPrecision) { expect_good_scores(detector(), {"c3"}); }
TEST(SettleHead, Case16WithDfl) { expect_good_scores(dfl_detector(), {"cb", "cs"}); }

TEST(SettleHead, RawOutputsOfDifferentRangesGoApart) {
  const Graph g = raw_heads(400);
  ASSERT_EQ(integer_nodes(g, integer_region(g, {})), "c1 r1 c2 s2 f d1 d2 d3 d4 d5 d6 a b c y");
  const Settled s = settle(g);
  EXPECT_EQ(integer_nodes(g, s.region), "c1 r1 c2 s2 f d1 d2 d3 d4 d5 d6 a b");
  EXPECT_THAT(reason_of(g, s.region, "c"),
              AllOf(HasSubstr("mean error"), HasSubstr("of channel "), HasSubstr("of output 'y', allowed")));
  EXPECT_NE(s.plan.tensors.at("a").group, s.plan.tensors.at("b").group);
  EXPECT_LT(s.plan.tensors.at("b").params.scale * 50, s.plan.tensors.at("a").params.scale);
  bool said = false;
  for (const LogRow& row : s.log)
    said = said || (row.stage == "settle_head" && row.what == "float" && row.place == "node 'c_node' (Concat)");
  EXPECT_TRUE(said);
}

/// A YOLOv5 output per level, 1x3x10x10x5: 4 box rows of hundreds and a score under one scale, in each of 3 anchors.
TEST(SettleHead, ChannelsThatAReshapeSplitAreJudgedOneByOne) {
  Builder b = body().weights("wa", {12, 16, 1, 1}, -400, 400).weights("wb", {3, 16, 1, 1}).constant("s", ints({1, 3, 4, 10, 10}));
  b.constant("t", ints({1, 3, 1, 10, 10}));
  b.node("Conv", {"f", "wa"}, {"a"}).node("Conv", {"f", "wb"}, {"b"});
  b.node("Reshape", {"a", "s"}, {"a5"}).node("Reshape", {"b", "t"}, {"b5"});
  b.node("Concat", {"a5", "b5"}, {"c"}, {{"axis", int64_t{2}}});
  b.node("Transpose", {"c"}, {"y"}, {{"perm", std::vector<int64_t>{0, 1, 3, 4, 2}}}).output("y");
  const Graph g = b.build();
  const Settled s = settle(g);
  EXPECT_FALSE(s.region.integer[*GraphIndex(g).producer("c")]);
}

/// What NonMaxSuppression keeps differs in number from run to run: the rows that it selects from are judged.
TEST(SettleHead, DecodingThatEndsInASelection) {
  Builder b = body().weights("wa", {4, 16, 1, 1}, -400, 400).weights("wb", {2, 16, 1, 1}).constant("flat", ints({1, 6, -1}));
  b.constant("k", ints({20})).constant("threshold", floats({1}, {.4F}));
  b.node("Conv", {"f", "wa"}, {"a"}).node("Conv", {"f", "wb"}, {"b"}).node("Concat", {"a", "b"}, {"c"}, kAxis);
  b.node("Reshape", {"c", "flat"}, {"rows"}).constant("sizes", ints({4, 2}));
  b.node("Split", {"rows", "sizes"}, {"boxes", "scores"}, kAxis);
  b.node("Transpose", {"boxes"}, {"corners"}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  b.node("NonMaxSuppression", {"corners", "scores", "k", "threshold", "threshold"}, {"kept"})
      .constant("last", Tensor::scalar(int64_t{2}));
  b.node("Gather", {"kept", "last"}, {"place"}, kAxis).node("Gather", {"corners", "place"}, {"y"}, kAxis).output("y");
  const Graph g = b.build();
  const Settled s = settle(g);
  EXPECT_THAT(reason_of(g, s.region, "c"), AllOf(HasSubstr("mean error"), HasSubstr("of output 'scores'")));
}

TEST(SettleHead, RawOutputsOfOneRangeStayIntegers) {
  const Graph g = raw_heads(1);
  const Settled s = settle(g);
  EXPECT_EQ(integer_nodes(g, s.region), "c1 r1 c2 s2 f d1 d2 d3 d4 d5 d6 a b c y");
  EXPECT_EQ(s.plan.tensors.at("a").group, s.plan.tensors.at("b").group);
  for (const LogRow& row : s.log) EXPECT_THAT(row.why, HasSubstr("mean error")) << row.place;
}

/// Boxes in 0..1 that the last layer gives itself: a scale in common with the scores costs them nothing.
TEST(SettleHead, BoxesAndScoresBothBelowOne) {
  Builder b = body().weights("wa", {4, 16, 1, 1}).weights("wb", {4, 16, 1, 1}).constant("flat", ints({1, 8, -1}));
  b.constant("low", Tensor::scalar(0.F)).constant("high", Tensor::scalar(1.F));
  b.node("Conv", {"f", "wa"}, {"a"}).node("Clip", {"a", "low", "high"}, {"boxes"});
  b.node("Conv", {"f", "wb"}, {"b"}).node("Clip", {"b", "low", "high"}, {"scores"});
  b.node("Concat", {"boxes", "scores"}, {"c"}, kAxis).node("Reshape", {"c", "flat"}, {"y"}).output("y");
  const Graph g = b.build();
  const Settled s = settle(g);
  EXPECT_EQ(integer_nodes(g, s.region), "c1 r1 c2 s2 f a boxes b scores c y");
  EXPECT_NEAR(s.plan.tensors.at("c").params.scale, 1. / 255, 1e-5);
}

TEST(SettleHead, NoDecodingNoChange) {
  Builder b = body().weights("v", {16, 10});
  const Graph g =
      b.node("GlobalAveragePool", {"f"}, {"p"}).node("Flatten", {"p"}, {"q"}).node("Gemm", {"q", "v"}, {"y"}).output("y").build();
  const Settled s = settle(g);
  EXPECT_EQ(s.region.integer, integer_region(g, {}).integer);
  EXPECT_TRUE(s.log.empty());
}

TEST(SettleHead, LayersThatAreOutputsAndDecoded) {
  Builder b = body().weights("wa", {4, 16, 1, 1}, -400, 400).weights("wb", {4, 16, 1, 1}).constant("flat", ints({1, 8, -1}));
  b.node("Conv", {"f", "wa"}, {"a"}).node("Conv", {"f", "wb"}, {"b"}).node("Concat", {"a", "b"}, {"c"}, kAxis);
  const Graph g = b.node("Reshape", {"c", "flat"}, {"y"}).output("a").output("y").output("b").build();
  const Settled s = settle(g);
  EXPECT_FALSE(s.region.integer[*GraphIndex(g).producer("c")]);
}

TEST(SettleHead, AReluOrAFloatConcatInTheTailFindsItsStatistics) {
  Builder b = body().weights("wa", {4, 16, 1, 1}, -400, 400).weights("wb", {4, 16, 1, 1});
  b.constant("tiny", models::floats({4, 1, 1}, {1, 1e-3F, 1e-3F, 1e-3F}));
  b.node("Conv", {"f", "wa"}, {"a"}).node("Relu", {"a"}, {"ra"}).node("HardSwish", {"ra"}, {"y"}).output("y");
  Graph g = b.build();
  const auto w = g.initializers.at("wa").write<float>();
  for (size_t i = 16; i < 64; ++i) w[i] *= 1e-3F;  // channel 0 is 1000 times as wide as the others
  EXPECT_EQ(error_of([&] { settle(g); }), "no error");
}

TEST(SettleHead, DecodingBehindAnUnknownOperator) {
  Builder b = body();
  const Graph g = b.node("Det", {"f"}, {"d"}).node("Det", {"c1"}, {"y"}).output("d").output("y").build();
  EXPECT_EQ(error_of([&] { settle(g); }), "no error");
}

TEST(SettleHead, DecodingOfWhatShapeInferenceCannotTell) {  // a runtime's own operator in the body; its rank is not 0
  const Graph g = body()
                      .node("FusedConv", {"f", "w2"}, {"u"}, {{"activation", std::string("Relu")}}, "com.microsoft")
                      .node("GlobalAveragePool", {"u"}, {"m"})
                      .node("Flatten", {"m"}, {"v"})
                      .weights("k", {16, 64})
                      .node("Gemm", {"v", "k"}, {"y"})
                      .output("y")
                      .build();
  ASSERT_FALSE(g.value("v"));
  EXPECT_EQ(error_of([&] { settle(g); }), "no error");
}

/// The graph with every tensor and node under another name.
Graph renamed(const Graph& graph) {
  Graph g;
  g.opsets = graph.opsets;
  g.ir_version = graph.ir_version;
  std::map<std::string, std::string> names;
  const auto name = [&](const std::string& old) {
    if (old.empty()) return old;
    return names.try_emplace(old, "t" + std::to_string(7919 * (names.size() + 1) % 1000)).first->second;
  };
  for (Value v : graph.inputs) v.name = name(v.name), g.inputs.push_back(v);
  for (Node node : graph.nodes) {
    node.name = "";
    for (std::string& n : node.inputs) n = name(n);
    for (std::string& n : node.outputs) n = name(n);
    g.nodes.push_back(node);
  }
  for (Value v : graph.outputs) v.name = name(v.name), g.outputs.push_back(v);
  for (const auto& [old, tensor] : graph.initializers) g.initializers[name(old)] = tensor;
  for (auto [old, v] : graph.values) v.name = name(old), g.values[v.name] = v;
  return g;
}

TEST(SettleHead, NamesDoNotMatter) {
  for (const Graph& g : {detector(), dfl_detector(), raw_heads(400), raw_heads(1)}) {
    const Settled a = settle(g), b = settle(renamed(g));
    EXPECT_EQ(a.region.integer, b.region.integer);
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      const std::string before = g.nodes[i].outputs.front(), after = renamed(g).nodes[i].outputs.front();
      EXPECT_EQ(a.plan.tensors.at(before).params, b.plan.tensors.at(after).params) << before;
    }
  }
}

}  // namespace
}  // namespace pare
