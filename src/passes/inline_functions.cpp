#include "passes/inline_functions.h"

#include "ir/inline_functions.h"

namespace pare {

Graph inline_functions(Graph graph, const PassContext& /*context*/, Log& log) {
  if (graph.functions.empty()) return graph;
  try {
    Graph inlined = with_functions_inlined(graph);
    if (inlined.functions.empty())
      log.push_back({"inline_functions", "", "inlined", "all of the model's functions"});
    else
      log.push_back({"inline_functions", "", "kept", "ONNX leaves some of the model's functions where they are"});
    return inlined;
  } catch (const Error& e) {
    log.push_back({"inline_functions", "", "kept", e.message()});
    return graph;
  }
}

}  // namespace pare
