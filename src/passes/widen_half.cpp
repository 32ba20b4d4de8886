#include "passes/widen_half.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/edit.h"
#include "ir/shapes.h"

namespace pare {
namespace {

using Subgraph = std::shared_ptr<const Graph>;

bool half_number(int64_t type) { return is_half(static_cast<DType>(type)); }

/// The attribute states the type of the node's output.
bool states_type(const std::string& key) {
  constexpr std::array<std::string_view, 3> kKeys{"to", "dtype", "output_datatype"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

Error objection(const std::string& why) { return Error(ErrorKind::unsupported, why); }

/// What says nothing of its types that pare could read, and may need half precision. Errors: unsupported, naming it.
void refuse_unreadable(const Graph& graph) {
  if (!graph.functions.empty()) throw objection("the model has functions of its own that are not inlined");
  for (const auto* ports : {&graph.inputs, &graph.outputs})
    for (const Value& v : *ports)
      if (!v.opaque.empty()) throw objection("'" + v.name + "' is no tensor");
  for (const Node& node : graph.nodes)
    for (const auto& [key, attribute] : node.attributes) {
      if (std::holds_alternative<OpaqueAttribute>(attribute)) throw objection("its attribute '" + key + "'").at(node.label());
      if (const auto* inner = std::get_if<Subgraph>(&attribute)) refuse_unreadable(**inner);
    }
}

class Widening {
 public:
  explicit Widening(Graph graph) : graph_(std::move(graph)), index_(graph_), fresh_(graph_) {}

  [[nodiscard]] int64_t places() const { return places_; }

  Graph run() {
    Graph result = graph_;
    result.nodes.clear();
    std::vector<Node> casts;
    const auto cast = [](const std::string& from, const std::string& to, DType type) {
      return Node{"Cast", to + "_cast", "", {from}, {to}, {{"to", static_cast<int64_t>(type)}}, ""};
    };
    for (const Value& input : graph_.inputs)
      if (is_half(input.type) && !read_by_casts_only(input.name))
        casts.push_back(cast(input.name, names_[input.name] = fresh_(input.name + "_float"), DType::f32));
    for (const Value& output : graph_.outputs) {
      if (!is_half(output.type) || is_input(output.name) || names_.contains(output.name)) continue;
      if (const auto maker = index_.producer(output.name); maker && is_last_cast(graph_.nodes[*maker])) continue;
      casts.push_back(cast(names_[output.name] = fresh_(output.name + "_float"), output.name, output.type));
    }
    places_ += static_cast<int64_t>(casts.size());
    result.initializers = widened(graph_.initializers);
    result.values.clear();
    for (const Node& node : graph_.nodes) result.nodes.push_back(is_last_cast(node) ? node : widened(node));
    result.nodes.insert(result.nodes.end(), casts.begin(), casts.end());
    return result;
  }

 private:
  [[nodiscard]] bool is_input(const std::string& name) const {
    return std::any_of(graph_.inputs.begin(), graph_.inputs.end(), [&](const Value& v) { return v.name == name; });
  }

  [[nodiscard]] bool read_by_casts_only(const std::string& input) const {
    const auto& readers = index_.consumers(input);
    return std::all_of(readers.begin(), readers.end(), [&](size_t r) {
      return graph_.nodes[r].is("Cast") && !half_number(graph_.nodes[r].attribute<int64_t>("to", 0));
    });
  }

  /// It makes an output of the graph from a wide value, and nothing else.
  [[nodiscard]] bool is_last_cast(const Node& node) const {
    if (!node.is("Cast") || !index_.is_output(node.outputs[0]) || !index_.consumers(node.outputs[0]).empty()) return false;
    const auto from = graph_.value(node.input(0));
    return from && from->type != DType::undefined && !is_half(from->type);
  }

  [[nodiscard]] std::string renamed(const std::string& name) const {
    const auto it = names_.find(name);
    return it == names_.end() ? name : it->second;
  }

  Tensor widened(const Tensor& tensor) {
    if (!is_half(tensor.type())) return tensor;
    ++places_;
    return converted(tensor, DType::f32);
  }

  std::map<std::string, Tensor> widened(const std::map<std::string, Tensor>& tensors) {
    std::map<std::string, Tensor> result;
    for (const auto& [name, tensor] : tensors) result[renamed(name)] = widened(tensor);
    return result;
  }

  Node widened(Node node) {
    for (auto* list : {&node.inputs, &node.outputs})
      for (std::string& name : *list) name = renamed(name);
    for (auto& [key, attribute] : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute)) *tensor = widened(*tensor);
      if (auto* number = std::get_if<int64_t>(&attribute); number != nullptr && states_type(key) && half_number(*number)) {
        *number = static_cast<int64_t>(DType::f32);
        ++places_;
      }
      if (const auto* inner = std::get_if<Subgraph>(&attribute)) attribute = std::make_shared<const Graph>(widened(**inner));
    }
    return node;
  }

  Graph widened(Graph inner) {
    inner.values.clear();
    inner.initializers = widened(inner.initializers);
    for (auto* ports : {&inner.inputs, &inner.outputs})
      for (Value& v : *ports) {
        v.name = renamed(v.name);
        if (!is_half(v.type)) continue;
        v.type = DType::f32;
        ++places_;
      }
    for (Node& node : inner.nodes) node = widened(std::move(node));
    return inner;
  }

  const Graph graph_;
  const GraphIndex index_;
  FreshNames fresh_;
  std::map<std::string, std::string> names_;
  int64_t places_ = 0;  ///< that were of half precision
};

/// A Cast to the type that its input has by now is left out where it makes an output; others are remove_identity's.
void remove_last_casts(Graph& graph) {
  infer_shapes(graph);
  std::set<size_t> removed;
  const GraphIndex index(graph);
  for (const Value& output : graph.outputs) {
    const auto cast = index.producer(output.name);
    if (!cast || !graph.nodes[*cast].is("Cast") || !index.consumers(output.name).empty()) continue;
    const std::string source = graph.nodes[*cast].inputs[0];
    const auto value = graph.value(source);
    const auto maker = index.producer(source);
    if (!value || value->type != output.type || !maker || !index.used_once(source)) continue;
    auto& made = graph.nodes[*maker].outputs;
    std::replace(made.begin(), made.end(), source, output.name);
    removed.insert(*cast);
  }
  remove_nodes(graph, removed);
}

}  // namespace

Graph widen_half(Graph graph, const PassContext& /*context*/, Log& log) {
  Widening widening(graph);
  Graph wide = widening.run();
  if (widening.places() == 0) return graph;
  try {
    refuse_unreadable(graph);
  } catch (const Error& e) {
    log.push_back({"widen_half", e.place(), "kept", e.message()});
    return graph;
  }
  sort_nodes(wide);
  remove_last_casts(wide);
  log.push_back({"widen_half", "", "widened", std::to_string(widening.places()) + " tensors and Casts"});
  return wide;
}

}  // namespace pare
