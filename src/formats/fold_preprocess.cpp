#include "formats/fold_preprocess.h"

#include <algorithm>
#include <cmath>

#include "ir/edit.h"

namespace pare {
namespace {

/// Whether Q of (pixel - mean) / std is the pixel again, to a quarter of a step.
bool gives_pixels_back(const Graph& graph, const Node& node, const Preprocess& preprocess) {
  const Tensor* scale = graph.constant(node.input(1));
  const Tensor* zero_point = graph.constant(node.input(2));
  if (!node.is("QuantizeLinear") || scale == nullptr || zero_point == nullptr || scale->count() != 1) return false;
  if (zero_point->type() != DType::u8) return false;
  for (size_t c = 0; c < 3; ++c)
    for (const float pixel : {0.F, 255.F}) {
      const float steps = (pixel - preprocess.mean[c]) / (preprocess.std[c] * scale->as<float>()[0]);
      if (!(std::abs(steps + static_cast<float>(to_ints(*zero_point)[0]) - pixel) < .25F)) return false;
    }
  return true;
}

}  // namespace

Graph fold_preprocess(Graph graph, const Preprocess& preprocess) {
  FreshNames fresh(graph);
  Value& input = graph.inputs.front();
  const std::string pixels = input.name;
  const bool channels_first = preprocess.layout == Preprocess::Layout::nchw;
  const std::string old = fresh(pixels + "_normalized");
  const std::vector<size_t> readers = GraphIndex(graph).consumers(pixels);
  replace_uses(graph, pixels, old);

  std::vector<Node> added;
  std::string at = pixels;
  const auto add = [&](const std::string& op, std::vector<std::string> more, std::map<std::string, Attribute> attributes) {
    const std::string next = fresh(pixels + "_" + op);
    std::vector<std::string> inputs{at};
    inputs.insert(inputs.end(), more.begin(), more.end());
    added.push_back({op, fresh(next + "_node"), "", std::move(inputs), {next}, std::move(attributes), ""});
    at = next;
  };
  if (channels_first) {
    auto& dims = *input.dims;
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    add("Transpose", {}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  }
  input.type = DType::u8;
  std::array<float, 3> mean = preprocess.mean, scale{};
  for (size_t c = 0; c < 3; ++c) scale[c] = 1 / preprocess.std[c];
  if (preprocess.order == Preprocess::Order::bgr) {
    const std::string order = fresh(pixels + "_order");
    graph.initializers[order] = Tensor::of<int64_t>({3}, std::vector<int64_t>{2, 1, 0});
    add("Gather", {order}, {{"axis", int64_t{channels_first ? 1 : 3}}});
    std::swap(mean[0], mean[2]);
    std::swap(scale[0], scale[2]);
  }
  std::set<size_t> gone;
  const bool straight = !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](size_t i) {
    return gives_pixels_back(graph, graph.nodes[i], preprocess);
  });
  if (straight) {
    for (const size_t i : readers) {
      replace_uses(graph, graph.nodes[i].outputs[0], at);
      gone.insert(i);
    }
  } else {
    const Shape shape = channels_first ? Shape{1, 3, 1, 1} : Shape{3};
    const auto constant = [&](const std::string& name, const std::array<float, 3>& values) {
      const std::string own = fresh(pixels + name);
      graph.initializers[own] = Tensor::of<float>(shape, std::vector<float>(values.begin(), values.end()));
      return own;
    };
    add("Cast", {}, {{"to", static_cast<int64_t>(DType::f32)}});
    add("Sub", {constant("_mean", mean)}, {});
    add("Mul", {constant("_scale", scale)}, {});
    added.back().outputs[0] = old;
  }
  remove_nodes(graph, gone);
  for (Node& node : added) graph.nodes.push_back(std::move(node));
  graph.values.clear();
  sort_nodes(graph);
  remove_unused(graph);
  return graph;
}

}  // namespace pare
