#include "ir/convert_opset.h"

#include <onnx/version_converter/convert.h>

#include "ir/proto.h"
#include "ir/save.h"
#include "ir/shapes.h"

namespace pare {

Graph convert_opset(Graph graph, int64_t opset) {
  if (graph.opset() == opset) return graph;
  Graph converted;
  try {
    // The converter keys tensors by name and looks for initializers among the inputs.
    const proto::ModelProto model = to_proto(graph, {.initializers_as_inputs = true});
    converted = from_proto(proto::version_conversion::ConvertVersion(model, static_cast<int>(opset)));
  } catch (const std::exception& e) {
    throw Error(ErrorKind::unsupported, "cannot be converted from opset " + std::to_string(graph.opset()) + " to " +
                                            std::to_string(opset) + ": " + e.what())
        .fix("export the model with opset " + std::to_string(opset) + " or later");
  }
  graph.nodes = std::move(converted.nodes);
  graph.initializers = std::move(converted.initializers);
  graph.opsets[""] = opset;
  graph.ir_version = ir_version_for(opset);
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
