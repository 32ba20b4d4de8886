#pragma once

#include <cstddef>
#include <optional>

#include "base/tensor.h"

namespace pare {

/// A weight cut into outer x channels x inner around its channel axis; one piece where it has one scale.
struct WeightView {
  size_t outer = 1, channels = 1, inner = 1;
  int64_t axis = 0;
  bool split = false;  ///< one scale for each channel

  WeightView(const Tensor& weight, int64_t channel_axis, bool per_channel);
};

/// int8 numbers, zero point 0; one scale, or one for each channel on `axis`.
struct Int8Weight {
  Tensor numbers, scales;
  std::optional<int64_t> axis;
};

/// Largest magnitude on +-`limit`. Errors: input for NaN or infinity.
Int8Weight int8_weight(const Tensor& weight, int64_t channel_axis, bool per_channel, int limit);

}  // namespace pare
