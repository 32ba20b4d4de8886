#include "quantize/region.h"

#include <algorithm>
#include <cmath>

#include "ir/op_table.h"

namespace pare {
namespace {

bool is_float(const Graph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  return value && value->type == DType::f32;
}

bool float_constant(const Graph& graph, const std::string& tensor) {
  const Tensor* t = graph.constant(tensor);
  return t != nullptr && t->type() == DType::f32 && t->count() > 0;
}

std::string weighted_objection(const Graph& graph, const Node& node) {
  const bool constant = float_constant(graph, node.input(1));
  if (node.is("MatMul")) {
    if (graph.constant(node.input(0)) != nullptr) return "its first factor is the constant";
    if (!constant && graph.constant(node.input(1)) != nullptr) return "one of its factors is a constant that is not float";
    return "";
  }
  if (!constant) return "its weight is no float constant";
  if (!node.input(2).empty() && !float_constant(graph, node.input(2))) return "its bias is no float constant";
  if (node.is("Gemm")) {
    if (node.attribute<int64_t>("transA", 0) != 0) return "the runtime has no integer kernel for transA";
    if (node.attribute<float>("alpha", 1) != 1 || node.attribute<float>("beta", 1) != 1)
      return "the runtime has no integer kernel for alpha or beta other than 1";
    const Tensor* weight = graph.constant(node.input(1));
    const Tensor* bias = graph.constant(node.input(2));
    const int64_t channels = weight->shape().at(static_cast<size_t>(weight_channel_axis(node, *weight)));
    if (bias != nullptr && (bias->shape().empty() || bias->count() != channels || bias->shape().back() != channels))
      return "its bias is no vector with a number for each output channel";
  }
  return "";
}

/// A constant operand of a Concat, an Add or a Mul that no scale fits.
std::string constant_objection(const Graph& graph, const Node& node) {
  for (const std::string& input : node.inputs) {
    const Tensor* constant = graph.constant(input);
    if (constant == nullptr || constant->type() != DType::f32) continue;
    if (constant->count() == 0) return "its constant '" + input + "' is empty";
    for (const float v : constant->as<float>())
      if (!std::isfinite(v)) return "its constant '" + input + "' holds NaN or infinite values";
  }
  return "";
}

/// Why the runtime cannot run this node on integers, whatever its neighbours do; empty when it can.
std::string objection(const Graph& graph, const Node& node, int runtime) {
  const OpRow* row = op_row(node);
  if (row == nullptr) return "unknown operator";
  if (row->ort_integer_kernel.empty()) return "the runtime has no integer kernel for it";
  if (row->ort_since > runtime)
    return "the runtime has an integer kernel for it only from 1." + std::to_string(row->ort_since) + " on";
  for (const std::string& name : {node.input(0), node.outputs[0]})
    if (const auto value = graph.value(name); !value || value->type == DType::undefined)
      return "the type of '" + name + "' is unknown";
  if (!is_float(graph, node.input(0)) || !is_float(graph, node.outputs[0])) return "it does not work on float32";
  for (const std::string& name : {node.input(0), node.outputs[0]})
    if (graph.value(name)->shape() && graph.value(name)->elements() == 0) return "'" + name + "' has no elements";
  if (row->flow == Flow::weighted) return weighted_objection(graph, node);
  if (node.is("AveragePool")) {
    const auto dilations = node.attribute<std::vector<int64_t>>("dilations", {});
    if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
      return "the runtime has no integer kernel for dilations";
  }
  if (row->flow == Flow::mix || row->flow == Flow::join) return constant_objection(graph, node);
  if (node.is("Resize") && node.attribute<std::string>("mode", "nearest") != "nearest") return "it interpolates";
  if (node.is("MaxPool") && node.outputs.size() > 1) return "it gives indices too";
  return "";
}

/// Elements that must be converted around a node whose neighbours are all float.
int64_t conversion_cost(const Graph& graph, const Node& node) {
  int64_t elements = 0;
  std::vector<std::string> tensors = activation_inputs(graph, node);
  tensors.push_back(node.outputs[0]);
  for (const std::string& name : tensors) {
    if (const auto value = graph.value(name)) elements += value->elements();
  }
  return elements;
}

class Shrinking {
 public:
  Shrinking(const Graph& graph, Region& region) : graph_(graph), index_(graph), region_(region) {}

