#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace pare {

/// Thresholds of a suppression inside a model; nothing for one that is computed while the model runs.
struct Suppression {
  std::optional<float> iou;
  std::optional<float> score;  ///< boxes below it are dropped
  friend bool operator==(const Suppression&, const Suppression&) = default;
};

/// The first NonMaxSuppression of the graph; nullopt without one. By ONNX an absent IoU threshold is 0, an absent score threshold
/// drops nothing.
std::optional<Suppression> find_suppression(const Graph& graph);

}  // namespace pare
