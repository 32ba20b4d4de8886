#pragma once

#include "base/tensor.h"
#include "numeric/range.h"

namespace pare {

/// How numbers become INT8.
struct Scheme {
  DType activation = DType::u8;                 ///< u8 or i8
  bool symmetric = false;                       ///< activations: zero in the middle of the type
  bool per_channel = true;                      ///< weights: one scale for each output channel
  int weight_bits = 8;                          ///< 7 on CPUs whose int8 products saturate at 16 bits
  RangeMethod range = RangeMethod::percentile;  ///< of activations
  double percentile = 99.999;                   ///< for RangeMethod::percentile
  bool follow_activation = true;                ///< cut ranges where what follows is flat (SiLU below -6)
  bool bias_correction = true;                  ///< biases take up what the weights' rounding shifts on average

  /// Largest magnitude of a quantized weight: 127, or 64 so that 2 * 255 * 64 fits 16 bits.
  [[nodiscard]] int weight_limit() const { return weight_bits == 7 ? 64 : 127; }
};

}  // namespace pare
