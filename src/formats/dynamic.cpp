#include "formats/dynamic.h"

#include <array>
#include <map>

#include "formats/layers.h"
#include "ir/edit.h"
#include "ir/op_table.h"
#include "quantize/weight_view.h"

namespace pare {
namespace {

class Dynamic {
 public:
  Dynamic(Graph graph, const Scheme& scheme, Log& log) : graph_(std::move(graph)), fresh_(graph_), scheme_(scheme), log_(log) {}

  Graph run(const std::set<std::string>& excluded) {
    for (const size_t i : layers_with_weights(graph_, excluded, log_)) {
      const Node node = graph_.nodes[i];
      if (const std::string why = objection(node); !why.empty()) {
        log_.push_back({"quantize_dynamic", node.label(), "float", why});
        continue;
      }
      replace(node);
      replaced_.insert(i);
    }
    remove_nodes(graph_, replaced_);
    for (Node& node : added_) graph_.nodes.push_back(std::move(node));
    graph_.values.clear();
    sort_nodes(graph_);
    remove_unused(graph_);
    return std::move(graph_);
  }

 private:
  std::string objection(const Node& node) const {
    if (node.is("ConvTranspose")) return "there is no integer operator for it";
    if (node.is("Gemm") && (node.attribute<int64_t>("transA", 0) != 0 || node.attribute<float>("alpha", 1) != 1 ||
                            node.attribute<float>("beta", 1) != 1))
      return "there is no integer operator for its attributes";
    return graph_.constant(node.input(1))->shape().size() < 2 ? "its weight is a vector" : "";
  }

  std::string add(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                  std::map<std::string, Attribute> attributes = {}) {
    added_.push_back({op, fresh_(output + "_" + op), "", std::move(inputs), {output}, std::move(attributes), ""});
    return output;
  }

  std::string constant(const std::string& name, Tensor tensor) {
    const std::string own = fresh_(name);
    graph_.initializers[own] = std::move(tensor);
    return own;
  }

  /// Numbers, scale and zero point of an activation, measured in the run; once for all its readers.
  const std::array<std::string, 3>& quantized(const std::string& tensor) {
    auto& names = quantized_[tensor];
    if (names[0].empty()) {
      names = {fresh_(tensor + "_quantized"), fresh_(tensor + "_scale"), fresh_(tensor + "_zero_point")};
      added_.push_back({"DynamicQuantizeLinear",
                        fresh_(tensor + "_DynamicQuantizeLinear"),
                        "",
                        {tensor},
                        {names[0], names[1], names[2]},
                        {},
                        ""});
    }
    return names;
  }

  void replace(const Node& node) {
    Tensor weight = *graph_.constant(node.inputs[1]);
    int64_t axis = weight_channel_axis(node, weight);
    if (node.is("Gemm") && node.attribute<int64_t>("transB", 0) != 0) weight = transposed(weight), axis = 1;
    const bool conv = node.is("Conv");
    Int8Weight w = int8_weight(weight, axis, scheme_.per_channel && (conv || weight.shape().size() == 2), scheme_.weight_limit());
    if (conv && w.axis) {  // scales along axis 1 of the output
      Shape shape(weight.shape().size(), 1);
      shape[1] = w.scales.count();
      w.scales = w.scales.reshaped(shape);
    }
    const std::string& output = node.outputs[0];
    const auto x = quantized(node.inputs[0]);
    const std::string numbers = constant(node.inputs[1] + "_quantized", w.numbers);
    const std::string scales = constant(node.inputs[1] + "_scale", w.scales);
    const std::string sums = add(conv ? "ConvInteger" : "MatMulInteger", {x[0], numbers, x[2]}, fresh_(output + "_sums"),
                                 conv ? node.attributes : std::map<std::string, Attribute>());
    const std::string floats = add("Cast", {sums}, fresh_(output + "_floats"), {{"to", static_cast<int64_t>(DType::f32)}});
    const std::string scale = add("Mul", {x[1], scales}, fresh_(output + "_scale"));
    std::string bias = node.input(2);
    add("Mul", {floats, scale}, bias.empty() ? output : fresh_(output + "_product"));
    if (bias.empty()) return;
    const std::string product = added_.back().outputs[0];
    if (conv) {
      Shape shape(weight.shape().size(), 1);
      shape[1] = -1;
      const Tensor* b = graph_.constant(bias);
      if (b != nullptr) {
        shape[1] = b->count();
        bias = constant(bias + "_row", b->reshaped(shape));
      } else {
        const std::string target = constant(bias + "_shape", Tensor::of<int64_t>({static_cast<int64_t>(shape.size())}, shape));
        bias = add("Reshape", {bias, target}, fresh_(bias + "_row"));
      }
    }
    add("Add", {product, bias}, output);
    log_.push_back({"quantize_dynamic", node.label(), "quantized", ""});
  }

  Graph graph_;
  FreshNames fresh_;
  const Scheme& scheme_;
  Log& log_;
  std::vector<Node> added_;
  std::set<size_t> replaced_;
  std::map<std::string, std::array<std::string, 3>> quantized_;
};

}  // namespace

Graph quantize_dynamic(Graph graph, const Scheme& scheme, const std::set<std::string>& excluded, Log& log) {
  return Dynamic(std::move(graph), scheme, log).run(excluded);
}

}  // namespace pare
