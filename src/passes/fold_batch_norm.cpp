#include "passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "ir/edit.h"

namespace pare {
namespace {

struct Affine {
  std::vector<float> scale, shift;  ///< y = x * scale + shift for each channel
};

std::optional<Affine> inference_affine(const Graph& graph, const Node& bn) {
  std::vector<std::vector<float>> parts;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* t = graph.constant(bn.input(i));
    if (t == nullptr || t->type() != DType::f32) return std::nullopt;
    parts.push_back(to_floats(*t));
    if (parts.back().size() != parts.front().size()) return std::nullopt;
  }
  const double epsilon = bn.attribute<float>("epsilon", 1e-5F);
  Affine affine;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    const double scale = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    affine.scale.push_back(static_cast<float>(scale));
    affine.shift.push_back(static_cast<float>(parts[1][c] - parts[2][c] * scale));
  }
  return affine;
}

/// Why this BatchNormalization cannot be folded into `conv`; empty when it can.
std::string objection(const Graph& graph, const GraphIndex& index, const Node& bn, const Node& conv) {
  if (!conv.is("Conv") && !conv.is("ConvTranspose")) return "its producer is " + conv.label() + ", no convolution";
  if (!index.used_once(conv.outputs[0])) return "others read the convolution's output";
  const auto second = std::find_if(bn.outputs.begin() + 1, bn.outputs.end(), [](const auto& name) { return !name.empty(); });
  if (bn.attribute<int64_t>("training_mode", 0) != 0 || second != bn.outputs.end()) return "it is in training mode";
  const Tensor* weight = graph.constant(conv.input(1));
  if (weight == nullptr || weight->type() != DType::f32) return "the convolution's weight is no float constant";
  const Shape& shape = weight->shape();
  const int64_t group = std::max<int64_t>(conv.attribute<int64_t>("group", 1), 1);
  const bool transposed = conv.is("ConvTranspose");
  if (shape.size() < 3 || weight->count() == 0 || (transposed && shape[0] % group != 0))
    return "the convolution's weight is malformed";
  const int64_t channels = transposed ? shape[1] * group : shape[0];
  if (graph.constant(bn.inputs[1])->count() != channels) return "it has another number of channels than the convolution";
  if (conv.input(2).empty()) return "";
  const Tensor* bias = graph.constant(conv.input(2));
  if (bias == nullptr) return "the convolution's bias is no constant";
  return bias->type() == DType::f32 && bias->count() == channels ? "" : "the convolution's bias is malformed";
}

/// Multiplies the weights of each output channel. ConvTranspose stores [in, out / group, ...], with the groups along `in`.
Tensor scale_channels(Tensor weight, const std::vector<float>& scale, bool transposed, int64_t group) {
  const Shape shape = weight.shape();
  const auto in = static_cast<size_t>(shape[0]);
  const auto per_group = static_cast<size_t>(shape[1]);
  const size_t kernel = static_cast<size_t>(weight.count()) / (in * per_group);
  const auto values = weight.write<float>();
  for (size_t a = 0; a < in; ++a) {
    for (size_t b = 0; b < per_group; ++b) {
      const size_t channel = transposed ? a / (in / static_cast<size_t>(group)) * per_group + b : a;
      for (size_t k = 0; k < kernel; ++k) values[(a * per_group + b) * kernel + k] *= scale[channel];
    }
  }
  return weight;
}

}  // namespace

Graph fold_batch_norm(Graph graph, const PassContext& /*context*/, Log& log) {
  const GraphIndex index(graph);
  FreshNames fresh(graph);
  std::set<size_t> folded;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& bn = graph.nodes[i];
    if (!bn.is("BatchNormalization")) continue;
    const auto producer = index.producer(bn.inputs[0]);
    const auto affine = inference_affine(graph, bn);
    const std::string why = !producer ? "no convolution stands before it"
                            : !affine ? "its parameters are no float constants"
                                      : objection(graph, index, bn, graph.nodes[*producer]);
    if (!why.empty()) {
      log.push_back({"fold_batch_norm", bn.label(), "kept", why});
      continue;
    }
    Node& conv = graph.nodes[*producer];
    std::vector<float> bias = affine->shift;
    if (!conv.input(2).empty()) {
      const std::vector<float> own = to_floats(*graph.constant(conv.input(2)));
      for (size_t c = 0; c < bias.size(); ++c) bias[c] += own[c] * affine->scale[c];
    }
    const std::string weight_name = fresh(conv.inputs[1] + "_bn");  // new names, since others may share the old tensors
    const std::string bias_name = fresh(conv.inputs[1] + "_bn_bias");
    graph.initializers[weight_name] = scale_channels(*graph.constant(conv.inputs[1]), affine->scale, conv.is("ConvTranspose"),
                                                     conv.attribute<int64_t>("group", 1));
    graph.initializers[bias_name] = Tensor::of<float>({static_cast<int64_t>(bias.size())}, bias);
    conv.inputs.resize(3);
    conv.inputs[1] = weight_name;
    conv.inputs[2] = bias_name;
    conv.outputs[0] = bn.outputs[0];
    folded.insert(i);
    log.push_back({"fold_batch_norm", bn.label(), "folded", "into " + conv.label()});
  }
  remove_nodes(graph, folded);
  return graph;
}

}  // namespace pare
