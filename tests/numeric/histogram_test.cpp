#include "numeric/histogram.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "numeric/range.h"
#include "tests/numeric/golden.h"

namespace pare {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The definition in the header, one value at a time, in double.
Histogram reference(const std::vector<float>& values) {
  double largest = 0;
  uint64_t odd = 0;
  float min = kInfinity, max = -kInfinity;
  for (const float v : values) {
    if (!std::isfinite(v)) {
      ++odd;
      continue;
    }
    largest = std::max(largest, std::abs(static_cast<double>(v)));
    min = std::min(min, v), max = std::max(max, v);
  }
  if (odd == values.size()) return Histogram::restore(Histogram::kMinExponent, 0, 0, odd, {});
  int exponent = Histogram::kMinExponent;
  while (largest >= std::ldexp(Histogram::kHalf, exponent)) ++exponent;
  std::vector<uint64_t> bins(2 * Histogram::kHalf);
  for (const float v : values)
    if (std::isfinite(v))
      ++bins[static_cast<size_t>(std::floor(std::ldexp(static_cast<double>(v), -exponent)) + Histogram::kHalf)];
  return Histogram::restore(exponent, min, max, odd, bins);
}

Histogram of(const std::vector<float>& values) {
  Histogram h;
  h.add(values);
  return h;
}

struct Case {
  std::string name;
  std::vector<float> values;
};

std::vector<Case> cases() {
  std::vector<Case> all{
      {"empty", {}},
      {"one", {1}},
      {"zeros", std::vector<float>(40, 0.F)},
      {"minus_zero", {-0.F, 0.F, -0.F}},
      {"edges", {-4, -3, -2.5F, -2, -1, -0.5F, 0, 0.5F, 1, 2, 2.5F, 3, 4}},
      {"powers", {0x1p-12F, 0x1p-11F, 0x1p-1F, 1, 2, 0x1p12F, -0x1p12F, 0x1p13F}},
      {"one_short_of_a_power", {std::nextafter(4096.F, 0.F), -std::nextafter(4096.F, 0.F)}},
      {"negative", {-1, -100, -3.25F, -1e-6F}},
      {"denormal", {1e-40F, -1e-44F, std::numeric_limits<float>::denorm_min()}},
      {"denormal_beside_one", {1e-40F, -1e-40F, 1}},
      {"tiny_beside_huge", {-1e-30F, 1e-30F, -1e-44F, 1e38F}},
      {"largest", {1e38F, -1e38F, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}},
      {"not_finite", {kNan, 1, kInfinity, -kInfinity, -2, kNan}},
      {"only_nan", {kNan, kNan}},
  };
  for (const char* name : {"uniform", "normal", "relu", "sparse", "heavy", "outlier", "skewed"})
    all.push_back({name, samples(name, 5001)});
  Case holes{"normal_with_holes", samples("normal", 3000)};
  for (size_t i = 0; i < holes.values.size(); i += 7) holes.values[i] = i % 2 == 0 ? kNan : -kInfinity;
  all.push_back(holes);
  return all;
}

TEST(Histogram, EqualsThePlainReference) {
  for (const Case& c : cases()) {
    const Histogram got = of(c.values), wanted = reference(c.values);
    EXPECT_EQ(got.exponent(), wanted.exponent()) << c.name;
    EXPECT_EQ(got.bins(), wanted.bins()) << c.name;
    EXPECT_TRUE(got == wanted) << c.name;
    EXPECT_EQ(got.count() + got.not_finite(), c.values.size()) << c.name;
  }
}

TEST(Histogram, AnyOrderGivesTheSame) {
  std::mt19937 engine(1);
  for (const Case& c : cases()) {
    const Histogram wanted = of(c.values);
    std::vector<float> values = c.values;
    for (int round = 0; round < 3; ++round) {
      Histogram one_by_one;
      for (const float& v : values) one_by_one.add({&v, 1});
      EXPECT_TRUE(one_by_one == wanted) << c.name << " in order " << round;
      EXPECT_EQ(std::signbit(one_by_one.min()), std::signbit(wanted.min())) << c.name;
      EXPECT_EQ(std::signbit(one_by_one.max()), std::signbit(wanted.max())) << c.name;
      std::shuffle(values.begin(), values.end(), engine);
    }
  }
}

TEST(Histogram, MergedPartsEqualOneRun) {
  for (const Case& a : cases()) {
    for (const Case& b : cases()) {
      std::vector<float> both = a.values;
      both.insert(both.end(), b.values.begin(), b.values.end());
      Histogram merged = of(a.values);
      merged.merge(of(b.values));
      EXPECT_TRUE(merged == of(both)) << a.name << " + " << b.name;
    }
  }
}

TEST(Histogram, LateWideningEqualsTheFinalWidth) {
  std::vector<float> values = samples("normal", 4000);
  Histogram late;
  for (float scale = 1e-20F; scale < 1e20F; scale *= 100) {
    for (float& v : values) v *= 100;
    late.add(values);
  }
  Histogram early;
  const float last = values.front();
  early.add({&last, 1});
  values = samples("normal", 4000);
  std::vector<std::vector<float>> rounds;
  for (float scale = 1e-20F; scale < 1e20F; scale *= 100) {
    for (float& v : values) v *= 100;
    rounds.push_back(values);
  }
  rounds.back().erase(rounds.back().begin());
  std::reverse(rounds.begin(), rounds.end());
  for (const auto& round : rounds) early.add(round);
  EXPECT_TRUE(early == late);
}

TEST(Histogram, ExtremesAreExact) {
  const Histogram h = of({0.1F, -0.3F, 7.77F, 1e-3F});
  EXPECT_EQ(h.min(), -0.3F);
  EXPECT_EQ(h.max(), 7.77F);
  EXPECT_EQ(h.edge(0), -4096 * h.width());
}

TEST(Histogram, ExtremesOfEveryLength) {
  const std::vector<float> values = samples("heavy", 200);
  for (size_t n = 0; n <= values.size(); ++n) {
    const Extremes e = extremes({values.data(), n});
    ASSERT_EQ(e.any, n > 0);
    if (n == 0) continue;
    EXPECT_EQ(e.min, *std::min_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)));
    EXPECT_EQ(e.max, *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)));
  }
}

TEST(Histogram, MoreThanOneBlock) {  // blocks of 2^24 values in the scan
  std::vector<float> values((size_t{1} << 24) + 77, 0.5F);
  values.back() = -2;
  values[5] = kNan;
  values[(size_t{1} << 24) + 1] = 3;
  const Histogram h = of(values);
  EXPECT_EQ(h.min(), -2);
  EXPECT_EQ(h.max(), 3);
  EXPECT_EQ(h.not_finite(), 1U);
  EXPECT_EQ(h.count(), values.size() - 1);
  EXPECT_EQ(h.bins()[4096 + 512], values.size() - 3);
}

TEST(Histogram, Case15MinmaxAndPercentile) {
  std::vector<float> values(100, 1.F);
  values.push_back(1e6F);
  const Histogram h = of(values);
  EXPECT_EQ(h.max(), 1e6F);
  EXPECT_LE(percentile_range(h, 99).high, 1 + h.width());
  EXPECT_EQ(percentile_range(h, 100).high, 1e6);
}

}  // namespace
}  // namespace pare
