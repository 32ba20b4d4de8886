#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pare {

/// Smallest and largest finite value and the number of values that are not finite. `any` is false where none is finite.
struct Extremes {
  float min = 0, max = 0;
  uint64_t not_finite = 0;
  bool any = false;
};
Extremes extremes(std::span<const float> values);

/// Distribution of a stream of floats in bounded memory, independent of the order in which the values come.
///
/// Bins have width 2^exponent and are anchored at zero: bin k (from -kHalf to kHalf - 1) counts the values in [k, k + 1) *
/// 2^exponent. The exponent is the smallest with which all values so far fit; when a value falls outside, the width doubles and
/// neighbouring bins add up. Since floor(floor(x / w) / 2) = floor(x / 2w), the result is that of one histogram with the final
/// width, to the bit, and parts merge exactly.
class Histogram {
 public:
  static constexpr int kHalf = 4096;
  static constexpr size_t kBins = 2 * size_t{kHalf};
  static constexpr int kMinExponent = -100;  ///< below it, values are zero for every purpose of INT8

  /// Counts `values`; NaN and infinities are counted apart and enter nothing else.
  void add(std::span<const float> values);
  /// The same for a caller who has the extremes of `values` already.
  void add(std::span<const float> values, const Extremes& found);
  void merge(const Histogram& other);

  [[nodiscard]] uint64_t count() const noexcept { return count_; }            ///< finite values
  [[nodiscard]] uint64_t not_finite() const noexcept { return not_finite_; }  ///< NaN and infinities
  [[nodiscard]] float min() const noexcept { return min_; }                   ///< exact; 0 where nothing was counted
  [[nodiscard]] float max() const noexcept { return max_; }
  [[nodiscard]] int exponent() const noexcept { return exponent_; }
  [[nodiscard]] double width() const noexcept;
  /// kBins counts from the most negative bin on; empty where nothing was counted.
  [[nodiscard]] const std::vector<uint64_t>& bins() const noexcept { return bins_; }
  /// Lower edge of the bin at position i of bins().
  [[nodiscard]] double edge(size_t i) const noexcept;

  /// From stored parts; the caller has checked them (bins of size kBins or empty).
  static Histogram restore(int exponent, float min, float max, uint64_t not_finite, std::vector<uint64_t> bins);

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  void widen(int exponent);

  int exponent_ = kMinExponent;
  float min_ = 0, max_ = 0;
  uint64_t count_ = 0, not_finite_ = 0;
  std::vector<uint64_t> bins_;
};

}  // namespace pare
