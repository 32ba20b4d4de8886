#include "quantize/insert_qdq.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "ir/edit.h"
#include "ir/op_table.h"
#include "ir/save.h"
#include "quantize/region.h"
#include "quantize/weight_view.h"

namespace pare {
namespace {

/// A constant of the plan's integer type with `value`.
Tensor integer_scalar(DType type, int32_t value) {
  switch (type) {
    case DType::u8: return Tensor::scalar(static_cast<uint8_t>(value));
    case DType::i8: return Tensor::scalar(static_cast<int8_t>(value));
    case DType::u16: return Tensor::scalar(static_cast<uint16_t>(value));
    default: return Tensor::scalar(static_cast<int16_t>(value));
  }
}

class Writer {
 public:
  Writer(Graph graph, Plan plan, Log& log)
      : graph_(std::move(graph)), index_(graph_), fresh_(graph_), plan_(std::move(plan)), log_(log) {}

  Graph run() {
    check_names();
    const size_t count = graph_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      const auto node = plan_.nodes.find(graph_.nodes[i].outputs.front());
      integer_.push_back(node != plan_.nodes.end() && node->second.integer);
    }
    for (size_t i = 0; i < count; ++i)
      if (integer_[i]) keep_clamp(i);
    for (size_t i = 0; i < count; ++i)
      if (integer_[i]) check_node(i);
    for (const Value& input : graph_.inputs) quantize_activation(input.name, false);
    for (size_t i = 0; i < count; ++i) {
      for (const std::string& output : std::vector<std::string>(graph_.nodes[i].outputs))
        quantize_activation(output, integer_[i]);
    }
    for (size_t i = 0; i < count; ++i) rewire(i);
    for (auto& node : added_) graph_.nodes.push_back(std::move(node));
    graph_.values.clear();
    sort_nodes(graph_);
    remove_unused(graph_);
    return std::move(graph_);
  }

 private:
  struct Names {
    std::string restored;      ///< output of the DequantizeLinear
    std::string integers;      ///< its input
    bool all_readers = false;  ///< float nodes read it too, since the float tensor exists only inside an integer kernel
  };

  void check_names() const {
    std::set<std::string> known;
    for (const Value& input : graph_.inputs) known.insert(input.name);
    for (const Node& node : graph_.nodes) known.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& [name, t] : plan_.tensors)
      if (!known.contains(name))
        throw Error(ErrorKind::input, "the plan names a tensor that the model does not have").at("tensor '" + name + "'");
    for (const auto& [name, t] : plan_.tensors)
      if (const auto value = graph_.value(name); t.quantized && value && value->type != DType::f32)
        throw Error(ErrorKind::input, "the plan quantizes it, but it holds " + dtype_name(value->type))
            .at("tensor '" + name + "'");
    for (const auto& [name, n] : plan_.nodes)
      if (!known.contains(name))
        throw Error(ErrorKind::input, "the plan names a node that the model does not have").at("node of '" + name + "'");
  }

  /// A clamp that this Q and its scale do not absorb: one more Q with the same numbers goes before it, so that the node there
  /// still runs on integers.
  void keep_clamp(size_t i) {
    const Node& node = graph_.nodes[i];
    const OpRow* row = op_row(node);
    const TensorPlan* t = planned(node.outputs.front());
    if (row == nullptr || row->flow != Flow::clamp || t == nullptr || planned(node.inputs[0]) != nullptr) return;
    const Range covered = representable(t->params, t->type);
    const auto bounds = clamp_bounds(graph_, node);
    const double slack = 1e-6 * (covered.high - covered.low);
    if (bounds && bounds->low <= covered.low + slack && bounds->high >= covered.high - slack) return;
    log_.push_back({"insert_qdq", node.label(), "float between integers",
                    "its Q has zero point " + std::to_string(t->params.zero_point) + " and so reaches beyond what it cuts to"});
    TensorPlan before = *t;
    before.group = "";
    plan_.tensors[node.inputs[0]] = before;
  }

