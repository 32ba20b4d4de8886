#include "ir/graph.h"

#include <algorithm>
#include <set>

namespace pare {
namespace {

void collect_captured(const Graph& graph, std::set<std::string> known, std::vector<std::string>& captured) {
  for (const Value& v : graph.inputs) known.insert(v.name);
  for (const auto& [name, tensor] : graph.initializers) known.insert(name);
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !known.contains(name)) captured.push_back(name);
  };
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) read(name);
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) collect_captured(**inner, known, captured);
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Value& v : graph.outputs) read(v.name);
}

}  // namespace

std::string Node::label() const {
  const std::string& shown = !name.empty() || outputs.empty() ? name : outputs.front();
  return "node '" + shown + "' (" + (domain.empty() ? "" : domain + ".") + op_type + ")";
}

std::optional<Shape> Value::shape() const {
  if (!dims) return std::nullopt;
  Shape shape;
  for (const Dim& d : *dims) {
    if (!d.size) return std::nullopt;
    shape.push_back(*d.size);
  }
  return shape;
}

int64_t Value::elements() const {
  if (!dims) return 0;
  int64_t count = 1;
  for (const Dim& d : *dims) count *= d.size.value_or(1);
  return count;
}

int64_t Graph::opset() const {
  const auto it = opsets.find("");
  return it == opsets.end() ? 0 : it->second;
}

const Tensor* Graph::constant(const std::string& tensor) const {
  const auto it = initializers.find(tensor);
  return it == initializers.end() ? nullptr : &it->second;
}

std::optional<Value> Graph::value(const std::string& tensor) const {
  if (const Tensor* t = constant(tensor)) {
    Value v{tensor, t->type(), std::vector<Dim>(), ""};
    for (const int64_t d : t->shape()) v.dims->push_back({d, ""});
    return v;
  }
  if (const auto it = values.find(tensor); it != values.end()) return it->second;
  for (const auto* list : {&inputs, &outputs})
    for (const Value& v : *list)
      if (v.name == tensor) return v;
  return std::nullopt;
}

GraphIndex::GraphIndex(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const std::string& name : node.outputs)
      if (!name.empty()) producers_[name] = i;
    for (const std::string& name : node.inputs)
      if (!name.empty()) consumers_[name].push_back(i);
    for (const std::string& name : captured_names(node)) consumers_[name].push_back(i);
  }
  for (const Value& v : graph.outputs) outputs_[v.name] = true;
}

std::optional<size_t> GraphIndex::producer(const std::string& tensor) const {
  const auto it = producers_.find(tensor);
  return it == producers_.end() ? std::nullopt : std::optional<size_t>(it->second);
}

const std::vector<size_t>& GraphIndex::consumers(const std::string& tensor) const {
  static const std::vector<size_t> none;
  const auto it = consumers_.find(tensor);
  return it == consumers_.end() ? none : it->second;
}

bool GraphIndex::is_output(const std::string& tensor) const { return outputs_.contains(tensor); }

bool GraphIndex::used_once(const std::string& tensor) const { return consumers(tensor).size() == 1 && !is_output(tensor); }

std::vector<std::string> captured_names(const Node& node) {
  std::vector<std::string> captured;
  for (const auto& [key, attribute] : node.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) collect_captured(**inner, {}, captured);
  return captured;
}

}  // namespace pare
