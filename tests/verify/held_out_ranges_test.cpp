#include "verify/held_out_ranges.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::string> names(const std::vector<WatchedTensor>& watched) {
  std::vector<std::string> all;
  for (const WatchedTensor& w : watched) all.push_back(w.tensor);
  return all;
}

/// The test model quantizes `tensor` alone; that is all watched_tensors reads of it.
Graph quantizes(const std::string& tensor, float scale, const std::optional<Tensor>& zero_point) {
  Builder b(21);
  b.input(tensor, {1, 4}).constant("s", Tensor::scalar(scale));
  if (zero_point) b.constant("z", *zero_point);
  b.node("QuantizeLinear", zero_point ? std::vector<std::string>{tensor, "s", "z"} : std::vector<std::string>{tensor, "s"},
         {"q"});
  return b.output("q", zero_point ? zero_point->type() : DType::u8).build();
}

Graph reference(const std::string& op = "Neg") {
  return Builder(13).input("x", {1, 4}).node(op, {"x"}, {"y"}).output("y").build();
}

struct Represented {
  const char* name;
  std::optional<Tensor> zero_point;
  double low, high;  ///< in steps
};

TEST(WatchedTensors, KnowTheIntervalOfEachType) {
  for (const Represented& c : {Represented{"uint8", Tensor::scalar<uint8_t>(3), -3.5, 252.5},
                               {"uint8 from 0", Tensor::scalar<uint8_t>(0), -.5, 255.5},
                               {"no zero point", std::nullopt, -.5, 255.5},
                               {"int8", Tensor::scalar<int8_t>(-5), -123.5, 132.5},
                               {"int8, symmetric", Tensor::scalar<int8_t>(0), -128.5, 127.5},
                               {"uint16", Tensor::scalar<uint16_t>(1000), -1000.5, 64535.5},
                               {"int16", Tensor::scalar<int16_t>(0), -32768.5, 32767.5}}) {
    const auto watched = watched_tensors(quantizes("x", .25F, c.zero_point), reference());
    ASSERT_EQ(watched.size(), 1U) << c.name;
    EXPECT_EQ(watched[0].tensor, "x") << c.name;
    EXPECT_NEAR(watched[0].low, .25 * c.low, 1e-9) << c.name;
    EXPECT_NEAR(watched[0].high, .25 * c.high, 1e-9) << c.name;
  }
}

TEST(WatchedTensors, TakeTheTypeFromOutputDtype) {
  Graph test = quantizes("x", 1, std::nullopt);
  test.nodes[0].attributes["output_dtype"] = int64_t{3};  // INT8
  EXPECT_EQ(watched_tensors(test, reference()).at(0).low, -128.5);
}

TEST(WatchedTensors, FollowPareRenamedOutputs) {
  EXPECT_THAT(names(watched_tensors(quantizes("y_float", 1, Tensor::scalar<uint8_t>(0)), reference())), ElementsAre("y"));
  const Graph other = Builder(13).input("x", {1, 4}).node("Neg", {"x"}, {"x_float"}).output("x_float").build();
  EXPECT_THAT(names(watched_tensors(quantizes("x_float", 1, Tensor::scalar<uint8_t>(0)), other)), ElementsAre("x_float"));
}

TEST(WatchedTensors, LeaveOutWhatCannotBeCompared) {
  const Tensor zero = Tensor::scalar<uint8_t>(0);
  EXPECT_THAT(watched_tensors(quantizes("unknown", 1, zero), reference()), IsEmpty());
  EXPECT_THAT(watched_tensors(quantizes("_float", 1, zero), reference()), IsEmpty());
  EXPECT_THAT(watched_tensors(reference(), reference()), IsEmpty());
  Graph per_channel = quantizes("x", 1, zero);
  per_channel.initializers["s"] = models::floats({4}, {1, 2, 3, 4});
  EXPECT_THAT(watched_tensors(per_channel, reference()), IsEmpty());
  Graph computed = quantizes("x", 1, zero);
  computed.initializers.erase("s");
  EXPECT_THAT(watched_tensors(computed, reference()), IsEmpty());
  const Graph weight = Builder(13).input("x", {1, 4}).weights("w", {4}).node("Mul", {"x", "w"}, {"y"}).output("y").build();
  EXPECT_THAT(watched_tensors(quantizes("w", 1, zero), weight), IsEmpty());
}

