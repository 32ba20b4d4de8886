#include "numeric/exact_sum.h"

#include <algorithm>
#include <cmath>

namespace pare {

void ExactSum::add_parts(int64_t high, uint64_t low) {
  low_ += low;
  high_ += high + (low_ < low ? 1 : 0);
}

void ExactSum::add(float value) {
  constexpr double kLargest = 0x1p60;
  const double clamped = std::clamp(static_cast<double>(value), -kLargest, kLargest);
  const double whole = std::floor(clamped);
  // value = whole + fraction; in units of 2^-60 the whole part is shifted by 60 bits across the two words.
  const auto w = static_cast<int64_t>(whole);
  const auto fraction = static_cast<uint64_t>(std::floor((clamped - whole) * 0x1p60));
  add_parts(w >> 4, static_cast<uint64_t>(w) << 60);
  add_parts(0, fraction);
}

double ExactSum::value() const { return std::ldexp(static_cast<double>(high_), 4) + std::ldexp(static_cast<double>(low_), -60); }

ExactSum ExactSum::restore(int64_t high, uint64_t low) {
  ExactSum sum;
  sum.high_ = high;
  sum.low_ = low;
  return sum;
}

}  // namespace pare
