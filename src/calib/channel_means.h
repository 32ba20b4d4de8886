#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "numeric/exact_sum.h"

namespace pare {

/// Mean value of each channel of a tensor over all samples; independent of their order, merges exactly.
class ChannelMeans {
 public:
  /// Adds each row of axis 0 (of the whole, where that is the channel axis): per channel its mean over all other axes, to float.
  /// A tensor with another number of channels than before is left out: the layer that reads it will refuse it.
  void add(std::span<const float> values, const Shape& shape, size_t axis);
  void merge(const ChannelMeans& other);
  /// Empty where nothing was added.
  [[nodiscard]] std::vector<float> means() const;

  [[nodiscard]] const std::vector<ExactSum>& sums() const noexcept { return sums_; }
  [[nodiscard]] uint64_t rows() const noexcept { return rows_; }
  static ChannelMeans restore(std::vector<ExactSum> sums, uint64_t rows);

  friend bool operator==(const ChannelMeans&, const ChannelMeans&) = default;

 private:
  std::vector<ExactSum> sums_;
  uint64_t rows_ = 0;
};

}  // namespace pare
