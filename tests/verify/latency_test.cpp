#include "verify/latency.h"

#include <gmock/gmock.h>

#include "pare/error.h"

namespace pare {
namespace {

/// Functions that take the given milliseconds, call by call, on a clock of their own.
class Script {
 public:
  std::function<void()> function(char name, std::vector<double> costs) {
    return [this, name, costs = std::move(costs), call = size_t{0}]() mutable {
      calls += name;
      now_ += costs[call++ % costs.size()];
    };
  }
  LatencyOptions options(int rounds, int runs) {
    return {.rounds = rounds, .runs = runs, .clock_ms = [this] { return now_; }};
  }
  std::string calls;

 private:
  double now_ = 100;
};

TEST(MeasureLatency, InterleavesInBlocksAfterAWarmUp) {
  Script script;
  const std::vector<std::function<void()>> functions{script.function('a', {1}), script.function('b', {1})};
  measure_latency(functions, script.options(2, 3));
  EXPECT_EQ(script.calls, "aaabbbaaabbbaaabbb");
}

TEST(MeasureLatency, DropsTheWarmUpAndKeepsTheFastestRun) {
  Script script;
  // Per round of two runs; the warm-up is the quickest of all and must not show. Rounds of a: 4 8 2, of b: 2 16 3.
  const std::vector<std::function<void()>> functions{script.function('a', {.5, .5, 9, 4, 8, 8.5, 2, 7}),
                                                     script.function('b', {.25, .5, 2, 5, 16, 20, 4, 3})};
  const auto rows = measure_latency(functions, script.options(3, 2));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_DOUBLE_EQ(rows[0].median_ms, 4);
  EXPECT_DOUBLE_EQ(rows[0].min_ms, 2);
  EXPECT_DOUBLE_EQ(rows[0].p90_ms, 7.2);  // numpy.quantile([4, 8, 2], .9)
  EXPECT_DOUBLE_EQ(rows[0].ratio, 1);
  EXPECT_DOUBLE_EQ(rows[1].median_ms, 3);
  EXPECT_DOUBLE_EQ(rows[1].ratio, 1.5) << "the median of 0.5, 2 and 1.5, not 3 / 4";
  EXPECT_DOUBLE_EQ(rows[1].ratio_interval.low, .5);
  EXPECT_DOUBLE_EQ(rows[1].ratio_interval.high, 2);
}

TEST(MeasureLatency, IntervalOfTwentyRoundsIsTheSixthRatioFromEachEnd) {
  Script script;
  std::vector<double> costs{1};
  for (int i = 20; i >= 1; --i) costs.push_back(i);
  const std::vector<std::function<void()>> functions{script.function('a', {1}), script.function('b', costs)};
  const auto rows = measure_latency(functions, script.options(20, 1));
  EXPECT_DOUBLE_EQ(rows[1].ratio, 10.5);
  EXPECT_DOUBLE_EQ(rows[1].ratio_interval.low, 6);
  EXPECT_DOUBLE_EQ(rows[1].ratio_interval.high, 15);
}

TEST(MeasureLatency, HasAClock) {
  const std::vector<std::function<void()>> functions{[] {}};
  const auto rows = measure_latency(functions, {.rounds = 1, .runs = 1});
  EXPECT_GE(rows[0].min_ms, 0);
  EXPECT_LT(rows[0].min_ms, 1000);
}

TEST(MeasureLatency, NoFunctionsGiveNoRows) { EXPECT_TRUE(measure_latency({}).empty()); }

TEST(MeasureLatency, RefusesNoRounds) {
  const std::vector<std::function<void()>> functions{[] {}};
  EXPECT_THROW(measure_latency(functions, {.rounds = 0}), Error);
  EXPECT_THROW(measure_latency(functions, {.runs = 0}), Error);
}

TEST(MeasureLatency, PassesOnWhatAFunctionThrows) {
  const std::vector<std::function<void()>> functions{[] { throw Error(ErrorKind::input, "run failed"); }};
  EXPECT_THROW(measure_latency(functions), Error);
}

}  // namespace
}  // namespace pare
