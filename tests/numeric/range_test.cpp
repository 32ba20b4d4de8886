#include "numeric/range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/quantization.h"
#include "tests/numeric/golden.h"

namespace pare {
namespace {

constexpr int kLevels = 256;

struct Row {
  std::string name;
  double min, max, p99, p999, divergence, threshold, error, low, high;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const auto& r : golden_rows("ranges.txt"))
    all.push_back({r[0], number(r[1]), number(r[2]), number(r[3]), number(r[4]), number(r[5]), number(r[6]), number(r[7]),
                   number(r[8]), number(r[9])});
  return all;
}

Histogram histogram_of(const std::vector<float>& values) {
  Histogram h;
  h.add(values);
  return h;
}

double mean_squared_error(const std::vector<float>& values, const Range& range) {
  const QParams p = choose_params(range, DType::u8, false);
  double sum = 0;
  for (const float x : values) sum += std::pow(fake_quantize(x, p, DType::u8) - static_cast<double>(x), 2);
  return sum / static_cast<double>(values.size());
}

/// Divergence as range.h defines it, level by level, for the histogram clipped to bins [first, last).
double divergence(std::vector<uint64_t> bins, size_t first, size_t last) {
  bins[4096] = std::min(bins[4096], std::max(bins[4095], bins[4097]));
  std::vector<double> p(bins.begin() + static_cast<std::ptrdiff_t>(first), bins.begin() + static_cast<std::ptrdiff_t>(last));
  std::vector<double> c = p;
  double inside = 0, total = 0, sum = 0;
  for (const double v : p) inside += v;
  for (size_t i = 0; i < bins.size(); ++i) {
    total += static_cast<double>(bins[i]);
    if (i < first) c.front() += static_cast<double>(bins[i]);
    if (i >= last) c.back() += static_cast<double>(bins[i]);
  }
  for (size_t level = 0; level < kLevels; ++level) {
    double mass = 0;
    std::vector<double> alive;
    for (size_t i = 0; i < p.size(); ++i) {
      if ((2 * i + 1) * kLevels / (2 * p.size()) != level || c[i] == 0) continue;
      mass += p[i];
      alive.push_back(c[i] / total);
    }
    for (const double r : alive)
      sum += r * std::log(r / std::max(mass / static_cast<double>(alive.size()) / std::max(inside, 1.0), 1e-12));
  }
  return sum;
}

TEST(Ranges, SamplesAreThoseOfTheGenerator) {
  for (const Row& row : rows()) {
    const Histogram h = histogram_of(samples(row.name));
    EXPECT_EQ(h.min(), row.min) << row.name;
    EXPECT_EQ(h.max(), row.max) << row.name;
  }
}

TEST(PercentileRange, EqualsNumpyWithinOneBin) {
  for (const Row& row : rows()) {
    const Histogram h = histogram_of(samples(row.name));
    for (const auto& [percentile, wanted] : {std::pair{99.0, row.p99}, std::pair{99.9, row.p999}}) {
      const Range r = percentile_range(h, percentile);
      EXPECT_NEAR(r.high, std::min(wanted, row.max), h.width()) << row.name << " " << percentile;
      EXPECT_NEAR(r.low, std::max(-wanted, row.min), h.width()) << row.name << " " << percentile;
    }
    EXPECT_EQ(percentile_range(h, 100), (Range{row.min, row.max})) << row.name;
  }
}

TEST(L2Range, ErrorIsWithinThreePercentOfBruteForce) {
  for (const Row& row : rows()) {
    const std::vector<float> values = samples(row.name);
    EXPECT_LE(mean_squared_error(values, l2_range(histogram_of(values), kLevels)), 1.03 * row.error) << row.name;
  }
}

TEST(L2Range, ClipsWhereMassIsSmallAgainstTheTail) {  // 4 levels: the step is coarse, clipping pays
  const std::vector<float> values = samples("normal");
  const Range range = l2_range(histogram_of(values), 4);
  EXPECT_LT(range.high, 2.2);
  EXPECT_GT(range.low, -2.2);
}

TEST(EntropyRange, DivergenceIsWithinEightPercentOfBruteForce) {
  for (const Row& row : rows()) {
    const Histogram h = histogram_of(samples(row.name));
    const Range range = entropy_range(h, kLevels);
    const auto first = static_cast<size_t>(std::floor(range.low / h.width()) + 4096);
    const auto last = static_cast<size_t>(std::max(std::ceil(range.high / h.width()), 1.0) + 4096);
    EXPECT_LE(divergence(h.bins(), first, last), 1.08 * row.divergence + 1e-6) << row.name << " to " << range.high;
  }
}

TEST(EntropyRange, ASpikeOfZerosDoesNotPullTheThresholdIn) {
  const std::vector<float> values = samples("sparse");
  const Range range = entropy_range(histogram_of(values), kLevels);
  EXPECT_GT(range.high, 2);
  EXPECT_LT(mean_squared_error(values, range), 1e-4);
}

struct Edge {
  std::string name;
  std::vector<float> values;
};

TEST(Ranges, StayWithinTheObservedValues) {
  const std::vector<Edge> edges{{"zeros", {0, 0, 0}},         {"one_value", {3}},           {"negative", {-1, -2, -3}},
                                {"far_from_zero", {5, 6, 7}}, {"huge", {1e38F, -3e38F, 0}}, {"denormal", {1e-42F}},
                                {"minus_zero", {-0.F}},       {"power", {4096, -4096}},     {"nan", {1, -1, std::nanf("")}}};
  for (const Edge& edge : edges) {
    const Histogram h = histogram_of(edge.values);
    for (const Range& r : {percentile_range(h, 99.99), percentile_range(h, 1), entropy_range(h, kLevels), l2_range(h, kLevels)}) {
      EXPECT_TRUE(std::isfinite(r.low) && std::isfinite(r.high)) << edge.name;
      EXPECT_GE(r.low, h.min()) << edge.name;
      EXPECT_LE(r.high, h.max()) << edge.name;
      EXPECT_LE(r.low, r.high) << edge.name;
    }
  }
}

TEST(Ranges, NothingCounted) {
  const Histogram h;
  EXPECT_EQ(percentile_range(h, 99), Range{});
  EXPECT_EQ(entropy_range(h, kLevels), Range{});
  EXPECT_EQ(l2_range(h, kLevels), Range{});
}

TEST(RangeMethod, NamesRoundTrip) {
  for (const RangeMethod m :
       {RangeMethod::minmax, RangeMethod::percentile, RangeMethod::entropy, RangeMethod::l2, RangeMethod::mean_minmax})
    EXPECT_EQ(range_method(method_name(m)), m);
  try {
    range_method("max");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "--range: 'max' is no range method; known are minmax, percentile, entropy, l2, mean-minmax");
    EXPECT_EQ(e.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace pare
