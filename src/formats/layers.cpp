#include "formats/layers.h"

#include "ir/op_table.h"
#include "pare/error.h"

namespace pare {

std::vector<size_t> layers_with_weights(const Graph& graph, const std::set<std::string>& excluded, Log& log) {
  std::vector<size_t> layers;
  std::set<std::string> met;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool out = false;
    std::vector<std::string> names = node.outputs;
    names.push_back(node.name);
    for (const std::string& name : names)
      if (!name.empty() && excluded.contains(name)) met.insert(name), out = true;
    const OpRow* row = op_row(node);
    if (row == nullptr || row->flow != Flow::weighted) continue;
    const Tensor* weight = graph.constant(node.input(1));
    const std::string why = out                                                 ? "excluded by the user"
                            : weight == nullptr || weight->type() != DType::f32 ? "its weight is no float constant"
                                                                                : "";
    if (why.empty())
      layers.push_back(i);
    else
      log.push_back({"quantize", node.label(), "float", why});
  }
  for (const std::string& name : excluded)
    if (!met.contains(name)) throw Error(ErrorKind::usage, "no node has the name or the output '" + name + "'").at("--exclude");
  return layers;
}

}  // namespace pare
