#pragma once

#include <optional>

#include "ir/graph.h"

namespace pare {

/// The number that the first axis of every input is fixed to; nullopt where one is free, unknown or differs.
std::optional<int64_t> fixed_batch(const Graph& graph);

/// The same network for another number of samples (>= 1) at a time, on the first axis of every input. What was exported for the
/// old number is made anew: Reshape, Expand and Resize targets, and constants that hold the same row for each sample.
/// Errors: unsupported, naming the node, for anything else that depends on the old number.
Graph set_batch(Graph graph, int64_t batch);

}  // namespace pare
