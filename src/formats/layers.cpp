#include "formats/layers.h"

#include "ir/op_table.h"
#include "quantize/region.h"

namespace pare {

std::vector<size_t> layers_with_weights(const Graph& graph, const std::set<std::string>& excluded, Log& log) {
  std::vector<size_t> layers;
  const std::vector<bool> out = excluded_nodes(graph, excluded);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const OpRow* row = op_row(node);
    if (row == nullptr || row->flow != Flow::weighted) continue;
    const Tensor* weight = graph.constant(node.input(1));
    const std::string why = out[i]                                              ? "excluded by the user"
                            : weight == nullptr || weight->type() != DType::f32 ? "its weight is no float constant"
                                                                                : "";
    if (why.empty())
      layers.push_back(i);
    else
      log.push_back({"quantize", node.label(), "float", why});
  }
  return layers;
}

}  // namespace pare