  /// Takes nodes out of the region until each of the rest earns its place.
  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      find_useful();
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (!region_.integer[i]) continue;
        const std::string why = dismissal(i);
        if (why.empty()) continue;
        region_.integer[i] = false;
        region_.reasons[i] = why;
        changed = true;
      }
    }
  }

 private:
  bool integer_producer(const std::string& tensor) const {
    const auto p = index_.producer(tensor);
    return p && region_.integer[*p];
  }

  bool weighted(size_t i) const {
    const OpRow* row = op_row(graph_.nodes[i]);
    return row != nullptr && row->flow == Flow::weighted;
  }

  /// useful_[i]: through integer nodes an integer product can be reached from node i.
  void find_useful() {
    useful_.assign(graph_.nodes.size(), false);
    for (size_t i = graph_.nodes.size(); i-- > 0;)
      for (const std::string& output : graph_.nodes[i].outputs)
        for (const size_t reader : index_.consumers(output))
          if (region_.integer[reader] && (weighted(reader) || useful_[reader])) useful_[i] = true;
  }

  std::string dismissal(size_t i) const {
    const Node& node = graph_.nodes[i];
    const std::vector<std::string> inputs = activation_inputs(graph_, node);
    const auto integers = std::count_if(inputs.begin(), inputs.end(), [&](const auto& t) { return integer_producer(t); });
    if (weighted(i)) {
      constexpr int64_t kWorth = 8;  // multiply-adds that a conversion of one element costs, about
      if (integers > 0 || useful_[i]) return "";
      const int64_t work = multiply_adds(graph_, node);
      const int64_t cost = conversion_cost(graph_, node);
      return work > 0 && work < kWorth * cost ? "converting " + std::to_string(cost) + " elements costs more than its " +
                                                    std::to_string(work) + " multiply-adds save"
                                              : "";
    }
    const OpRow* row = op_row(node);
    if (row->flow == Flow::clamp) {
      const auto producer = index_.producer(inputs.empty() ? std::string() : inputs.front());
      const OpRow* before = producer ? op_row(graph_.nodes[*producer]) : nullptr;
      if (integers == 0) return "its input is float";
      if (!index_.used_once(inputs.front())) return "others read its input, so that no Q can absorb it";
      if (before->flow != Flow::weighted && before->flow != Flow::mix) return "no arithmetic stands before it";
      return "";
    }
    if (integers == 0) return "its input is float";
    if (useful_[i]) return "";
    if (row->flow == Flow::move) return "";
    if (row->flow == Flow::join)
      return integers == static_cast<int64_t>(inputs.size()) ? ""
                                                             : "no integer product follows, and some of its inputs are float";
    return "no integer product follows, so that converting back first costs nothing and keeps its precision";
  }

  const Graph& graph_;
  const GraphIndex index_;
  Region& region_;
  std::vector<bool> useful_;
};

}  // namespace

std::vector<std::string> activation_inputs(const Graph& graph, const Node& node) {
  const OpRow* row = op_row(node);
  std::vector<std::string> names;
  const bool all = row != nullptr && (row->flow == Flow::join || row->flow == Flow::mix || node.is("MatMul"));
  for (size_t i = 0; i < (all ? node.inputs.size() : std::min<size_t>(1, node.inputs.size())); ++i)
    if (!node.inputs[i].empty() && graph.constant(node.inputs[i]) == nullptr) names.push_back(node.inputs[i]);
  return names;
}

std::vector<bool> excluded_nodes(const Graph& graph, const std::set<std::string>& excluded) {
  std::vector<bool> out(graph.nodes.size());
  std::set<std::string> met;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::string> names = graph.nodes[i].outputs;
    names.push_back(graph.nodes[i].name);
    for (const std::string& name : names)
      if (!name.empty() && excluded.contains(name)) met.insert(name), out[i] = true;
  }
  for (const std::string& name : excluded)
    if (!met.contains(name)) throw Error(ErrorKind::usage, "no node has the name or the output '" + name + "'").at("--exclude");
  return out;
}

Region possible_region(const Graph& graph, const std::set<std::string>& excluded, int runtime) {
  Region region{std::vector<bool>(graph.nodes.size()), std::vector<std::string>(graph.nodes.size())};
  const std::vector<bool> out = excluded_nodes(graph, excluded);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::string why = out[i] ? "excluded by the user" : objection(graph, node, runtime);
    region.integer[i] = why.empty();
    region.reasons[i] = why.empty() ? std::string(op_row(node)->ort_integer_kernel) : why;
  }
  return region;
}

Region integer_region(const Graph& graph, const std::set<std::string>& excluded, int runtime) {
  Region region = possible_region(graph, excluded, runtime);
  shrink_region(graph, region);
  return region;
}

void shrink_region(const Graph& graph, Region& region) { Shrinking(graph, region).run(); }

std::set<std::string> integer_tensors(const Graph& graph, const Region& region) {
  const GraphIndex index(graph);
  std::set<std::string> tensors;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!region.integer[i]) continue;
    const Node& node = graph.nodes[i];
    for (const std::string& name : activation_inputs(graph, node)) tensors.insert(name);
    for (const std::string& name : node.outputs)
      if (!name.empty()) tensors.insert(name);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (region.integer[i] && op_row(graph.nodes[i])->flow == Flow::clamp) tensors.erase(graph.nodes[i].inputs[0]);
  return tensors;
}

std::vector<bool> tail_nodes(const Graph& graph, double share) {
  const GraphIndex index(graph);
  std::vector<int64_t> work(graph.nodes.size()), weights(graph.nodes.size());
  int64_t all_work = 0;
  int64_t all_weights = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const OpRow* row = op_row(graph.nodes[i]);
    if (row == nullptr || row->flow != Flow::weighted) continue;
    const Tensor* weight = graph.constant(graph.nodes[i].input(1));
    all_work += work[i] = multiply_adds(graph, graph.nodes[i]);
    all_weights += weights[i] = weight != nullptr ? weight->count() : 0;
  }
  const auto heavy = [&](size_t i) {
    return static_cast<double>(work[i]) > share * static_cast<double>(all_work) ||
           static_cast<double>(weights[i]) > share * static_cast<double>(all_weights);
  };
  std::vector<bool> tail(graph.nodes.size(), true);
  for (size_t i = graph.nodes.size(); i-- > 0;)
    for (const std::string& output : graph.nodes[i].outputs)
      for (const size_t reader : index.consumers(output))
        if (heavy(reader) || !tail[reader]) tail[i] = false;
  return tail;
}

}  // namespace pare
