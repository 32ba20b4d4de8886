#include "numeric/exact_sum.h"

#include <algorithm>
#include <cmath>

namespace pare {

void ExactSum::add_parts(int64_t high, uint64_t low) {
  low_ += low;
  high_ += high + (low_ < low ? 1 : 0);
}

void ExactSum::add(float value) {
  if (std::isnan(value)) return;
  const double magnitude = std::min(std::abs(static_cast<double>(value)), 0x1p60);
  const double whole = std::floor(magnitude);
  // magnitude = whole + fraction, both exact; in units of 2^-60 the whole part is shifted by 60 bits across the two words.
  const auto w = static_cast<uint64_t>(whole);
  ExactSum addend = restore(static_cast<int64_t>(w >> 4), (w << 60) | static_cast<uint64_t>((magnitude - whole) * 0x1p60));
  if (value < 0) addend = addend.negated();
  add_parts(addend.high_, addend.low_);
}

ExactSum ExactSum::negated() const {
  return restore(static_cast<int64_t>(~static_cast<uint64_t>(high_) + (low_ == 0 ? 1 : 0)), ~low_ + 1);
}

double ExactSum::value() const {
  if (high_ < 0) {  // by its magnitude: the two words of a small negative sum would cancel
    const ExactSum positive = negated();
    return positive.high_ < 0 ? std::ldexp(-1.0, 67) : -positive.value();
  }
  return std::ldexp(static_cast<double>(high_), 4) + std::ldexp(static_cast<double>(low_), -60);
}

ExactSum ExactSum::restore(int64_t high, uint64_t low) {
  ExactSum sum;
  sum.high_ = high;
  sum.low_ = low;
  return sum;
}

}  // namespace pare
