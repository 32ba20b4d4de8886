#include "verify/weight_range.h"

#include <algorithm>
#include <bitset>
#include <cfloat>
#include <cmath>
#include <vector>

namespace pare {
namespace {

constexpr int kLargest = 127;

double median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (static_cast<double>(*std::max_element(values.begin(), middle)) + *middle) / 2;
}

/// The int8 number of a finite weight, as QuantizeLinear makes it.
int level(float weight, float scale) {
  if (scale < FLT_MIN) return 0;
  return static_cast<int>(std::clamp(std::nearbyint(weight / scale), -float{kLargest}, float{kLargest}));
}

}  // namespace

WeightRange weight_range(std::span<const float> weights, size_t outer, size_t channels, size_t inner) {
  WeightRange r;
  r.channels = static_cast<int64_t>(channels);
  std::vector<float> largest(channels, 0.F);
  const auto each = [&](size_t c, const auto& use) {
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < inner; ++i)
        if (const float w = weights[(o * channels + c) * inner + i]; std::isfinite(w)) use(w);
  };
  for (size_t c = 0; c < channels; ++c) each(c, [&](float w) { largest[c] = std::max(largest[c], std::abs(w)); });

  std::vector<float> not_zero;
  std::copy_if(largest.begin(), largest.end(), std::back_inserter(not_zero), [](float v) { return v > 0; });
  r.zero_channels = static_cast<int64_t>(channels - not_zero.size());
  const float widest = channels == 0 ? 0 : *std::max_element(largest.begin(), largest.end());
  if (!not_zero.empty()) r.ratio = widest / median(not_zero);

  size_t finite = 0, zero = 0, zero_per_channel = 0, zero_per_tensor = 0;
  for (size_t c = 0; c < channels; ++c) {
    std::bitset<2 * kLargest + 1> by_channel, by_tensor;
    each(c, [&](float w) {
      const int own = level(w, largest[c] / kLargest);
      const int common = level(w, widest / kLargest);
      by_channel.set(static_cast<size_t>(int64_t{own} + kLargest));
      by_tensor.set(static_cast<size_t>(int64_t{common} + kLargest));
      ++finite;
      zero += w == 0 ? 1 : 0;
      zero_per_channel += own == 0 ? 1 : 0;
      zero_per_tensor += common == 0 ? 1 : 0;
    });
    if (largest[c] == 0) continue;
    const auto fewest = [](int64_t& levels, size_t count) {
      levels = levels == 0 ? static_cast<int64_t>(count) : std::min(levels, static_cast<int64_t>(count));
    };
    fewest(r.levels_per_channel, by_channel.count());
    fewest(r.levels_per_tensor, by_tensor.count());
  }
  r.not_finite = static_cast<int64_t>(weights.size() - finite);
  const auto share = [finite](size_t n) { return finite == 0 ? 0.0 : static_cast<double>(n) / static_cast<double>(finite); };
  r.zero = share(zero);
  r.zero_per_channel = share(zero_per_channel);
  r.zero_per_tensor = share(zero_per_tensor);
  return r;
}

}  // namespace pare
