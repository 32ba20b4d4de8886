#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "numeric/range.h"

namespace pare {

/// Uniform affine quantization of ONNX's QuantizeLinear: q = saturate(round_half_even(x / scale) + zero_point).
struct QParams {
  float scale = 1;
  int32_t zero_point = 0;
  friend bool operator==(const QParams&, const QParams&) = default;
};

/// Smallest and largest number of a quantized type. Errors: internal for a type that is none.
struct QLimits {
  int32_t low, high;
};
QLimits limits_of(DType type);

/// Scale and zero point for values in `range`, which is widened to hold zero so that zero is exact.
/// Asymmetric: scale = (high - low) / (qmax - qmin), zero point = round(qmin - low / scale).
/// Symmetric: scale = max(|low|, |high|) / qmax' with qmax' = 127 (int8) or 127 steps around 128 (uint8).
/// An empty or denormal range gives scale 1: every scale is finite and positive. Errors: internal for a range that is not finite.
QParams choose_params(Range range, DType type, bool symmetric);

/// Values that `params` represents without saturation.
Range representable(const QParams& params, DType type);

/// Signed per-channel weights: one scale for each channel, zero point 0, numbers within +-`qmax` (127, or 64 for 7-bit weights).
/// scale = max|w| / qmax; a channel of zeros takes the largest scale of the others (1 where there is none).
/// `channels` splits the tensor as outer x channels x inner. Errors: input for NaN or infinity.
std::vector<float> channel_scales(std::span<const float> weights, size_t outer, size_t channels, size_t inner, int qmax);

/// Weights to int8 with round half to even, saturated to +-qmax.
std::vector<int8_t> quantize_channels(std::span<const float> weights, size_t outer, size_t channels, size_t inner,
                                      std::span<const float> scales, int qmax);

/// Values to one of the quantized types, as QuantizeLinear does.
Tensor quantize(std::span<const float> values, const Shape& shape, const QParams& params, DType type);

/// The value that x has after quantization and back.
float fake_quantize(float x, const QParams& params, DType type);

}  // namespace pare
