#include "ir/edit.h"

#include <algorithm>
#include <queue>

namespace pare {

void replace_uses(Graph& graph, const std::string& from, const std::string& to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
}

void remove_nodes(Graph& graph, const std::set<size_t>& positions) {
  std::vector<Node> kept;
  kept.reserve(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!positions.contains(i)) kept.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(kept);
}

void remove_unused(Graph& graph) {
  std::set<std::string> needed;
  for (const Value& v : graph.outputs) needed.insert(v.name);
  std::set<size_t> dead;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](const auto& name) { return !name.empty() && needed.contains(name); })) {
      dead.insert(i);
      continue;
    }
    needed.insert(node.inputs.begin(), node.inputs.end());
    for (const std::string& name : captured_names(node)) needed.insert(name);
  }
  remove_nodes(graph, dead);
  std::erase_if(graph.initializers, [&](const auto& entry) { return !needed.contains(entry.first); });
  for (const Node& node : graph.nodes) needed.insert(node.outputs.begin(), node.outputs.end());
  std::erase_if(graph.values, [&](const auto& entry) { return !needed.contains(entry.first); });
}

void sort_nodes(Graph& graph) {
  std::map<std::string, size_t> maker;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::string& name : graph.nodes[i].outputs)
      if (!name.empty()) maker[name] = i;
  std::vector<std::vector<size_t>> readers(graph.nodes.size());
  std::vector<size_t> waiting(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::string> reads = graph.nodes[i].inputs;
    const auto captured = captured_names(graph.nodes[i]);
    reads.insert(reads.end(), captured.begin(), captured.end());
    for (const std::string& name : reads) {
      if (const auto it = maker.find(name); it != maker.end()) {
        readers[it->second].push_back(i);
        ++waiting[i];
      }
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    for (const size_t reader : readers[i])
      if (--waiting[reader] == 0) ready.push(reader);
    sorted.push_back(std::move(graph.nodes[i]));
  }
  if (sorted.size() != waiting.size()) throw Error(ErrorKind::input, "the graph has a cycle");
  graph.nodes = std::move(sorted);
}

FreshNames::FreshNames(const Graph& graph) { take(graph); }

void FreshNames::take(const Graph& graph) {
  for (const Value& v : graph.inputs) taken_.insert(v.name);
  for (const Value& v : graph.outputs) taken_.insert(v.name);
  for (const auto& [name, tensor] : graph.initializers) taken_.insert(name);
  for (const Node& node : graph.nodes) {
    taken_.insert(node.name);
    taken_.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& [key, attribute] : node.attributes)  // no name may shadow one of a subgraph
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) take(**inner);
  }
}

std::string FreshNames::operator()(const std::string& base) {
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

}  // namespace pare
