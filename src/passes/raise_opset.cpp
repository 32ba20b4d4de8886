#include "passes/raise_opset.h"

#include <algorithm>

#include "ir/convert_opset.h"
#include "ir/save.h"

namespace pare {

Graph raise_opset(Graph graph, const PassContext& /*context*/, Log& log) {
  constexpr int64_t kPerChannelAxis = 13;
  const int64_t before = graph.opset();
  if (before < kPerChannelAxis) {
    graph = convert_opset(std::move(graph), kPerChannelAxis);
    log.push_back({"raise_opset", "", "converted", "opset " + std::to_string(before) + " -> " + std::to_string(kPerChannelAxis)});
  }
  constexpr int64_t kFunctions = 8;  // the IR version that brought local functions
  graph.ir_version = std::max(ir_version_for(graph.opset()), graph.functions.empty() ? 0 : kFunctions);
  return graph;
}

}  // namespace pare