struct Reader {
  const char* name;
  Graph reference;  ///< what reads "t"
  float scale;
  uint8_t zero_point;
  bool low_flat, high_flat = false;
};

Builder reads() { return Builder(13).input("x", {1, 4}).node("Neg", {"x"}, {"t"}); }

std::vector<Reader> readers() {
  const auto silu = [] { return reads().node("Sigmoid", {"t"}, {"s"}).node("Mul", {"t", "s"}, {"y"}); };
  const auto one = [](const std::string& op, std::map<std::string, Attribute> attributes = {}) {
    return reads().node(op, {"t"}, {"y"}, std::move(attributes)).output("y").build();
  };
  const auto clip =
      reads().constant("lo", Tensor::scalar(0.F)).constant("hi", Tensor::scalar(6.F)).node("Clip", {"t", "lo", "hi"}, {"y"});
  const std::map<std::string, Attribute> sixth{{"alpha", 1.F / 6}, {"beta", .5F}};
  return {
      // scale .1: zero point 60 makes the range -6 .. 19.5, 40 -4 .. 21.5, 0 0 .. 25.5, 200 -20 .. 5.5
      {"SiLU, cut at -6", silu().output("y").build(), .1F, 60, true},
      {"SiLU, wider than its flat part", silu().output("y").build(), .1F, 200, true},
      {"SiLU, cut at -4", silu().output("y").build(), .1F, 40, false},
      {"SiLU, cut at 0", silu().output("y").build(), .1F, 0, false},
      {"SiLU, read elsewhere too", silu().node("Neg", {"t"}, {"z"}).output("y").output("z").build(), .1F, 60, false},
      {"SiLU, also an output", silu().output("y").output("t").build(), .1F, 60, false},
      {"gate of something else", reads().node("Sigmoid", {"t"}, {"s"}).node("Mul", {"x", "s"}, {"y"}).output("y").build(), .1F,
       60, true},
      {"product with something else",
       reads().node("Sigmoid", {"t"}, {"s"}).node("Mul", {"t", "x"}, {"y"}).output("y").output("s").build(), .1F, 60, false},
      {"Mul alone", reads().node("Mul", {"t", "x"}, {"y"}).output("y").build(), .1F, 60, false},
      {"Sigmoid alone", reads().node("Sigmoid", {"t"}, {"s"}).node("Neg", {"s"}, {"y"}).output("y").build(), .05F, 128, true,
       true},
      {"Relu, cut at 0", one("Relu"), .1F, 0, true},
      {"Relu, range below 0", one("Relu"), .1F, 60, true},
      {"Relu and SiLU, cut at 0", silu().node("Relu", {"t"}, {"z"}).output("y").output("z").build(), .1F, 0, false},
      {"Relu and SiLU, cut at -6", silu().node("Relu", {"t"}, {"z"}).output("y").output("z").build(), .1F, 60, true},
      {"HardSwish", Builder(14).input("x", {1, 4}).node("Neg", {"x"}, {"t"}).node("HardSwish", {"t"}, {"y"}).output("y").build(),
       .1F, 30, true},
      {"HardSigmoid by sixths", one("HardSigmoid", sixth), .1F, 30, true, true},
      {"HardSigmoid by fifths, cut at -2", one("HardSigmoid"), .1F, 20, false, true},
      {"Clip 0 to 6", Builder(clip).output("y").build(), .1F, 0, true, true},
      {"Clip 0 to 6, cut at 5", Builder(clip).output("y").build(), .02F, 0, true, false},
      {"through Concat",
       reads().node("Concat", {"t", "t"}, {"c"}, {{"axis", int64_t{1}}}).node("Relu", {"c"}, {"y"}).output("y").build(), .1F, 0,
       true},
      {"Concat is the output", reads().node("Concat", {"t", "t"}, {"y"}, {{"axis", int64_t{1}}}).output("y").build(), .1F, 0,
       false},
      {"Concat before the Relu",
       reads()
           .node("Concat", {"t", "x"}, {"y"}, {{"axis", int64_t{1}}})
           .node("Relu", {"t"}, {"z"})
           .output("y")
           .output("z")
           .build(),
       .1F, 0, false},
      {"nobody", reads().output("t").build(), .1F, 0, false},
      {"Tanh", one("Tanh"), .05F, 128, true, true},
      {"Tanh, cut at 0", one("Tanh"), .1F, 0, false, true},
      {"Gelu", Builder(20).input("x", {1, 4}).node("Neg", {"x"}, {"t"}).node("Gelu", {"t"}, {"y"}).output("y").build(), .1F, 40,
       true},
      {"Split, one part flat",
       reads()
           .node("Split", {"t"}, {"a", "b"}, {{"axis", int64_t{1}}})
           .node("Relu", {"a"}, {"y"})
           .node("Neg", {"b"}, {"z"})
           .output("y")
           .output("z")
           .build(),
       .1F, 0, false},
      {"Neg", one("Neg"), .1F, 0, false},
  };
}

