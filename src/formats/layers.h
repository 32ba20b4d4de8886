#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"

namespace pare {

/// Positions of the nodes that multiply with a constant float weight, less the excluded ones (by name or output); the log says
/// why others stay float. Errors: usage for an entry of `excluded` that fits no node.
std::vector<size_t> layers_with_weights(const Graph& graph, const std::set<std::string>& excluded, Log& log);

}  // namespace pare
