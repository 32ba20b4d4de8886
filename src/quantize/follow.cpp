#include "quantize/follow.h"

#include <algorithm>
#include <limits>

namespace pare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Interval kEverything{-kInfinity, kInfinity};

/// `mul` is x * Sigmoid(x) for x = tensor.
bool closes_silu(const Graph& graph, const GraphIndex& index, const Node& mul, const std::string& tensor) {
  if (!mul.is("Mul") || mul.inputs.size() != 2) return false;
  const std::string& other = mul.inputs[0] == tensor ? mul.inputs[1] : mul.inputs[0];
  const auto producer = index.producer(other);
  return producer && graph.nodes[*producer].is("Sigmoid") && graph.nodes[*producer].inputs[0] == tensor && index.used_once(other);
}

Interval needed_by(const Graph& graph, const GraphIndex& index, const Node& reader, const std::string& tensor) {
  constexpr double kSiluFlat = -6;
  constexpr double kSigmoidFlat = 8;
  constexpr double kTanhFlat = 4;
  if (closes_silu(graph, index, reader, tensor)) return {kSiluFlat, kInfinity};
  if (reader.is("Sigmoid")) {
    const auto& readers = index.consumers(reader.outputs[0]);
    const bool silu = readers.size() == 1 && closes_silu(graph, index, graph.nodes[readers.front()], tensor);
    return silu ? Interval{kSiluFlat, kInfinity} : Interval{-kSigmoidFlat, kSigmoidFlat};
  }
  if (reader.is("Tanh")) return {-kTanhFlat, kTanhFlat};
  if (reader.is("HardSwish")) return {-3, kInfinity};
  if (reader.is("Gelu")) return {-4, kInfinity};
  if (reader.is("HardSigmoid")) {
    const double alpha = reader.attribute<float>("alpha", .2F);
    const double beta = reader.attribute<float>("beta", .5F);
    return alpha > 0 ? Interval{-beta / alpha, (1 - beta) / alpha} : kEverything;
  }
  if (const auto bounds = clamp_bounds(graph, reader)) return *bounds;
  const OpRow* row = op_row(reader);
  if (row != nullptr && (row->flow == Flow::move || row->flow == Flow::join)) {
    Interval widest{kInfinity, -kInfinity};
    for (const std::string& output : reader.outputs) {
      const Interval needed = useful_interval(graph, index, output);
      widest = {std::min(widest.low, needed.low), std::max(widest.high, needed.high)};
    }
    return widest;
  }
  return kEverything;
}

}  // namespace

Interval useful_interval(const Graph& graph, const GraphIndex& index, const std::string& tensor) {
  if (index.is_output(tensor) || index.consumers(tensor).empty()) return kEverything;
  Interval widest{kInfinity, -kInfinity};
  for (const size_t reader : index.consumers(tensor)) {
    const Interval needed = needed_by(graph, index, graph.nodes[reader], tensor);
    widest = {std::min(widest.low, needed.low), std::max(widest.high, needed.high)};
  }
  return widest;
}

}  // namespace pare
