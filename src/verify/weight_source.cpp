#include "verify/weight_source.h"

#include <algorithm>
#include <array>

namespace pare {
namespace {

constexpr auto kWeighted = std::to_array<WeightedOp>({
    {.op = "Conv", .weight = 1, .bias = 2},
    {.op = "FusedConv", .weight = 1, .bias = 2},
    {.op = "ConvTranspose", .weight = 1, .bias = 2},
    {.op = "Gemm", .weight = 1, .bias = 2},
    {.op = "FusedGemm", .weight = 1, .bias = 2},
    {.op = "MatMul", .weight = 1},
    {.op = "FusedMatMul", .weight = 1},
    {.op = "QLinearConv", .weight = 3, .bias = 8, .scale = 4, .zero_point = 5},
    {.op = "ConvInteger", .weight = 1, .zero_point = 3},
    {.op = "QLinearMatMul", .weight = 3, .scale = 4, .zero_point = 5},
    {.op = "MatMulInteger", .weight = 1, .zero_point = 3},
    {.op = "QGemm", .weight = 3, .bias = 6, .scale = 4, .zero_point = 5},
    {.op = "MatMulIntegerToFloat", .weight = 1, .bias = 6, .scale = 3, .zero_point = 5},
    {.op = "DynamicQuantizeMatMul", .weight = 1, .bias = 4, .scale = 2, .zero_point = 3},
});

bool readable(DType type) {
  constexpr std::array kReadable{DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8,
                                 DType::i8,  DType::u16, DType::i16, DType::i32};
  return std::find(kReadable.begin(), kReadable.end(), type) != kReadable.end();
}

bool floating(DType type) { return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16; }

/// -1 for a MatMul with a vector, which has no such axis.
int64_t channel_axis(const Node& node, int64_t rank) {
  const bool transposed = node.attribute<int64_t>("transB", 0) != 0;
  if (node.op_type.ends_with("Conv") || node.op_type == "ConvInteger") return 0;
  if (node.op_type == "ConvTranspose") return 1;
  return rank < 2 ? -1 : transposed ? rank - 2 : rank - 1;
}

std::optional<int64_t> through_transpose(const Node& node, std::optional<int64_t> axis, const Scope& scope) {
  if (!axis) return std::nullopt;
  const auto perm = node.attribute<std::vector<int64_t>>("perm", {});
  if (!perm.empty())
    return *axis >= 0 && *axis < static_cast<int64_t>(perm.size()) ? std::optional(perm[static_cast<size_t>(*axis)])
                                                                   : std::nullopt;
  const auto input = scope.graph().value(node.input(0));
  return input && input->dims ? std::optional(static_cast<int64_t>(input->dims->size()) - 1 - *axis) : std::nullopt;
}

/// Scale or zero point of a weight: `fallback` where the input is absent, nullopt where it is no constant.
std::optional<std::vector<float>> factor(const Scope* scope, const std::string& name, float fallback) {
  if (name.empty()) return std::vector<float>{fallback};
  const Tensor* t = scope->constant(name);
  if (t == nullptr || !readable(t->type())) return std::nullopt;
  return to_floats(*t);
}

}  // namespace

Scope::Scope(const Graph& graph, const Scope* outer) : graph_(graph), outer_(outer) {
  for (const Node& node : graph.nodes)
    for (const std::string& name : node.outputs)
      if (!name.empty()) producers_[name] = &node;
}

const Tensor* Scope::constant(const std::string& tensor) const {
  if (const Tensor* t = graph_.constant(tensor)) return t;
  if (const auto it = producers_.find(tensor); it != producers_.end()) {
    if (!it->second->is("Constant")) return nullptr;
    const auto value = it->second->attributes.find("value");
    return value == it->second->attributes.end() ? nullptr : std::get_if<Tensor>(&value->second);
  }
  return outer_ != nullptr ? outer_->constant(tensor) : nullptr;
}

std::pair<const Node*, const Scope*> Scope::producer(const std::string& tensor) const {
  if (const auto it = producers_.find(tensor); it != producers_.end()) return {it->second, this};
  return outer_ != nullptr ? outer_->producer(tensor) : std::pair<const Node*, const Scope*>{};
}

const WeightedOp* weighted_op(const Node& node) {
  if (!node.domain.empty() && node.domain != "com.microsoft") return nullptr;
  const auto row = std::find_if(kWeighted.begin(), kWeighted.end(), [&](const WeightedOp& r) { return r.op == node.op_type; });
  return row == kWeighted.end() ? nullptr : &*row;
}

bool quantizes(const Node& node) { return node.op_type.ends_with("QuantizeLinear"); }
bool dequantizes(const Node& node) { return node.op_type.ends_with("DequantizeLinear"); }

WeightSource trace(const Scope& scope, std::string tensor, std::optional<int64_t> axis) {
  WeightSource source;
  source.axis = axis;
  const Scope* at = &scope;
  while (true) {
    source.tensor = at->constant(tensor);
    source.name = tensor;
    if (source.tensor != nullptr) return source;
    const auto [node, where] = at->producer(tensor);
    if (node == nullptr || node->outputs.front() != tensor) return source;
    if (quantizes(*node)) {
      source.quantized = true;
    } else if (dequantizes(*node)) {
      source.dequantizer = node;
      source.dequantizer_scope = where;
      source.dequantizer_axis = node->attribute<int64_t>("axis", 1);
    } else if (node->is("Transpose")) {
      source.axis = through_transpose(*node, source.axis, *where);
      source.dequantizer_axis = through_transpose(*node, source.dequantizer_axis, *where);
    } else if (node->is("Reshape") || node->is("Flatten") || node->is("Squeeze") || node->is("Unsqueeze")) {
      source.reshaped = true;
      source.axis = source.dequantizer_axis = std::nullopt;
    } else if (!node->is("Identity") && !node->is("Cast")) {
      return source;
    }
    tensor = node->input(0);
    at = where;
  }
}

WeightInput weight_input(const Scope& scope, const Node& node) {
  const WeightedOp* row = weighted_op(node);
  const auto traced = [&](const std::string& name, bool second) {
    WeightSource source = trace(scope, name);
    if (source.tensor == nullptr) return source;
    const auto rank = static_cast<int64_t>(source.tensor->shape().size());  // moves that keep the axis keep the rank
    const int64_t axis = second ? channel_axis(node, rank) : rank - 2;
    return axis < 0 || axis >= rank ? source : trace(scope, name, axis);
  };
  const std::string name = node.input(static_cast<size_t>(row->weight));
  WeightSource source = traced(name, true);
  if (source.tensor == nullptr && node.op_type == "MatMul") {
    WeightSource first = traced(node.input(0), false);
    if (first.tensor != nullptr) return {node.input(0), std::move(first)};
  }
  return {name, std::move(source)};
}

std::optional<std::vector<float>> weight_values(const Scope& scope, const Node& node, const WeightSource& source) {
  if (source.tensor == nullptr || !readable(source.tensor->type())) return std::nullopt;
  std::vector<float> values = to_floats(*source.tensor);
  if (floating(source.tensor->type())) return values;

  const WeightedOp* row = weighted_op(node);
  const Scope* where = source.dequantizer != nullptr ? source.dequantizer_scope : &scope;
  const auto own_input = [&](int i) { return i < 0 ? std::string() : node.input(static_cast<size_t>(i)); };
  const bool dq = source.dequantizer != nullptr;
  const auto scale = factor(where, dq ? source.dequantizer->input(1) : own_input(row->scale), 1);
  const auto zero = factor(where, dq ? source.dequantizer->input(2) : own_input(row->zero_point), 0);
  if (!scale || !zero || scale->empty() || zero->empty()) return std::nullopt;
  if (!dq && row->scale < 0 && zero->size() > 1) return std::nullopt;  // ConvInteger per channel: its scales are applied later

  size_t channels = 1, inner = 1;
  if (scale->size() > 1 || zero->size() > 1) {
    const Shape& shape = source.tensor->shape();
    std::optional<int64_t> axis = dq ? source.dequantizer_axis : source.axis;
    if (axis && *axis < 0) *axis += static_cast<int64_t>(shape.size());
    if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(shape.size())) return std::nullopt;
    channels = static_cast<size_t>(shape[static_cast<size_t>(*axis)]);
    inner = static_cast<size_t>(element_count({shape.begin() + *axis + 1, shape.end()}));
  }
  const auto fits = [channels](const std::vector<float>& f) { return f.size() == 1 || f.size() == channels; };
  if (!fits(*scale) || !fits(*zero)) return std::nullopt;  // scales of blocks
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / inner % channels;
    values[i] = (values[i] - (*zero)[zero->size() > 1 ? c : 0]) * (*scale)[scale->size() > 1 ? c : 0];
  }
  return values;
}

}  // namespace pare
