#pragma once

#include <cstdint>

namespace pare {

/// Sum of floats that does not depend on their order: fixed point with 2^-60 as its unit in 128 bits. Each value is first clamped
/// to
/// +-2^60 and cut (towards zero) to that unit, which loses nothing that matters to INT8; NaN counts as nothing; 2^6 values of the
/// largest size, or 2^66 of size 1, fit.
class ExactSum {
 public:
  void add(float value);
  void merge(const ExactSum& other) { add_parts(other.high_, other.low_); }
  [[nodiscard]] double value() const;

  [[nodiscard]] int64_t high() const noexcept { return high_; }
  [[nodiscard]] uint64_t low() const noexcept { return low_; }
  static ExactSum restore(int64_t high, uint64_t low);

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  void add_parts(int64_t high, uint64_t low);
  [[nodiscard]] ExactSum negated() const;

  int64_t high_ = 0;
  uint64_t low_ = 0;
};

}  // namespace pare
