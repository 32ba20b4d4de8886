#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"

namespace pare {

/// Runs a graph without inputs and returns its outputs (constant folding borrows the runtime through it).
using Evaluate = std::function<std::vector<Tensor>(const Graph&)>;

struct PassContext {
  Evaluate evaluate;
  std::set<std::string> disabled;  ///< names of passes to leave out
};

/// A rewrite that keeps the function of the graph. It adds a row to the log for each place that it changed or declined, with
/// reason.
struct Pass {
  std::string_view name;
  Graph (*run)(Graph graph, const PassContext& context, Log& log);
};

/// Float network -> the same network as the quantizer and the runtime like it. The order is the table's.
std::span<const Pass> prepare_passes();

/// Runs the passes in order; after each, checks the structure and infers shapes again. Errors: usage for an unknown disabled
/// name; a pass that breaks the graph is named (internal).
Graph run_passes(Graph graph, std::span<const Pass> passes, const PassContext& context, Log& log);

}  // namespace pare
