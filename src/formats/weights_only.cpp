#include "formats/weights_only.h"

#include <map>

#include "formats/layers.h"
#include "ir/edit.h"
#include "ir/op_table.h"
#include "quantize/weight_view.h"

namespace pare {

Graph quantize_weights_only(Graph graph, const Scheme& scheme, const std::set<std::string>& excluded, Log& log) {
  FreshNames fresh(graph);
  std::map<std::pair<std::string, int64_t>, std::string> made;  // weight and axis -> output of its DequantizeLinear
  std::vector<Node> added;
  for (const size_t i : layers_with_weights(graph, excluded, log)) {
    Node& node = graph.nodes[i];
    const std::string weight_name = node.inputs[1];
    const Tensor weight = *graph.constant(weight_name);
    const int64_t axis = weight_channel_axis(node, weight);
    std::string& restored = made[{weight_name, axis}];
    if (restored.empty()) {
      const Int8Weight w = int8_weight(weight, axis, scheme.per_channel && weight.shape().size() > 1, scheme.weight_limit());
      const std::string numbers = fresh(weight_name + "_quantized");
      const std::string scales = fresh(weight_name + "_scale");
      restored = fresh(weight_name + "_dequantized");
      graph.initializers[numbers] = w.numbers;
      graph.initializers[scales] = w.scales;
      Node dequantize{"DequantizeLinear", fresh(restored + "_node"), "", {numbers, scales}, {restored}, {}, ""};
      if (w.axis) dequantize.attributes["axis"] = *w.axis;
      added.push_back(std::move(dequantize));
    }
    node.inputs[1] = restored;
    log.push_back({"quantize_weights_only", node.label(), "quantized", ""});
  }
  for (Node& node : added) graph.nodes.push_back(std::move(node));
  sort_nodes(graph);
  remove_unused(graph);
  return graph;
}

}  // namespace pare
