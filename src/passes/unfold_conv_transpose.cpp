#include "passes/unfold_conv_transpose.h"

#include <algorithm>

#include "ir/edit.h"

namespace pare {
namespace {

using Ints = std::vector<int64_t>;

bool all_are(const Ints& numbers, int64_t wanted) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n == wanted; });
}

std::string objection(const Graph& graph, const Node& node) {
  const Tensor* weight = graph.constant(node.input(1));
  if (weight == nullptr || weight->type() != DType::f32) return "its weight is no float constant";
  const Tensor* bias = graph.constant(node.input(2));
  if (!node.input(2).empty() && (bias == nullptr || bias->type() != DType::f32)) return "its bias is no float constant";
  const Shape& shape = weight->shape();
  if (shape.size() != 4 || shape[2] != shape[3]) return "its kernel is no square";
  if (node.attribute<int64_t>("group", 1) != 1) return "it has groups";
  if (node.attribute("strides", Ints{1, 1}) != Ints{shape[2], shape[3]}) return "its stride is not its kernel";
  if (shape[2] < 2) return "its stride is 1";
  const auto padding = node.attribute<std::string>("auto_pad", "NOTSET");
  if (!all_are(node.attribute("pads", Ints{}), 0) || !all_are(node.attribute("output_padding", Ints{}), 0) ||
      (padding != "NOTSET" && padding != "VALID") || node.attributes.contains("output_shape"))
    return "it pads or cuts";
  return all_are(node.attribute("dilations", Ints{}), 1) ? "" : "it is dilated";
}

/// Rows of a Conv 1x1: channel, row and column of the block, from [inputs, channels, rows, columns].
Tensor rows_of(const Tensor& weight) {
  const auto inputs = static_cast<size_t>(weight.shape()[0]);
  const int64_t rows = weight.count() / std::max<int64_t>(weight.shape()[0], 1);
  Tensor result(DType::f32, {rows, weight.shape()[0], 1, 1});
  const auto from = weight.as<float>();
  const auto to = result.write<float>();
  for (size_t i = 0; i < inputs; ++i)
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) to[r * inputs + i] = from[i * static_cast<size_t>(rows) + r];
  return result;
}

/// Each number as often as a block has pixels.
Tensor repeated(const Tensor& bias, int64_t times) {
  std::vector<float> values;
  for (const float v : bias.as<float>()) values.insert(values.end(), static_cast<size_t>(times), v);
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

}  // namespace

Graph unfold_conv_transpose(Graph graph, const PassContext& /*context*/, Log& log) {
  FreshNames fresh(graph);
  const size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node node = graph.nodes[i];
    if (!node.is("ConvTranspose")) continue;
    if (const std::string why = objection(graph, node); !why.empty()) {
      log.push_back({"unfold_conv_transpose", node.label(), "kept", why});
      continue;
    }
    const Tensor& weight = *graph.constant(node.inputs[1]);
    const int64_t block = weight.shape()[2];
    const std::string base = node.name.empty() ? node.outputs[0] : node.name;
    const std::string rows = fresh(node.inputs[1] + "_rows"), pixels = fresh(base + "_pixels");
    Node conv{"Conv", node.name, "", {node.inputs[0], rows}, {pixels}, {}, node.doc};
    if (const Tensor* bias = graph.constant(node.input(2))) {
      conv.inputs.push_back(fresh(node.inputs[2] + "_rows"));
      graph.initializers[conv.inputs[2]] = repeated(*bias, block * block);
    }
    graph.initializers[rows] = rows_of(weight);
    graph.nodes[i] = std::move(conv);
    graph.nodes.push_back({"DepthToSpace",
                           fresh(base + "_blocks"),
                           "",
                           {pixels},
                           node.outputs,
                           {{"blocksize", block}, {"mode", std::string("CRD")}},
                           ""});
    log.push_back({"unfold_conv_transpose", node.label(), "rewritten", "Conv and DepthToSpace"});
  }
  return graph;
}

}  // namespace pare
