#include "calib/collect.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "runtime/session.h"
#include "tests/calib/memory_source.h"
#include "tests/data/scratch.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using testing::AllOf;
using testing::HasSubstr;
using Samples = std::vector<std::optional<Tensor>>;
using Measured = std::map<std::string, TensorStatistics>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Graph convs() {
  return Builder(13)
      .input("x", {1, 3, 6, 6})
      .weights("w", {4, 3, 3, 3})
      .weights("v", {4, 4, 3, 3})
      .node("Conv", {"x", "w"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("Conv", {"r", "v"}, {"d"})
      .node("Sigmoid", {"d"}, {"y"})
      .output("y")
      .build();
}

const std::set<std::string> kAll{"x", "c", "r", "d", "y"};

Samples images(size_t count, uint64_t seed = 1) {
  Samples samples;
  for (size_t i = 0; i < count; ++i)
    samples.emplace_back(models::random({1, 3, 6, 6}, seed + i, -1.F / static_cast<float>(i + 1), static_cast<float>(i + 1)));
  return samples;
}

Measured measured(const Graph& graph, const std::set<std::string>& tensors, Samples samples, const CollectOptions& options = {}) {
  MemorySource source(std::move(samples));
  return collect(graph, tensors, source, options);
}

/// The tensor's values in each sample, from a session of its own.
std::vector<std::vector<float>> naive(Graph graph, const std::string& tensor, const Samples& samples) {
  std::vector<std::vector<float>> all;
  graph.outputs = {*graph.value(tensor)};
  Session session(graph);
  for (const auto& s : samples) all.push_back(to_floats(tensor == "x" ? *s : session.run({{"x", *s}}).front()));
  return all;
}

TEST(Collect, AgreesWithNaiveCounting) {
  const Samples samples = images(4);
  const Measured found = measured(convs(), kAll, samples);
  ASSERT_EQ(found.size(), kAll.size());
  for (const auto& [name, statistics] : found) {
    double minima = 0, maxima = 0;
    float low = kInf, high = -kInf;
    uint64_t count = 0;
    for (const auto& values : naive(convs(), name, samples)) {
      const auto [min, max] = std::minmax_element(values.begin(), values.end());
      minima += *min, maxima += *max, count += values.size();
      low = std::min(low, *min), high = std::max(high, *max);
    }
    EXPECT_EQ(statistics.samples, 4U) << name;
    EXPECT_EQ(statistics.histogram.count(), count) << name;
    EXPECT_NEAR(statistics.histogram.min(), low, 1e-5) << name;
    EXPECT_NEAR(statistics.histogram.max(), high, 1e-5) << name;
    EXPECT_NEAR(statistics.sum_of_minima.value(), minima, 1e-4) << name;
    EXPECT_NEAR(statistics.sum_of_maxima.value(), maxima, 1e-4) << name;
    if (name == "x") {
      EXPECT_EQ(statistics.histogram.min(), low);
      EXPECT_EQ(statistics.histogram.max(), high);
    }
  }
}

TEST(Collect, ChunksGiveTheSame) {
  const Measured whole = measured(convs(), kAll, images(3));
  for (const int64_t budget : {int64_t{0}, int64_t{1}, int64_t{600}, int64_t{1200}})
    EXPECT_EQ(measured(convs(), kAll, images(3), {.tap_budget = budget, .progress = {}}), whole) << budget;
}

TEST(Collect, ThreadsAndOrderDoNotMatter) {
  Samples samples = images(5);
  const Measured forward = measured(convs(), kAll, samples);
  EXPECT_EQ(measured(convs(), kAll, samples, {.threads = 3, .progress = {}}), forward);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(measured(convs(), kAll, samples), forward);
  std::rotate(samples.begin(), samples.begin() + 2, samples.end());
  EXPECT_EQ(measured(convs(), kAll, samples), forward);
}

TEST(Collect, MeasuresOnlyWhatIsWanted) {
  const Measured all = measured(convs(), kAll, images(2));
  for (const std::set<std::string>& some : {std::set<std::string>{"x"}, {"y"}, {"c"}, {"x", "y"}, {}}) {
    Measured expected;
    for (const std::string& name : some) expected[name] = all.at(name);
    EXPECT_EQ(measured(convs(), some, images(2)), expected);
  }
}

// Case 13: dropping the tail of a batch would lose the 1.0.
TEST(Collect, CountsEverySampleOfADynamicBatch) {
  const Graph graph = Builder(13).input("x", {-1, 3, 4, 4}).node("Relu", {"x"}, {"y"}).output("y").build();
  Samples samples;
  for (const float v : {.1F, .2F, .3F, .4F, 1.F}) samples.emplace_back(models::floats({1, 3, 4, 4}, std::vector<float>(48, v)));
  for (const auto& [name, statistics] : measured(graph, {"x", "y"}, samples)) {
    EXPECT_EQ(statistics.histogram.max(), 1.F) << name;
    EXPECT_EQ(statistics.histogram.min(), .1F) << name;
    EXPECT_EQ(statistics.histogram.count(), 5U * 48U) << name;
    uint64_t total = 0;
    for (const uint64_t n : statistics.histogram.bins()) total += n;
    EXPECT_EQ(total, 5U * 48U) << name;
    EXPECT_NEAR(statistics.sum_of_maxima.value(), 2, 1e-6) << name;
  }
}

TEST(Collect, TakesSamplesOfDifferentLength) {
  const Graph graph = Builder(13).input("x", {1, 2, -1}).node("Neg", {"x"}, {"n"}).node("Relu", {"n"}, {"y"}).output("y").build();
  Samples samples;
  for (const int64_t length : {3, 7, 5}) samples.emplace_back(models::random({1, 2, length}, static_cast<uint64_t>(length)));
  for (const auto& [name, statistics] : measured(graph, {"x", "n", "y"}, samples))
    EXPECT_EQ(statistics.histogram.count(), 30U) << name;
}

// Sequences of two rows each, whose lengths change from sample to sample: every element counts once, none is made up.
TEST(Collector, MeasuresWhatItIsGiven) {
  const Graph graph =
      Builder(13).input("x", {-1, 2, -1}).node("Neg", {"x"}, {"n"}).node("Relu", {"n"}, {"y"}).output("y").build();
  Collector collector(graph, {"x", "n", "y"}, {});
  uint64_t elements = 0, samples = 0;
  for (const int64_t length : {3, 7, 5}) {
    const Tensor x = models::random({2, 2, length}, static_cast<uint64_t>(length));
    collector.add({.inputs = {{"x", x}}, .placement = {}, .name = "s"});
    elements += static_cast<uint64_t>(x.count()), ++samples;
    for (const auto& [name, statistics] : collector.statistics()) {
      EXPECT_EQ(statistics.histogram.count(), elements) << name;
      EXPECT_EQ(statistics.samples, samples) << name;
    }
  }
}

TEST(Collect, SkipsBrokenSamples) {
  const Samples good = images(3);
  const Measured expected = measured(convs(), kAll, good);
  EXPECT_EQ(measured(convs(), kAll, {std::nullopt, good[0], good[1], std::nullopt, std::nullopt, good[2], std::nullopt}),
            expected);
  for (const auto& [name, statistics] : measured(convs(), kAll, {std::nullopt}))
    EXPECT_EQ(statistics, TensorStatistics{}) << name;
}

TEST(Collect, TakesAnEmptySource) {
  for (const auto& [name, statistics] : measured(convs(), kAll, {})) EXPECT_EQ(statistics, TensorStatistics{}) << name;
}

TEST(Collect, MeasuresATensorThatIsInputAndOutputOnce) {
  Graph graph = convs();
  graph.outputs.push_back(graph.inputs.front());
  EXPECT_EQ(measured(graph, kAll, images(2)), measured(convs(), kAll, images(2)));
}

TEST(Collect, LeavesOtherTypesOut) {
  const Graph graph = Builder(13).input("x", {1, 2}).node("Shape", {"x"}, {"s"}).output("s", DType::i64).build();
  const Measured found = measured(graph, {"x", "s"}, {models::random({1, 2}, 1)});
  EXPECT_EQ(found.at("s"), TensorStatistics{});
  EXPECT_EQ(found.at("x").histogram.count(), 2U);
}

TEST(Collect, ReportsProgress) {
  std::string seen;
  CollectOptions options;
  options.progress = [&seen](size_t done, size_t total) { seen += std::to_string(done) + "/" + std::to_string(total) + " "; };
  Samples samples = images(2);
  samples.insert(samples.begin() + 1, std::nullopt);
  measured(convs(), {"x"}, samples, options);
  EXPECT_EQ(seen, "1/3 2/3 3/3 ");
}

struct NotFinite {
  const char* name;
  std::vector<float> values;  ///< of the second sample
  const char* tensor;         ///< the first in the graph's order that is not finite
};

// z = log(x), e = exp(1000 x): the names sort against the graph's order.
TEST(Collect, NamesTensorAndSampleOfNaNAndInfinity) {
  const Graph graph = Builder(13)
                          .input("x", {1, 2})
                          .constant("k", Tensor::scalar(1000.F))
                          .node("Log", {"x"}, {"z"})
                          .node("Mul", {"x", "k"}, {"m"})
                          .node("Exp", {"m"}, {"e"})
                          .node("Add", {"z", "e"}, {"b"})
                          .node("Neg", {"b"}, {"a"})
                          .output("a")
                          .build();
  for (const NotFinite& c : {NotFinite{"NaN in the input", {1e-3F, kNaN}, "x"},
                             {"infinity in the input", {-kInf, 1e-3F}, "x"},
                             {"NaN inside", {1e-3F, -1e-3F}, "z"},
                             {"infinity inside", {1e-3F, 0}, "z"},
                             {"overflow inside", {1e-3F, 1}, "e"}}) {
    const Samples samples{models::floats({1, 2}, {1e-3F, 2e-3F}), models::floats({1, 2}, c.values)};
    for (const int64_t budget : {int64_t{1}, int64_t{1} << 20})
      for (const int threads : {1, 4})
        EXPECT_THAT(error_of([&] {
                      measured(graph, {"x", "z", "m", "e", "b", "a"}, samples,
                               {.threads = threads, .tap_budget = budget, .progress = {}});
                    }),
                    AllOf(HasSubstr("3 tensor '" + std::string(c.tensor) + "'"), HasSubstr("1 NaN or infinite values"),
                          HasSubstr("sample 's1'"), HasSubstr("leave the sample out")))
            << c.name;
  }
}

TEST(Collect, PassesErrorsOfTheSourceOn) {
  class Failing : public MemorySource {
   public:
    using MemorySource::MemorySource;
    std::optional<Sample> load(size_t index) override {
      if (index == 1) throw Error(ErrorKind::input, "none can be used");
      return MemorySource::load(index);
    }
  };
  Failing source(images(3));
  EXPECT_EQ(error_of([&] { collect(convs(), kAll, source, {}); }), "3 none can be used");
}

TEST(Collect, NamesASampleThatDoesNotFit) {
  Samples samples = images(1);
  samples.emplace_back(models::random({1, 3, 5, 6}, 1));
  EXPECT_THAT(error_of([&] { measured(convs(), kAll, samples); }),
              AllOf(HasSubstr("3 sample 's1': input 'x'"), HasSubstr("1x3x5x6"), HasSubstr("1x3x6x6")));
}

TEST(WithTaps, KeepsTheGivenOrder) {
  const Graph tapped = with_taps(convs(), {"r", "c"});
  ASSERT_EQ(tapped.outputs.size(), 3U);
  EXPECT_EQ(tapped.outputs[1].name, "r");
  EXPECT_EQ(tapped.outputs[2].name, "c");
  EXPECT_EQ(tapped.outputs[2].shape(), (Shape{1, 4, 4, 4}));
}

}  // namespace
}  // namespace pare
