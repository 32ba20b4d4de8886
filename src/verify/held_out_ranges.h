#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare {

/// A float tensor and the interval that its quantized form represents: scale * (qmin - zero point - .5) to scale * (qmax - zero
/// point + .5); infinite at an end that reaches what the tensor's readers cannot tell apart (below 0 for Relu, -6 for SiLU).
struct WatchedTensor {
  std::string tensor;
  double low = 0, high = 0;
};

/// The activations that `test` quantizes (a QuantizeLinear with constant scalar scale and zero point) and that exist under the
/// same name in `reference`.
std::vector<WatchedTensor> watched_tensors(const Graph& test, const Graph& reference);

struct HeldOutRange {
  std::string tensor;
  double share_outside = 0;
  double low = 0, high = 0, seen_low = 0, seen_high = 0;
};

/// Counts the values that a quantized tensor cannot represent: those more than half a step outside its interval.
class HeldOutRanges {
 public:
  explicit HeldOutRanges(std::vector<WatchedTensor> tensors);
  /// One sample of tensor `index`; different tensors may be added from different threads.
  void add(size_t index, std::span<const float> values);

  [[nodiscard]] double share_outside() const;  ///< over all tensors
  [[nodiscard]] std::vector<HeldOutRange> worst(size_t count) const;

 private:
  struct Counts {
    int64_t outside = 0, all = 0;
    float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
  };
  std::vector<WatchedTensor> tensors_;
  std::vector<Counts> counts_;
};

}  // namespace pare
