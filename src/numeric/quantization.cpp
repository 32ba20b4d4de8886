#include "numeric/quantization.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace pare {

QLimits limits_of(DType type) {
  switch (type) {
    case DType::u8: return {0, 255};
    case DType::i8: return {-128, 127};
    case DType::u16: return {0, 65535};
    case DType::i16: return {-32768, 32767};
    default: throw Error(ErrorKind::internal, dtype_name(type) + " is no quantized type");
  }
}

QParams choose_params(Range range, DType type, bool symmetric) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) throw Error(ErrorKind::internal, "a range is not finite");
  const auto [qmin, qmax] = limits_of(type);
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const int32_t middle = (qmin + qmax + 1) / 2;
  const double scale = symmetric ? std::max(-low, high) / (qmax - middle) : (high - low) / (qmax - qmin);
  const auto rounded = static_cast<float>(scale);
  if (rounded < FLT_MIN) return {1, symmetric ? middle : std::clamp(0, qmin, qmax)};
  if (symmetric) return {rounded, middle};
  const double zero = std::nearbyint(qmin - low / rounded);
  return {rounded, static_cast<int32_t>(std::clamp<double>(zero, qmin, qmax))};
}

Range representable(const QParams& params, DType type) {
  const auto [qmin, qmax] = limits_of(type);
  return {static_cast<double>(params.scale) * (qmin - params.zero_point),
          static_cast<double>(params.scale) * (qmax - params.zero_point)};
}

std::vector<float> channel_scales(std::span<const float> weights, size_t outer, size_t channels, size_t inner, int qmax) {
  std::vector<float> largest(channels, 0.F);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < inner; ++i) {
        const float w = weights[(o * channels + c) * inner + i];
        if (!std::isfinite(w)) throw Error(ErrorKind::input, "holds a NaN or infinite weight in channel " + std::to_string(c));
        largest[c] = std::max(largest[c], std::abs(w));
      }
    }
  }
  std::vector<float> scales(channels);
  float widest = 0;
  for (size_t c = 0; c < channels; ++c) {
    scales[c] = largest[c] / static_cast<float>(qmax);
    if (scales[c] < FLT_MIN) scales[c] = 0;
    widest = std::max(widest, scales[c]);
  }
  for (float& scale : scales)
    if (scale == 0) scale = widest == 0 ? 1 : widest;
  return scales;
}

std::vector<int8_t> quantize_channels(std::span<const float> weights, size_t outer, size_t channels, size_t inner,
                                      std::span<const float> scales, int qmax) {
  std::vector<int8_t> q(weights.size());
  for (size_t o = 0; o < outer; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < inner; ++i) {
        const size_t at = (o * channels + c) * inner + i;
        const float steps = std::nearbyint(weights[at] / scales[c]);
        q[at] = static_cast<int8_t>(std::clamp(steps, static_cast<float>(-qmax), static_cast<float>(qmax)));
      }
    }
  }
  return q;
}

namespace {

template <typename T>
Tensor quantize_as(std::span<const float> values, const Shape& shape, const QParams& params) {
  Tensor q(dtype_of<T>(), shape);
  const auto [qmin, qmax] = limits_of(dtype_of<T>());
  const auto out = q.write<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    const float steps = std::nearbyint(values[i] / params.scale) + static_cast<float>(params.zero_point);
    out[i] = static_cast<T>(std::clamp(steps, static_cast<float>(qmin), static_cast<float>(qmax)));
  }
  return q;
}

}  // namespace

Tensor quantize(std::span<const float> values, const Shape& shape, const QParams& params, DType type) {
  switch (type) {
    case DType::u8: return quantize_as<uint8_t>(values, shape, params);
    case DType::i8: return quantize_as<int8_t>(values, shape, params);
    case DType::u16: return quantize_as<uint16_t>(values, shape, params);
    case DType::i16: return quantize_as<int16_t>(values, shape, params);
    default: throw Error(ErrorKind::internal, dtype_name(type) + " is no quantized type");
  }
}

float fake_quantize(float x, const QParams& params, DType type) {
  const auto [qmin, qmax] = limits_of(type);
  const float q = std::clamp(std::nearbyint(x / params.scale) + static_cast<float>(params.zero_point), static_cast<float>(qmin),
                             static_cast<float>(qmax));
  return (q - static_cast<float>(params.zero_point)) * params.scale;
}

}  // namespace pare
