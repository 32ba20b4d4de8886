#include "passes/fold_constants.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/edit.h"

namespace pare {
namespace {

constexpr int64_t kLargestGrowth = 1 << 20;  // bytes

constexpr std::array<std::string_view, 8> kNeverFolded{"QuantizeLinear",   "DequantizeLinear",  "RandomNormal", "RandomUniform",
                                                       "RandomNormalLike", "RandomUniformLike", "Multinomial",  "Bernoulli"};

bool may_fold(const Node& node) {
  if (!node.domain.empty() || std::find(kNeverFolded.begin(), kNeverFolded.end(), node.op_type) != kNeverFolded.end())
    return false;
  return std::none_of(node.attributes.begin(), node.attributes.end(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second) ||
           std::holds_alternative<OpaqueAttribute>(entry.second);
  });
}

/// The tensor of a Constant node in any of its forms; nullopt for those that pare only carries along.
std::optional<Tensor> constant_value(const Node& node) {
  for (const auto& [key, value] : node.attributes) {
    if (const auto* t = std::get_if<Tensor>(&value)) return *t;
    if (const auto* f = std::get_if<float>(&value)) return Tensor::scalar(*f);
    if (const auto* i = std::get_if<int64_t>(&value)) return Tensor::scalar(*i);
    if (const auto* v = std::get_if<std::vector<float>>(&value)) return Tensor::of<float>({static_cast<int64_t>(v->size())}, *v);
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value))
      return Tensor::of<int64_t>({static_cast<int64_t>(v->size())}, *v);
  }
  return std::nullopt;
}

/// Items start, start + 1, ... of a list; negative numbers count from its end.
template <typename T>
std::vector<T> section(const std::vector<T>& list, int64_t start, int64_t end) {
  const auto count = static_cast<int64_t>(list.size());
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + count : i, 0, count); };
  return {list.begin() + place(start), list.begin() + std::max(place(start), place(end))};
}

/// The dimensions that a Shape lists, known or not.
std::optional<std::vector<Dim>> listed_dims(const Graph& graph, const Node& node) {
  const auto input = graph.value(node.input(0));
  if (!node.is("Shape") || !input || !input->dims) return std::nullopt;
  return section(*input->dims, node.attribute<int64_t>("start", 0), node.attribute<int64_t>("end", INT64_MAX));
}

std::optional<Tensor> sizes(const std::vector<Dim>& dims) {
  std::vector<int64_t> numbers;
  for (const Dim& d : dims) {
    if (!d.size) return std::nullopt;
    numbers.push_back(*d.size);
  }
  return Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
}

/// Gather and Slice of known dimensions from a Shape that lists a free batch, too.
std::optional<Tensor> picked_dims(const Graph& graph, const GraphIndex& index, const Node& node) {
  if (!node.is("Gather") && !node.is("Slice")) return std::nullopt;
  const auto maker = index.producer(node.input(0));
  const auto dims = maker ? listed_dims(graph, graph.nodes[*maker]) : std::nullopt;
  if (!dims) return std::nullopt;
  std::vector<std::vector<int64_t>> numbers;  // the other inputs; of a Slice start, end, axis, step
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* constant = graph.constant(node.inputs[i]);
    if (constant == nullptr) return std::nullopt;
    numbers.push_back(to_ints(*constant));
  }
  if (node.is("Slice")) {
    const bool plain = numbers.size() >= 2 && numbers[0].size() == 1 && numbers[1].size() == 1 &&
                       (numbers.size() < 4 || numbers[3] == std::vector<int64_t>{1});
    return plain ? sizes(section(*dims, numbers[0][0], numbers[1][0])) : std::nullopt;
  }
  std::vector<Dim> picked;
  for (const int64_t i : numbers.at(0)) {
    const int64_t at = i < 0 ? i + static_cast<int64_t>(dims->size()) : i;
    if (at < 0 || at >= static_cast<int64_t>(dims->size())) return std::nullopt;
    picked.push_back((*dims)[static_cast<size_t>(at)]);
  }
  const auto values = sizes(picked);
  return values ? std::optional(values->reshaped(graph.constant(node.inputs[1])->shape())) : std::nullopt;
}

/// What of a shape is known before the network runs.
std::optional<Tensor> shape_value(const Graph& graph, const GraphIndex& index, const Node& node) {
  if (node.is("Size")) {
    const auto input = graph.value(node.input(0));
    const auto shape = input ? input->shape() : std::nullopt;
    return shape ? std::optional(Tensor::scalar(element_count(*shape))) : std::nullopt;
  }
  if (const auto dims = listed_dims(graph, node)) return sizes(*dims);
  return picked_dims(graph, index, node);
}

int64_t bytes_of(const Graph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  const auto shape = value ? value->shape() : std::nullopt;
  return shape ? element_count(*shape) * static_cast<int64_t>(dtype_size(value->type)) : 0;
}

