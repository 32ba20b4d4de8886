#include "numeric/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/numeric/golden.h"

namespace pare {
namespace {

std::vector<float> values_of(const std::vector<std::string>& row) {
  std::vector<float> values;
  for (size_t i = 2; i < row.size(); ++i) values.push_back(static_cast<float>(number(row[i])));
  return values;
}

ExactSum sum_of(const std::vector<float>& values) {
  ExactSum sum;
  for (const float v : values) sum.add(v);
  return sum;
}

TEST(ExactSum, EqualsPythonsFractions) {
  for (const auto& row : golden_rows("exact_sum.txt")) {
    const double wanted = number(row[1]);
    EXPECT_NEAR(sum_of(values_of(row)).value(), wanted, std::abs(wanted) * 0x1p-52) << row[0] << " values, the first " << row[2];
  }
}

TEST(ExactSum, AnyOrderAndAnyPartsGiveTheSameBits) {
  std::mt19937 engine(1);
  for (const auto& row : golden_rows("exact_sum.txt")) {
    std::vector<float> values = values_of(row);
    const ExactSum wanted = sum_of(values);
    std::shuffle(values.begin(), values.end(), engine);
    EXPECT_EQ(sum_of(values), wanted);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    ExactSum parts = sum_of({values.begin(), middle});
    parts.merge(sum_of({middle, values.end()}));
    EXPECT_EQ(parts, wanted);
    EXPECT_EQ(ExactSum::restore(wanted.high(), wanted.low()), wanted);
  }
}

TEST(ExactSum, NanCountsAsNothing) { EXPECT_EQ(sum_of({1.5F, std::numeric_limits<float>::quiet_NaN()}).value(), 1.5); }

TEST(ExactSum, ManyValuesOfSizeOne) {
  ExactSum sum;
  for (int i = 0; i < 1000000; ++i) sum.add(-0.1F);
  EXPECT_EQ(sum.value(), -0.1F * 1e6);
}

}  // namespace
}  // namespace pare
