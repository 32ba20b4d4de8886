#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "numeric/histogram.h"

namespace pare {

/// The interval that a tensor's quantized values span, before zero is included.
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class RangeMethod { minmax, percentile, entropy, l2, mean_minmax };

std::string_view method_name(RangeMethod method);
/// Errors: usage, listing the accepted names.
RangeMethod range_method(std::string_view name);

/// The interval that holds the share `percentile` / 100 of |x|, clipped to the observed extremes; percentile in (0, 100].
Range percentile_range(const Histogram& h, double percentile);

/// The smallest threshold of entropy_range keeps this share of the values, in %. The divergence weighs the peak near zero so much
/// that it would cut what detection heads live on (YOLOv8n mAP, float .423: all thresholds .387, from 99.9 % on .405, from 99.99
/// % on .416).
inline constexpr double kEntropyKeeps = 99.99;

/// Threshold t of |x| whose `levels`-level quantization keeps the distribution best: least Kullback-Leibler divergence between
/// the histogram clipped to +-t (with what lies outside put into the edge bins) and its copy merged into `levels` steps and
/// spread again over the bins that were not empty (S. Migacz, "8-bit inference with TensorRT", GTC 2017). The bin of zero counts
/// no more than its neighbours: zero is exact under every threshold, and its spike behind a Relu would pull t in. Clipped to the
/// observed extremes.
Range entropy_range(const Histogram& h, int levels);

/// The interval of least mean squared error under `levels` uniform steps: step^2 / 12 for each value inside, its
/// square where it rounds to zero (so exact zeros cost nothing), squared distance for each outside. Lower and upper end are
/// searched apart.
Range l2_range(const Histogram& h, int levels);

}  // namespace pare
