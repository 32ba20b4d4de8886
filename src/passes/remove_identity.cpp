#include "passes/remove_identity.h"

#include "ir/edit.h"

namespace pare {
namespace {

/// The node hands its first input on unchanged.
bool is_identity(const Graph& graph, const Node& node) {
  if (node.is("Identity")) return true;
  if (node.is("Dropout")) {
    const Tensor* training = graph.constant(node.input(2));
    return (node.outputs.size() < 2 || node.outputs[1].empty()) &&
           (node.input(2).empty() || (training != nullptr && training->count() == 1 && to_ints(*training).front() == 0));
  }
  if (!node.is("Cast")) return false;
  const auto input = graph.value(node.input(0));
  return input && static_cast<int64_t>(input->type) == node.attribute<int64_t>("to", -1);
}

}  // namespace

Graph remove_identity(Graph graph, const PassContext& /*context*/, Log& log) {
  std::set<size_t> removed;
  const GraphIndex index(graph);  // stays right for the outputs of identities: only readers of what was removed move
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node node = graph.nodes[i];
    if (!is_identity(graph, node)) continue;
    if (index.is_output(node.outputs[0])) {
      log.push_back({"remove_identity", node.label(), "kept", "it makes an output of the graph"});
      continue;
    }
    bool in_subgraph = false;
    for (const size_t reader : index.consumers(node.outputs[0]))
      for (const std::string& name : captured_names(graph.nodes[reader])) in_subgraph |= name == node.outputs[0];
    if (in_subgraph) {
      log.push_back({"remove_identity", node.label(), "kept", "a subgraph reads it"});
      continue;
    }
    replace_uses(graph, node.outputs[0], node.inputs[0]);
    removed.insert(i);
    log.push_back({"remove_identity", node.label(), "removed", ""});
  }
  remove_nodes(graph, removed);
  return graph;
}

}  // namespace pare
