#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tensor.h"

namespace pare {

/// How far one tensor, or one channel of it, is from the float model's, over all samples added. Elements that are NaN or infinite
/// on either side are counted and left out of every other figure.
struct SignalFigures {
  int64_t count = 0;                 ///< pairs of finite elements
  int64_t reference_non_finite = 0;  ///< NaN or infinite in the reference
  int64_t test_non_finite = 0;       ///< NaN or infinite in the test tensor
  double signal = 0;                 ///< sum of reference^2
  double noise = 0;                  ///< sum of (test - reference)^2
  double error_sum = 0;              ///< sum of test - reference
  double max_error = 0;              ///< largest |test - reference|; its first occurrence is at:
  int64_t max_sample = -1;           ///< number of the sample, from 0 in order of adding; -1 when there was no finite pair
  int64_t max_index = -1;            ///< flat row-major index inside that sample's tensor

  /// 10 log10(signal / noise) in dB; +infinity when noise is 0, -infinity when only signal is, NaN without a finite pair.
  [[nodiscard]] double sqnr_db() const;
  /// Mean of test - reference; NaN without a finite pair.
  [[nodiscard]] double mean_error() const;
  /// Adds the figures of other elements of the same samples.
  SignalFigures& operator+=(const SignalFigures& other);
};

/// The error of one output or inner tensor, accumulated in double over samples; memory does not grow with them.
class SignalError {
 public:
  /// `channel_axis`: also keep figures per index of that axis; negative counts from the last axis.
  explicit SignalError(std::optional<int> channel_axis = std::nullopt) : axis_(channel_axis) {}

  /// One sample. The shape may change between samples, the number of channels may not. Any numeric type, compared as float.
  /// Errors: ErrorKind::input when the shapes differ, the axis is outside the shape or the number of channels changes.
  void add(const Tensor& reference, const Tensor& test);

  [[nodiscard]] int64_t samples() const noexcept { return samples_; }
  /// Everything.
  [[nodiscard]] SignalFigures total() const;
  /// One entry per channel, empty without a channel axis.
  [[nodiscard]] std::span<const SignalFigures> channels() const;

 private:
  std::optional<int> axis_;
  int64_t samples_ = 0;
  std::vector<SignalFigures> parts_;  // per channel; a single one without an axis
};

}  // namespace pare
