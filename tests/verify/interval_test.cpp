#include "verify/interval.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "pare/error.h"

namespace pare {
namespace {

TEST(Quantile, AgreesWithNumpy) {
  // numpy.quantile([7, 1, 5, 2], q)
  struct Case {
    double q, expected;
  };
  for (const Case& c : {Case{0, 1}, Case{.1, 1.3}, Case{.5, 3.5}, Case{.9, 6.4}, Case{1, 7}})
    EXPECT_NEAR(quantile({7, 1, 5, 2}, c.q), c.expected, 1e-12) << c.q;
  EXPECT_EQ(quantile({3}, .9), 3);
}

TEST(Quantile, RefusesNoValues) { EXPECT_THROW(quantile({}, .5), Error); }

TEST(Wilson, AgreesWithPublishedIntervals) {
  // Newcombe 1998, table I, method 3: four digits.
  struct Case {
    int64_t hits, trials;
    double low, high;
  };
  for (const Case& c :
       {Case{81, 263, .2553, .3662}, Case{15, 148, .0624, .1605}, Case{0, 20, 0, .1611}, Case{1, 29, .0061, .1718}}) {
    const Interval got = wilson(c.hits, c.trials);
    EXPECT_NEAR(got.low, c.low, 5e-5) << c.hits << "/" << c.trials;
    EXPECT_NEAR(got.high, c.high, 5e-5) << c.hits << "/" << c.trials;
  }
}

TEST(Wilson, StaysInsideZeroAndOne) {
  EXPECT_EQ(wilson(0, 7).low, 0);
  EXPECT_EQ(wilson(7, 7).high, 1);
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(MedianInterval, TakesTheRanksOfTheSignTest) {
  // Ranks from tables of the sign test (Conover, Practical Nonparametric Statistics): the k-th smallest and largest of n.
  struct Case {
    int n, k;
  };
  for (const Case& c : {Case{1, 1}, Case{5, 1}, Case{6, 1}, Case{8, 1}, Case{9, 2}, Case{11, 2}, Case{12, 3}, Case{20, 6},
                        Case{25, 8}, Case{100, 40}}) {
    std::vector<double> values(static_cast<size_t>(c.n));
    std::iota(values.rbegin(), values.rend(), 1.0);
    const Interval got = median_interval(values);
    EXPECT_EQ(got.low, c.k) << c.n;
    EXPECT_EQ(got.high, c.n + 1 - c.k) << c.n;
  }
}

TEST(MedianInterval, RefusesNoValues) { EXPECT_THROW(median_interval({}), Error); }

double mean_of_index(std::span<const uint32_t> drawn) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    sum += static_cast<double>(i) * drawn[i];
    count += drawn[i];
  }
  return sum / count;
}

TEST(Bootstrap, GivesTheNormalIntervalOfAMean) {
  // The mean of 0..399 has mean 199.5 and standard error sqrt((400^2 - 1) / 12 / 400) = 5.774.
  const Interval got = percentile_interval(bootstrap(400, 4000, 1, 1, mean_of_index));
  EXPECT_NEAR(got.low, 199.5 - 1.96 * 5.774, .8);
  EXPECT_NEAR(got.high, 199.5 + 1.96 * 5.774, .8);
}

TEST(Bootstrap, DrawsAsManyAsThereAre) {
  const auto total = [](std::span<const uint32_t> drawn) {
    return static_cast<double>(std::accumulate(drawn.begin(), drawn.end(), 0U));
  };
  EXPECT_THAT(bootstrap(9, 5, 3, 1, total), testing::ElementsAre(9, 9, 9, 9, 9));
}

TEST(Bootstrap, DependsOnTheSeedNotOnThreads) {
  const std::vector<double> once = bootstrap(40, 20, 7, 1, mean_of_index);
  EXPECT_EQ(once, bootstrap(40, 20, 7, 3, mean_of_index));
  EXPECT_NE(once, bootstrap(40, 20, 8, 1, mean_of_index));
  EXPECT_NE(once, bootstrap(40, 20, 7 + (1ULL << 32), 1, mean_of_index));
  EXPECT_NE(once[0], once[1]);
}

TEST(PercentileInterval, LeavesOutTheTails) {
  std::vector<double> values(1001);
  std::iota(values.rbegin(), values.rend(), 0.0);
  EXPECT_NEAR(percentile_interval(values).low, 25, 1e-9);
  EXPECT_NEAR(percentile_interval(values).high, 975, 1e-9);
}

TEST(PercentileInterval, RefusesNoValues) { EXPECT_THROW(percentile_interval({}), Error); }

TEST(Bootstrap, RefusesNothingToDraw) {
  EXPECT_THROW(bootstrap(0, 10, 0, 1, mean_of_index), Error);
  EXPECT_THROW(bootstrap(10, 0, 0, 1, mean_of_index), Error);
}

}  // namespace
}  // namespace pare
