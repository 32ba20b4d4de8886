#include "ir/convert_opset.h"

#include <onnx/defs/schema.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <array>

#include "ir/one_line.h"
#include "ir/proto.h"
#include "ir/save.h"
#include "ir/shapes.h"

namespace pare {
namespace {

/// The node reads the same at both opsets: a new number of the operator is enough.
bool same_meaning(const Node& node, int from, int to) {
  constexpr std::array<std::string_view, 4> kRedefined{"Softmax", "LogSoftmax", "Hardmax", "Resize"};
  if (!node.domain.empty()) return true;
  const auto* before = proto::OpSchemaRegistry::Schema(node.op_type, from, "");
  const auto* after = proto::OpSchemaRegistry::Schema(node.op_type, to, "");
  if (before == nullptr || after == nullptr || after->Deprecated()) return false;
  if (before->SinceVersion() == after->SinceVersion()) return true;
  if (std::find(kRedefined.begin(), kRedefined.end(), node.op_type) != kRedefined.end()) return false;
  const auto given = static_cast<int>(node.inputs.size());
  return given >= after->min_input() && given <= after->max_input() &&
         std::all_of(node.attributes.begin(), node.attributes.end(),
                     [&](const auto& entry) { return after->attributes().contains(entry.first); });
}

/// The version converter leaves subgraphs as they are.
void check_subgraphs(const Graph& graph, const Node& owner, int from, int to) {
  for (const Node& node : graph.nodes) {
    if (!same_meaning(node, from, to))
      throw Error(ErrorKind::unsupported,
                  "the meaning of " + node.op_type + " changes, and it stands in a subgraph of " + owner.label());
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) check_subgraphs(**inner, owner, from, to);
  }
}

/// ONNX has no adapter for Hardmax, which flattens below opset 13.
void keep_hardmax(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!node.is("Hardmax")) continue;
    const auto input = graph.value(node.input(0));
    const int64_t rank = input && input->dims ? static_cast<int64_t>(input->dims->size()) : 0;
    const auto axis = node.attribute<int64_t>("axis", 1);
    if (axis != -1 && axis != rank - 1) throw Error(ErrorKind::unsupported, "the meaning of Hardmax changes").at(node.label());
    node.attributes["axis"] = int64_t{-1};
  }
}

/// Below opset 9 Scan takes a batch axis and lengths; ONNX's adapter hands the node on as it is.
void refuse_batched_scan(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.is("Scan")) throw Error(ErrorKind::unsupported, "the meaning of Scan changes").at(node.label());
}

/// Below opset 11 pixels stand at whole coordinates; ONNX's adapter leaves the new default. The runtime rounds up where it
/// shrinks.
void keep_resize(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!node.is("Resize")) continue;
    const Tensor* scales = graph.constant(node.input(2));
    bool shrinks = scales != nullptr;
    if (scales != nullptr)
      for (const float s : to_floats(*scales)) shrinks = shrinks && s <= 1;
    node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
    node.attributes["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
  }
}

}  // namespace

Graph convert_opset(Graph graph, int64_t opset) {
  if (graph.opset() == opset) return graph;
  Graph converted;
  try {
    for (const Node& node : graph.nodes)
      for (const auto& [key, attribute] : node.attributes)
        if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute))
          check_subgraphs(**inner, node, static_cast<int>(graph.opset()), static_cast<int>(opset));
    if (graph.opset() < 13 && opset >= 13) keep_hardmax(graph);
    if (graph.opset() < 9 && opset >= 9) refuse_batched_scan(graph);
    // The converter keys tensors by name and looks for initializers among the inputs.
    const proto::ModelProto model = to_proto(graph, {.initializers_as_inputs = true});
    converted = from_proto(proto::version_conversion::ConvertVersion(model, static_cast<int>(opset)));
  } catch (const std::exception& e) {
    throw Error(ErrorKind::unsupported, "cannot be converted from opset " + std::to_string(graph.opset()) + " to " +
                                            std::to_string(opset) + ": " + one_line(e.what()))
        .fix("export the model with opset " + std::to_string(opset) + " or later");
  }
  graph.nodes = std::move(converted.nodes);
  graph.initializers = std::move(converted.initializers);
  if (graph.opset() < 11 && opset >= 11) keep_resize(graph);
  graph.opsets[""] = opset;
  graph.ir_version = ir_version_for(opset);
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
