#include "ir/check.h"

#include <set>

namespace pare {

void check_structure(const Graph& graph) {
  std::set<std::string> made;
  for (const Value& v : graph.inputs) made.insert(v.name);
  for (const auto& [name, tensor] : graph.initializers)
    if (!made.insert(name).second) throw Error(ErrorKind::internal, "tensor '" + name + "' is made twice");
  for (const Node& node : graph.nodes) {
    std::vector<std::string> reads = node.inputs;
    const auto captured = captured_names(node);
    reads.insert(reads.end(), captured.begin(), captured.end());
    for (const std::string& name : reads)
      if (!name.empty() && !made.contains(name))
        throw Error(ErrorKind::internal, "reads tensor '" + name + "', which nothing before it makes").at(node.label());
    for (const std::string& name : node.outputs)
      if (!name.empty() && !made.insert(name).second)
        throw Error(ErrorKind::internal, "makes tensor '" + name + "', which exists already").at(node.label());
  }
  for (const Value& v : graph.outputs)
    if (!made.contains(v.name)) throw Error(ErrorKind::internal, "nothing makes the graph's output '" + v.name + "'");
}

}  // namespace pare
