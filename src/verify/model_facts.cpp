#include "verify/model_facts.h"

#include <algorithm>
#include <array>
#include <set>

#include "verify/weight_range.h"
#include "verify/weight_source.h"

namespace pare {
namespace {

/// Inputs `first` to `last` of an operator are trained numbers.
struct TrainedInputs {
  std::string_view op;
  size_t first, last;
};

constexpr auto kTrained = std::to_array<TrainedInputs>({
    {"BatchNormalization", 1, 4},
    {"InstanceNormalization", 1, 2},
    {"LayerNormalization", 1, 2},
    {"GroupNormalization", 1, 2},
    {"RMSNormalization", 1, 1},
    {"PRelu", 1, 1},
    {"LSTM", 1, 3},
    {"GRU", 1, 3},
    {"RNN", 1, 3},
});

enum class Role { other, quantization, parameter };

bool is_float(DType type) { return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16; }

std::string full_name(const Node& node) { return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type; }

PortFacts port(const Value& value) {
  PortFacts p{value.name, value.opaque.empty() ? dtype_name(value.type) : "no tensor", std::nullopt};
  if (!value.dims) return p;
  p.shape.emplace();
  for (const Dim& d : *value.dims)
    p.shape->push_back(d.size ? std::to_string(*d.size) : d.symbol.empty() || d.symbol.starts_with("unk__") ? "?" : d.symbol);
  return p;
}

/// Elements of a tensor for one sample; nullopt where a dimension other than the batch is unknown.
class SampleSize {
 public:
  explicit SampleSize(const Graph& graph) : graph_(graph) {
    for (const Value& input : graph.inputs) {
      if (!input.dims || input.dims->empty() || input.dims->front().size) continue;
      free_batch_ = true;
      if (!input.dims->front().symbol.empty()) batch_.insert(input.dims->front().symbol);
    }
  }

  [[nodiscard]] bool free_batch() const { return free_batch_; }

  [[nodiscard]] std::optional<Shape> shape(const std::string& tensor) const {
    const auto value = graph_.value(tensor);
    if (!value || !value->dims) return std::nullopt;
    Shape shape;
    for (const Dim& d : *value->dims) {
      const bool is_batch = free_batch_ && (shape.empty() || batch_.contains(d.symbol));
      if (!d.size && !is_batch) return std::nullopt;
      shape.push_back(d.size.value_or(1));
    }
    return shape;
  }

