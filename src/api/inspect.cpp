#include "pare/inspect.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ir/load.h"
#include "ir/shapes.h"
#include "passes/fold_constants.h"
#include "runtime/session.h"
#include "verify/model_facts.h"

namespace pare {
namespace {

using nlohmann::ordered_json;

/// Exports that compute their own padding hide their shapes from inference until that arithmetic is folded.
void find_shapes(Graph& graph) {
  try {
    Log log;
    Graph folded = fold_constants(graph, {[](const Graph& g) { return Session(g).run({}); }, {}}, log);
    infer_shapes(folded);
    for (auto& [name, value] : folded.values) graph.values[name] = std::move(value);
  } catch (const Error&) {  // the report says how many nodes are left without a shape
  }
}

ordered_json json_of(const PortFacts& p) {
  ordered_json shape;
  if (p.shape) shape = ordered_json::array();
  for (const std::string& d : p.shape.value_or(std::vector<std::string>())) {
    const bool number = d.find_first_not_of("0123456789") == std::string::npos;
    shape.push_back(number ? ordered_json(std::stoll(d)) : d == "?" ? ordered_json(nullptr) : ordered_json(d));
  }
  return {{"name", p.name}, {"type", p.type}, {"shape", shape}};
}

ordered_json json_of(const std::vector<ConstantFacts>& list) {
  int64_t elements = 0, bytes = 0;
  ordered_json types = ordered_json::object();
  for (const ConstantFacts& c : list) {
    elements += c.elements;
    bytes += c.bytes;
    types[c.type] = {{"tensors", c.tensors}, {"elements", c.elements}, {"bytes", c.bytes}};
  }
  return {{"elements", elements}, {"bytes", bytes}, {"types", types}};
}

ordered_json json_of(const WeightFacts& w) {
  ordered_json j{{"node", w.node}, {"op", w.op}, {"precision", w.precision}};
  if (w.precision == "computed") return j;
  j.update({{"weight", w.weight}, {"type", w.type}, {"shape", w.shape}, {"bytes", w.bytes}});
  if (!w.range) return j;
  const WeightRange& r = *w.range;
  j["range"] = {{"ratio", r.ratio},
                {"channels", r.channels},
                {"zero_channels", r.zero_channels},
                {"zero", r.zero},
                {"zero_per_channel", r.zero_per_channel},
                {"zero_per_tensor", r.zero_per_tensor},
                {"levels_per_channel", r.levels_per_channel},
                {"levels_per_tensor", r.levels_per_tensor},
                {"not_finite", r.not_finite}};
  return j;
}

template <typename T>
ordered_json object_of(const std::vector<std::pair<std::string, T>>& rows) {
  ordered_json j = ordered_json::object();
  for (const auto& [key, value] : rows) j[key] = value;
  return j;
}

template <typename T>
ordered_json array_of(const std::vector<T>& rows) {
  ordered_json j = ordered_json::array();
  for (const T& row : rows) j.push_back(json_of(row));
  return j;
}

}  // namespace

InspectReport inspect(const InspectOptions& options) {
  Graph graph = load_model(options.model);
  if (shapes_missing(graph)) find_shapes(graph);
  InspectReport report;
  report.file = options.model;
  report.bytes = static_cast<int64_t>(std::filesystem::file_size(options.model));
  add_model_facts(graph, report);
  return report;
}

std::string to_json(const InspectReport& r) {
  ordered_json j{{"file", r.file}, {"bytes", r.bytes}, {"ir_version", r.ir_version}};
  j["opsets"] = object_of(r.opsets);
  j["unused_opsets"] = r.unused_opsets;
  j["producer"] = r.producer;
  j["metadata"] = object_of(r.metadata);
  j["inputs"] = array_of(r.inputs);
  j["outputs"] = array_of(r.outputs);
  j["nodes"] = r.nodes;
  j["operators"] = object_of(r.operators);
  j["subgraphs"] = {{"count", r.subgraphs}, {"nodes", r.subgraph_nodes}};
  j["local_functions"] = r.local_functions;
  j["parameters"] = json_of(r.parameters);
  j["quantization_constants"] = json_of(r.quantization_constants);
  j["other_constants"] = json_of(r.other_constants);
  j["multiply_adds"] = {
      {"count", r.multiply_adds}, {"one_sample_of_a_free_batch", r.free_batch}, {"uncounted_nodes", r.uncounted_nodes}};
  j["quantization"] = {{"QuantizeLinear", r.quantize},
                       {"DequantizeLinear", r.dequantize},
                       {"DynamicQuantizeLinear", r.dynamic_quantize},
                       {"QLinear", r.qlinear},
                       {"Integer", r.integer}};
  j["int8_weights"] = r.int8_weights;
  j["weight_bytes"] = r.weight_bytes;
  j["weights"] = array_of(r.weights);
  return j.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pare