  /// Its only reader is a clamp that the Q behind absorbs.
  bool absorbed(const std::string& tensor) const {
    if (!index_.used_once(tensor)) return false;
    const size_t reader = index_.consumers(tensor).front();
    return integer_[reader] && op_row(graph_.nodes[reader])->flow == Flow::clamp;
  }

  void check_node(size_t i) const {
    const Node& node = graph_.nodes[i];
    const OpRow* row = op_row(node);
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::input, "the plan runs it on integers, but " + why).at(node.label());
    };
    if (row == nullptr || row->ort_integer_kernel.empty()) refuse("there is no integer kernel for it");
    for (const std::string& name : activation_inputs(graph_, node))
      if (planned(name) == nullptr && row->flow != Flow::clamp) refuse("keeps its input '" + name + "' float");
    for (const std::string& name : node.outputs)
      if (!name.empty() && planned(name) == nullptr && !absorbed(name)) refuse("keeps its output '" + name + "' float");
  }

  const TensorPlan* planned(const std::string& tensor) const {
    const auto it = plan_.tensors.find(tensor);
    return it != plan_.tensors.end() && it->second.quantized ? &it->second : nullptr;
  }

  /// Scale and zero point as initializers, one pair for each group of equal numbers.
  std::pair<std::string, std::string> constants(const TensorPlan& t, const std::string& name) {
    const std::string key = t.group.empty() ? name : t.group;
    if (const auto it = pairs_.find(key); it != pairs_.end() && it->second.params == t.params && it->second.type == t.type)
      return it->second.names;
    const Pair pair{t.params, t.type, {fresh_(key + "_scale"), fresh_(key + "_zero_point")}};
    graph_.initializers[pair.names.first] = Tensor::scalar(t.params.scale);
    graph_.initializers[pair.names.second] = integer_scalar(t.type, t.params.zero_point);
    pairs_[key] = pair;
    return pair.names;
  }

  void add(const std::string& op, const std::string& output, std::vector<std::string> inputs,
           std::optional<int64_t> axis = std::nullopt) {
    Node node{op, fresh_(output + "_" + op), "", std::move(inputs), {output}, {}, ""};
    if (axis) node.attributes["axis"] = *axis;
    added_.push_back(std::move(node));
  }

  void quantize_activation(const std::string& tensor, bool made_by_integer_node) {
    const TensorPlan* t = planned(tensor);
    if (t == nullptr) return;
    const auto [scale, zero_point] = constants(*t, tensor);
    std::string source = tensor;
    std::string restored = fresh_(tensor + "_dequantized");
    const std::string quantized = fresh_(tensor + "_quantized");
    if (index_.is_output(tensor)) {
      if (!made_by_integer_node)
        restored_[tensor] = {restored, quantized, false};
      else {  // the output's name moves behind the DequantizeLinear
        source = fresh_(tensor + "_float");
        renamed_[tensor] = source;
        restored = tensor;
        restored_[tensor] = {tensor, quantized, true};
      }
    } else {
      restored_[tensor] = {restored, quantized, made_by_integer_node};
    }
    add("QuantizeLinear", quantized, {source, scale, zero_point});
    add("DequantizeLinear", restored, {quantized, scale, zero_point});
  }

  void rewire(size_t i) {
    const bool integer = integer_[i];
    if (integer) quantize_constants(i);
    Node& node = graph_.nodes[i];
    for (std::string& name : node.inputs) {
      const auto it = restored_.find(name);
      if (it == restored_.end() || !(integer || it->second.all_readers)) continue;
      name = node.is("Shape") || node.is("Size") ? it->second.integers : it->second.restored;  // their shape is the same
    }
    if (!integer) shield_float_weight(node);
    for (std::string& name : node.outputs)
      if (const auto it = renamed_.find(name); it != renamed_.end()) name = it->second;
  }

  /// ONNX Runtime (since 1.21) quantizes the float weight of a Conv, ConvTranspose or Gemm that reads a DequantizeLinear, with
  /// one scale for the whole weight. A Max of one input hands the values on and keeps the two apart.
  void shield_float_weight(Node& node) {
    if (!node.is("Conv") && !node.is("ConvTranspose") && !node.is("Gemm")) return;
    const bool restored =
        std::any_of(restored_.begin(), restored_.end(), [&](const auto& r) { return r.second.restored == node.inputs[0]; });
    if (!restored || graph_.constant(node.input(1)) == nullptr) return;
    std::string& shielded = shielded_[node.inputs[0]];
    if (shielded.empty()) {
      shielded = fresh_(node.inputs[0] + "_kept_float");
      add("Max", shielded, {node.inputs[0]});
    }
    node.inputs[0] = shielded;
  }

  void quantize_constants(size_t i) {
    const Node node = graph_.nodes[i];
    const OpRow* row = op_row(node);
    if (row->flow == Flow::weighted && graph_.constant(node.input(1)) != nullptr) {
      quantize_weight(i);
      return;
    }
    if (row->flow != Flow::mix && row->flow != Flow::join && row->flow != Flow::weighted) return;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Tensor* constant = graph_.constant(node.inputs[k]);
      if (constant == nullptr || constant->type() != DType::f32) continue;
      if (const auto it = arithmetic_.find(node.inputs[k]); it != arithmetic_.end()) {
        graph_.nodes[i].inputs[k] = it->second;
        continue;
      }
      const std::vector<float> values = to_floats(*constant);
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      TensorPlan t;
      t.type = plan_.scheme.activation;
      t.params = choose_params({*low, *high}, t.type, plan_.scheme.symmetric);
      const auto [scale, zero_point] = constants(t, node.inputs[k]);
      const std::string restored = fresh_(node.inputs[k] + "_dequantized");
      const std::string quantized = fresh_(node.inputs[k] + "_quantized");
      graph_.initializers[quantized] = quantize(values, constant->shape(), t.params, t.type);
      add("DequantizeLinear", restored, {quantized, scale, zero_point});
      graph_.nodes[i].inputs[k] = arithmetic_[node.inputs[k]] = restored;
    }
  }

  void quantize_weight(size_t i) {
    const Node node = graph_.nodes[i];
    const std::string weight_name = node.inputs[1];
    const Tensor weight = *graph_.constant(weight_name);
    // A vector's only axis is the one summed over, and QLinearMatMul takes a batch of matrices with one scale only.
    const bool matrix = !node.is("MatMul") || weight.shape().size() == 2;
    const WeightView view(weight, weight_channel_axis(node, weight), plan_.scheme.per_channel && matrix);
    const int limit = plan_.scheme.weight_limit();
    std::vector<float> scales;
    try {
      scales = channel_scales(weight.as<float>(), view.outer, view.channels, view.inner, limit);
    } catch (Error& e) {
      throw e.at("tensor '" + weight_name + "'").at(node.label());
    }
    const TensorPlan* input = planned(node.inputs[0]);
    std::vector<float> bias;
    if (const Tensor* b = graph_.constant(node.input(2)); b != nullptr) {
      bias = to_floats(*b);
      if (!std::all_of(bias.begin(), bias.end(), [](float v) { return std::isfinite(v); }))
        throw Error(ErrorKind::input, "holds a NaN or infinite bias").at("tensor '" + node.input(2) + "'").at(node.label());
      if (input != nullptr) {
        fit_dead_channels(weight, view, bias, input->params.scale, limit, scales);
        make_room_for_bias(node, bias, input->params.scale, scales);
      }
    }
    // The same weight may serve several nodes; with equal scales they share one int8 copy.
    auto& made = weights_[weight_name];
    auto same = std::find_if(made.begin(), made.end(), [&](const Weight& w) { return w.scales == scales; });
    if (same == made.end()) {
      made.push_back(write_weight(weight_name, weight, view, scales, limit));
      same = made.end() - 1;
    }
    graph_.nodes[i].inputs[1] = same->restored;
    if (input != nullptr && plan_.scheme.bias_correction && !node.is("MatMul"))
      correct_bias(node, weight, graph_.initializers.at(same->numbers), input->channel_means, scales, bias);
    if (bias.empty() || input == nullptr) return;
    graph_.nodes[i].inputs.resize(3);
    graph_.nodes[i].inputs[2] = write_bias(node, bias, input->params.scale, scales);
  }

  /// Adds to each bias what rounding takes from its channel on average: the sum of (w - rounded w) * mean of the input (DFQ,
  /// Nagel et al. 2019, section 4.2; here with measured means).
  static void correct_bias(const Node& node, const Tensor& weight, const Tensor& numbers, const std::vector<float>& means,
                           const std::vector<float>& scales, std::vector<float>& bias) {
    const auto values = weight.as<float>();
    const auto rounded = numbers.as<int8_t>();
    const Shape& shape = weight.shape();
    const auto outputs = static_cast<size_t>(shape[static_cast<size_t>(weight_channel_axis(node, weight))]);
    const bool first = weight_channel_axis(node, weight) == 0;  // else the output channels stand last
    const size_t fan_in = values.size() / std::max<size_t>(outputs, 1);
    const auto group = static_cast<size_t>(node.attribute<int64_t>("group", 1));
    const size_t inputs = node.is("Conv") ? static_cast<size_t>(shape[1]) : fan_in;  // of one group
    if (means.size() != inputs * group) return;
    bias.resize(outputs);
    for (size_t c = 0; c < outputs; ++c) {
      const float scale = scales[scales.size() == 1 ? 0 : c];
      const size_t offset = c / (outputs / group) * inputs;
      double shift = 0;
      for (size_t k = 0; k < fan_in; ++k) {
        const size_t at = first ? c * fan_in + k : k * outputs + c;
        const size_t channel = offset + k / (fan_in / inputs);
        shift += (static_cast<double>(values[at]) - static_cast<double>(scale) * rounded[at]) * means[channel];
      }
      bias[c] += static_cast<float>(shift);
    }
  }

  /// Where all weights are zero their scale is free, and the bias takes many steps of it.
  static void fit_dead_channels(const Tensor& weight, const WeightView& view, const std::vector<float>& bias, float input_scale,
                                int limit, std::vector<float>& scales) {
    constexpr double kSteps = 1 << 20;
    const auto values = weight.as<float>();
    for (size_t c = 0; c < scales.size(); ++c) {
      bool dead = true;
      for (size_t o = 0; dead && o < view.outer; ++o) {
        const auto channel = values.subspan((o * view.channels + c) * view.inner, view.inner);
        dead = std::all_of(channel.begin(), channel.end(),
                           [&](float w) { return std::abs(w) / static_cast<float>(limit) < FLT_MIN; });
      }
      if (!dead) continue;
      float largest = 0;
      for (size_t b = 0; b < bias.size(); ++b)
        if (scales.size() == 1 || b == c) largest = std::max(largest, std::abs(bias[b]));
      if (largest > 0) scales[c] = static_cast<float>(std::clamp<double>(largest / (input_scale * kSteps), FLT_MIN, FLT_MAX));
    }
  }

  void make_room_for_bias(const Node& node, const std::vector<float>& bias, float input_scale, std::vector<float>& scales) {
    constexpr double kLargest = 1 << 30;  // as much again is left for the sum of the products
    size_t raised = 0;
    for (size_t c = 0; c < bias.size(); ++c) {
      float& scale = scales[scales.size() == 1 ? 0 : c];
      const double needed = std::abs(bias[c]) / (static_cast<double>(input_scale) * kLargest);
      if (needed > scale) ++raised;
      // The product of both scales must not underflow either.
      const double least = std::max(needed, 2.0 * FLT_MIN / input_scale);
      if (least > scale) scale = std::nextafter(static_cast<float>(std::min<double>(least, FLT_MAX / 2)), FLT_MAX);
    }
    if (raised > 0)
      log_.push_back(
          {"insert_qdq", node.label(), "raised weight scales", std::to_string(raised) + " biases would overflow int32"});
  }

  struct Weight {
    std::vector<float> scales;
    std::string numbers;   ///< the int8 initializer
    std::string restored;  ///< output of its DequantizeLinear
  };

  Weight write_weight(const std::string& name, const Tensor& weight, const WeightView& view, const std::vector<float>& scales,
                      int limit) {
    const std::string quantized = fresh_(name + "_quantized");
    const std::string scale = fresh_(name + "_scale");
    const std::string zero_point = fresh_(name + "_zero_point");
    const bool per_channel = view.split;
    const Shape channels = per_channel ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
    graph_.initializers[quantized] = Tensor::of<int8_t>(
        weight.shape(), quantize_channels(weight.as<float>(), view.outer, view.channels, view.inner, scales, limit));
    graph_.initializers[scale] = Tensor::of<float>(channels, scales);
    graph_.initializers[zero_point] = Tensor(DType::i8, channels);
    std::string restored = fresh_(name + "_dequantized");
    add("DequantizeLinear", restored, {quantized, scale, zero_point},
        per_channel ? std::optional<int64_t>(view.axis) : std::nullopt);
    return {scales, quantized, restored};
  }

  std::string write_bias(const Node& node, const std::vector<float>& bias, float input_scale,
                         const std::vector<float>& weight_scales) {
    std::vector<float> scales;
    std::vector<int32_t> values;
    for (size_t c = 0; c < bias.size(); ++c) {
      const float scale = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : c];
      if (weight_scales.size() > 1 || c == 0) scales.push_back(scale);
      constexpr double kLimit = 2147483647;
      values.push_back(static_cast<int32_t>(std::clamp(std::nearbyint(static_cast<double>(bias[c]) / scale), -kLimit, kLimit)));
    }
    const bool per_channel = weight_scales.size() > 1 || plan_.scheme.per_channel;
    const std::string base = node.input(2).empty() ? node.inputs[1] + "_bias" : node.inputs[2];
    const std::string quantized = fresh_(base + "_quantized");
    const std::string scale = fresh_(base + "_scale");
    std::string restored = fresh_(base + "_dequantized");
    const Shape shape{static_cast<int64_t>(bias.size())};
    graph_.initializers[quantized] = Tensor::of<int32_t>(shape, values);
    graph_.initializers[scale] = Tensor::of<float>(per_channel ? Shape{static_cast<int64_t>(scales.size())} : Shape{}, scales);
    add("DequantizeLinear", restored, {quantized, scale}, per_channel ? std::optional<int64_t>(0) : std::nullopt);
    return restored;
  }

  struct Pair {
    QParams params;
    DType type = DType::u8;
    std::pair<std::string, std::string> names;
  };

  Graph graph_;
  const GraphIndex index_;
  FreshNames fresh_;
  Plan plan_;
  Log& log_;
  std::vector<bool> integer_;
  std::vector<Node> added_;
  std::map<std::string, Pair> pairs_;
  std::map<std::string, Names> restored_;
  std::map<std::string, std::string> renamed_;
  std::map<std::string, std::string> shielded_;
  std::map<std::string, std::vector<Weight>> weights_;
  std::map<std::string, std::string> arithmetic_;  ///< float constant -> output of its DequantizeLinear
};

}  // namespace

Graph insert_qdq(Graph graph, const Plan& plan, Log& log) { return Writer(std::move(graph), plan, log).run(); }

}  // namespace pare