TEST(WatchedTensors, DoNotCountTheFlatSide) {
  for (const Reader& c : readers()) {
    const auto watched = watched_tensors(quantizes("t", c.scale, Tensor::scalar(c.zero_point)), c.reference);
    ASSERT_EQ(watched.size(), 1U) << c.name;
    EXPECT_EQ(watched[0].low == -kInf, c.low_flat) << c.name << " " << watched[0].low;
    EXPECT_EQ(watched[0].high == kInf, c.high_flat) << c.name << " " << watched[0].high;
  }
}

TEST(HeldOutRanges, CountFromHalfAStepOn) {
  HeldOutRanges ranges(watched_tensors(quantizes("x", 1, Tensor::scalar<uint8_t>(0)), reference()));
  ranges.add(0, std::vector<float>{-.5F, 0, 255, 255.5F});
  EXPECT_EQ(ranges.share_outside(), 0);
  EXPECT_THAT(ranges.worst(10), IsEmpty());
  ranges.add(0, std::vector<float>{std::nextafter(-.5F, -1.F), std::nextafter(255.5F, 256.F), 300, -2});
  EXPECT_EQ(ranges.share_outside(), .5);
  ASSERT_EQ(ranges.worst(10).size(), 1U);
  EXPECT_EQ(ranges.worst(10)[0].share_outside, .5);
  EXPECT_EQ(ranges.worst(10)[0].seen_low, -2);
  EXPECT_EQ(ranges.worst(10)[0].seen_high, 300);
  EXPECT_EQ(ranges.worst(10)[0].low, -.5);
  EXPECT_EQ(ranges.worst(10)[0].high, 255.5);
}

TEST(HeldOutRanges, SeeOnlyWhatWasThere) {
  HeldOutRanges ranges({{"x", 0, 1}});
  ranges.add(0, std::vector<float>{5, 7});
  EXPECT_EQ(ranges.worst(1).at(0).seen_low, 5);
  EXPECT_EQ(ranges.worst(1).at(0).seen_high, 7);
}

TEST(HeldOutRanges, CountNaNAndInfinity) {
  HeldOutRanges ranges({{"x", 0, 1}, {"flat", -kInf, 1}});
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), -inf, inf, .5F};
  ranges.add(0, values);
  ranges.add(1, values);
  EXPECT_EQ(ranges.worst(2).at(0).share_outside, .75);
  EXPECT_EQ(ranges.worst(2).at(1).share_outside, .5);
  EXPECT_EQ(ranges.share_outside(), .625);
}

TEST(HeldOutRanges, PutTheWorstFirst) {
  HeldOutRanges ranges({{"a", 0, 1}, {"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}, {"e", 0, 1}});
  const std::vector<std::vector<float>> values{{2, 0, 0, 0}, {0, 0, 0, 0}, {2, 2, 2, 0}, {2, 0, 0, 0}, {2, 2}};
  for (size_t i = 0; i < values.size(); ++i) ranges.add(i, values[i]);
  std::vector<std::string> order;
  for (const HeldOutRange& r : ranges.worst(10)) order.push_back(r.tensor);
  EXPECT_THAT(order, ElementsAre("e", "c", "a", "d"));
  EXPECT_EQ(ranges.worst(2).size(), 2U);
  EXPECT_THAT(ranges.worst(0), IsEmpty());
  EXPECT_EQ(ranges.share_outside(), 7. / 18);
  EXPECT_EQ(HeldOutRanges({}).share_outside(), 0);
}

}  // namespace
}  // namespace pare
