#include "api/prepare.h"

#include <algorithm>

#include "ir/load.h"
#include "passes/pipeline.h"
#include "runtime/session.h"

namespace pare {

int64_t quantized_nodes(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.is("QuantizeLinear") || node.is("DequantizeLinear") || node.op_type.starts_with("QLinear") ||
           node.op_type.starts_with("QGemm") || node.op_type.ends_with("Integer") || node.is("DynamicQuantizeLinear");
  });
}

Prepared prepare_model(const std::string& model, const DataOptions& data, const std::vector<std::string>& disabled_passes) {
  Prepared p;
  p.original = load_model(model);
  try {
    if (const int64_t n = quantized_nodes(p.original); n > 0)
      throw Error(ErrorKind::unsupported, "is quantized already (" + std::to_string(n) + " quantization nodes)")
          .fix("give the float model it was made from");
    p.input = settle_input(p.original, data);
    const PassContext context{[](const Graph& graph) { return Session(graph).run({}); },
                              {disabled_passes.begin(), disabled_passes.end()}};
    p.graph = run_passes(p.original, prepare_passes(), context, p.log);
  } catch (Error& e) {
    throw e.kind() == ErrorKind::usage ? e : e.at(model);
  }
  return p;
}

}  // namespace pare