/// Half-precision weights that are widened before use: quantization makes them smaller than they were.
bool widens(const Graph& graph, const Node& node) {
  const auto input = graph.value(node.input(0));
  return node.is("Cast") && input && (input->type == DType::f16 || input->type == DType::bf16);
}

/// `grown` holds the nodes whose result turned out to be too large.
Graph fold(Graph graph, const PassContext& context, Log& log, const std::set<std::string>& grown) {
  const Graph before = graph;
  const Log log_before = log;
  std::set<size_t> folded;
  const GraphIndex index(graph);
  const auto makes_output = [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const auto& name) { return index.is_output(name); });
  };
  Graph constant;  // the nodes that the runtime computes
  constant.opsets[""] = graph.opset();
  constant.ir_version = graph.ir_version;
  std::set<std::string> known;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (makes_output(node)) continue;
    std::optional<Tensor> value = node.is("Constant") ? constant_value(node) : shape_value(graph, index, node);
    if (value) {
      graph.initializers[node.outputs[0]] = std::move(*value);
      folded.insert(i);
      continue;
    }
    if (node.is("Constant") || !may_fold(node) || !context.evaluate) continue;
    const bool all_constant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const auto& name) {
      return name.empty() || known.contains(name) || graph.initializers.contains(name);
    });
    if (!all_constant) continue;
    const bool numbers = std::all_of(node.outputs.begin(), node.outputs.end(), [&](const auto& name) {
      const auto result = graph.value(name);
      return name.empty() || (result && dtype_size(result->type) != 0);
    });
    if (!numbers) {
      log.push_back({"fold_constants", node.label(), "kept", "its result is no tensor of numbers"});
      continue;
    }
    if (grown.contains(node.outputs[0])) {
      log.push_back({"fold_constants", node.label(), "kept", "its result is more than 1 MB larger than its inputs"});
      continue;
    }
    int64_t growth = 0;
    for (const std::string& name : node.outputs) growth += bytes_of(graph, name);
    for (const std::string& name : node.inputs)
      if (index.used_once(name)) growth -= bytes_of(graph, name);  // others keep theirs in the file
    if (growth > kLargestGrowth && !widens(graph, node)) {
      log.push_back(
          {"fold_constants", node.label(), "kept", "its result is " + std::to_string(growth) + " bytes larger than its inputs"});
      continue;
    }
    constant.nodes.push_back(node);
    known.insert(node.outputs.begin(), node.outputs.end());
    folded.insert(i);
  }
  for (const Node& node : constant.nodes) {
    for (const std::string& name : node.inputs)
      if (const Tensor* t = graph.constant(name)) constant.initializers[name] = *t;
    for (const std::string& name : node.outputs) {
      const auto& readers = index.consumers(name);
      if (std::any_of(readers.begin(), readers.end(), [&](size_t reader) { return !folded.contains(reader); }))
        constant.outputs.push_back({name, DType::undefined, std::nullopt, ""});
    }
  }
  if (!constant.outputs.empty()) {
    for (Value& output : constant.outputs)
      if (const auto value = graph.value(output.name)) output = *value;
    std::vector<Tensor> results;
    try {
      results = context.evaluate(constant);
    } catch (const Error& e) {  // it may accept the same nodes where less is known of their inputs
      log = log_before;
      log.push_back({"fold_constants", "", "kept", "the runtime cannot compute them: " + std::string(e.what())});
      return fold(before, {}, log, {});
    }
    std::set<std::string> too_large = grown;
    for (size_t i = 0; i < results.size(); ++i)  // those whose size shape inference could not tell
      if (bytes_of(before, constant.outputs[i].name) == 0 && static_cast<int64_t>(results[i].raw().size()) > kLargestGrowth)
        too_large.insert(before.nodes[*index.producer(constant.outputs[i].name)].outputs[0]);
    if (too_large.size() > grown.size()) {
      log = log_before;
      return fold(before, context, log, too_large);
    }
    for (size_t i = 0; i < results.size(); ++i) graph.initializers[constant.outputs[i].name] = std::move(results[i]);
  }
  if (!folded.empty()) log.push_back({"fold_constants", "", "folded", std::to_string(folded.size()) + " nodes"});
  remove_nodes(graph, folded);
  return graph;
}

}  // namespace

Graph constant_nodes_to_initializers(Graph graph) {
  std::set<size_t> folded;
  const GraphIndex index(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!node.is("Constant") || index.is_output(node.outputs[0])) continue;
    if (auto value = constant_value(node)) graph.initializers[node.outputs[0]] = std::move(*value), folded.insert(i);
  }
  remove_nodes(graph, folded);
  return graph;
}

Graph fold_constants(Graph graph, const PassContext& context, Log& log) { return fold(std::move(graph), context, log, {}); }

}  // namespace pare