 private:
  const Graph& graph_;
  bool free_batch_ = false;
  std::set<std::string> batch_;
};

/// nullopt where a shape is unknown.
std::optional<int64_t> multiply_adds(const SampleSize& sizes, const Node& node) {
  const auto output = sizes.shape(node.outputs.empty() ? std::string() : node.outputs.front());
  const auto input = sizes.shape(node.input(0));
  const auto weight = sizes.shape(node.input(static_cast<size_t>(weighted_op(node)->weight)));
  if (!weight || weight->empty()) return std::nullopt;
  if (node.op_type.find("Conv") == std::string::npos) {
    if (!output) return std::nullopt;
    const bool transposed = node.attribute<int64_t>("transB", 0) != 0;
    const size_t rank = weight->size();
    return element_count(*output) * (rank < 2 ? weight->front() : (*weight)[transposed ? rank - 1 : rank - 2]);
  }
  const auto& positions = node.op_type == "ConvTranspose" ? input : output;
  if (!positions || weight->front() == 0) return std::nullopt;
  return element_count(*positions) * (element_count(*weight) / weight->front());
}

/// The tensor is the result of a weighted node, perhaps rescaled, cast, quantized or reshaped.
bool follows_weighted(const Scope& scope, std::string tensor) {
  static const std::set<std::string_view> passed{"Cast", "Mul", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity"};
  for (const Scope* at = &scope;;) {
    const auto [node, where] = at->producer(tensor);
    if (node == nullptr) return false;
    if (weighted_op(*node) != nullptr) return true;
    if (!passed.contains(node->op_type) && !quantizes(*node) && !dequantizes(*node)) return false;
    tensor = node->input(0);
    at = where;
  }
}

class Reader {
 public:
  explicit Reader(InspectReport& report) : report_(report) {}

  void read(const Graph& graph, const Scope* outer) {
    const Scope scope(graph, outer);
    const SampleSize sizes(graph);
    for (const auto& [name, tensor] : graph.initializers) tensors_.push_back(&tensor);
    for (const Node& node : graph.nodes) {
      count(node);
      set_roles(scope, node);
      if (weighted_op(node) != nullptr) {
        add_weight(scope, node);
        const auto macs = multiply_adds(sizes, node);
        report_.multiply_adds += macs.value_or(0);
        report_.uncounted_nodes += macs ? 0 : 1;
      }
      for (const auto& [key, attribute] : node.attributes) {
        if (const auto* tensor = std::get_if<Tensor>(&attribute); tensor != nullptr && node.is("Constant"))
          tensors_.push_back(tensor);
        const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute);
        if (inner == nullptr) continue;
        ++report_.subgraphs;
        report_.subgraph_nodes += static_cast<int64_t>((*inner)->nodes.size());
        read(**inner, &scope);
      }
    }
  }

  void finish() {
    for (const Tensor* tensor : tensors_) {
      const auto it = roles_.find(tensor);
      const Role role = it == roles_.end() ? Role::other : it->second;
      auto& list = role == Role::parameter      ? report_.parameters
                   : role == Role::quantization ? report_.quantization_constants
                                                : report_.other_constants;
      const std::string type = dtype_name(tensor->type());
      auto row = std::find_if(list.begin(), list.end(), [&](const ConstantFacts& f) { return f.type == type; });
      if (row == list.end()) row = list.insert(list.end(), {type, 0, 0, 0});
      ++row->tensors;
      row->elements += tensor->count();
      row->bytes += static_cast<int64_t>(tensor->raw().size());
    }
    for (auto* list : {&report_.parameters, &report_.quantization_constants, &report_.other_constants})
      std::stable_sort(list->begin(), list->end(),
                       [](const ConstantFacts& a, const ConstantFacts& b) { return a.bytes > b.bytes; });
    const auto ratio = [](const WeightFacts& w) { return w.range ? w.range->ratio : -1; };
    std::stable_sort(report_.weights.begin(), report_.weights.end(),
                     [&](const WeightFacts& a, const WeightFacts& b) { return ratio(a) > ratio(b); });
  }

 private:
  void count(const Node& node) {
    const std::string& op = node.op_type;
    if (op == "DynamicQuantizeLinear")
      ++report_.dynamic_quantize;
    else if (quantizes(node))
      ++report_.quantize;
    else if (dequantizes(node))
      ++report_.dequantize;
    else if (op.starts_with("QLinear") || op == "QGemm")
      ++report_.qlinear;
    else if (op.find("Integer") != std::string::npos || op == "DynamicQuantizeMatMul")
      ++report_.integer;
  }

  void set(const Tensor* tensor, Role role) {
    if (tensor != nullptr) roles_[tensor] = std::max(roles_[tensor], role);
  }

  void set_roles(const Scope& scope, const Node& node) {
    const auto constant = [&](int i) { return i < 0 ? nullptr : scope.constant(node.input(static_cast<size_t>(i))); };
    const auto trained = [&](const std::string& name) { set(trace(scope, name).tensor, Role::parameter); };
    if (const WeightedOp* row = weighted_op(node)) {
      trained(weight_input(scope, node).name);
      if (row->bias >= 0) trained(node.input(static_cast<size_t>(row->bias)));
    }
    set_quantization_roles(node, constant);
    for (const TrainedInputs& row : kTrained)
      for (size_t i = row.first; node.is(row.op) && i <= row.last; ++i) trained(node.input(i));
    if (node.is("Gather")) {
      const WeightSource table = trace(scope, node.input(0));
      if (table.tensor != nullptr && is_float(table.tensor->type()) && table.tensor->shape().size() == 2)
        set(table.tensor, Role::parameter);
    }
    if (node.is("Add") || node.is("Sub") || node.is("Mul") || node.is("Div"))
      for (const size_t i : {size_t{0}, size_t{1}}) set_vector_role(scope, node, i);
  }

  template <typename Constant>
  void set_quantization_roles(const Node& node, const Constant& constant) {
    if (quantizes(node) || dequantizes(node))
      for (const int i : {1, 2}) set(constant(i), Role::quantization);
    if (const WeightedOp* row = weighted_op(node))
      for (const int i : {row->scale, row->zero_point}) set(constant(i), Role::quantization);
    const bool on_integers =
        node.op_type.starts_with("QLinear") || node.op_type == "QGemm" || node.op_type == "MatMulIntegerToFloat";
    for (int i = 0; on_integers && i < static_cast<int>(node.inputs.size()); ++i)
      if (const Tensor* t = constant(i); t != nullptr && t->count() == 1) set(t, Role::quantization);
    if (node.op_type == "ConvInteger" || node.op_type == "MatMulInteger") set(constant(2), Role::quantization);
  }

  /// A bias or scale per channel that stands apart from its layer: one long dimension, behind a weighted node.
  void set_vector_role(const Scope& scope, const Node& node, size_t i) {
    const Tensor* tensor = trace(scope, node.input(i)).tensor;
    if (tensor == nullptr) return;
    const Shape& shape = tensor->shape();
    const bool vector = std::count_if(shape.begin(), shape.end(), [](int64_t d) { return d != 1; }) <= 1;
    const bool scalar = tensor->count() == 1 && (shape.empty() || !node.is("Add"));
    if (vector && !scalar && follows_weighted(scope, node.input(1 - i))) set(tensor, Role::parameter);
  }

  void add_weight(const Scope& scope, const Node& node) {
    const auto [name, source] = weight_input(scope, node);
    WeightFacts w;
    w.node = node.name.empty() && !node.outputs.empty() ? node.outputs.front() : node.name;
    w.op = full_name(node);
    w.precision = "computed";
    if (source.tensor != nullptr) {
      const auto [data, where] = scope.producer(node.input(name == node.input(0) ? 1 : 0));
      w.precision = !is_float(source.tensor->type())        ? "integer"
                    : source.quantized                      ? "fake-quantized"
                    : data != nullptr && dequantizes(*data) ? "unquantized"
                                                            : "float";
      w.weight = source.name;
      w.type = dtype_name(source.tensor->type());
      w.shape = source.tensor->shape();
      w.bytes = static_cast<int64_t>(source.tensor->raw().size());
      w.range = range_of(scope, node, source);
      if (w.type == "int8" || w.type == "uint8") ++report_.int8_weights;
      if (weights_.insert(source.tensor).second) report_.weight_bytes += w.bytes;
    }
    report_.weights.push_back(std::move(w));
  }

  static std::optional<WeightRange> range_of(const Scope& scope, const Node& node, const WeightSource& source) {
    const Shape& shape = source.tensor->shape();
    if (source.axis ? *source.axis >= static_cast<int64_t>(shape.size()) : source.reshaped || shape.size() > 1)
      return std::nullopt;
    const auto values = weight_values(scope, node, source);
    if (!values) return std::nullopt;
    if (!source.axis) return weight_range(*values, 1, 1, values->size());
    const auto axis = shape.begin() + *source.axis;
    return weight_range(*values, static_cast<size_t>(element_count({shape.begin(), axis})), static_cast<size_t>(*axis),
                        static_cast<size_t>(element_count({axis + 1, shape.end()})));
  }

  InspectReport& report_;
  std::vector<const Tensor*> tensors_;
  std::map<const Tensor*, Role> roles_;
  std::set<const Tensor*> weights_;
};

void collect_domains(const Graph& graph, std::set<std::string>& used) {
  for (const Node& node : graph.nodes) {
    used.insert(node.domain);
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) collect_domains(**inner, used);
  }
}

}  // namespace

void add_model_facts(const Graph& graph, InspectReport& report) {
  report.ir_version = graph.ir_version;
  report.producer = graph.producer + (graph.producer_version.empty() ? "" : " " + graph.producer_version);
  report.metadata = graph.metadata;
  report.local_functions = !graph.functions.empty();
  std::set<std::string> domains;
  collect_domains(graph, domains);
  for (const auto& [domain, version] : graph.opsets) {
    if (domains.contains(domain))
      report.opsets.emplace_back(domain.empty() ? "ai.onnx" : domain, version);
    else
      ++report.unused_opsets;
  }
  for (const Value& v : graph.inputs) report.inputs.push_back(port(v));
  for (const Value& v : graph.outputs) report.outputs.push_back(port(v));
  report.nodes = static_cast<int64_t>(graph.nodes.size());
  std::map<std::string, int64_t> operators;
  for (const Node& node : graph.nodes) ++operators[full_name(node)];
  report.operators.assign(operators.begin(), operators.end());
  std::stable_sort(report.operators.begin(), report.operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  report.free_batch = SampleSize(graph).free_batch();
  Reader reader(report);
  reader.read(graph, nullptr);
  reader.finish();
}

bool shapes_missing(const Graph& graph) {
  for (const Value& input : graph.inputs) {
    if (!input.dims) return false;
    for (size_t d = 1; d < input.dims->size(); ++d)
      if (!(*input.dims)[d].size) return false;
  }
  const SampleSize sizes(graph);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return weighted_op(node) != nullptr && !multiply_adds(sizes, node); });
}

}  // namespace pare
