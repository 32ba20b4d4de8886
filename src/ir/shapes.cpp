#include "ir/shapes.h"

#include <onnx/shape_inference/implementation.h>

#include "ir/one_line.h"
#include "ir/proto.h"

namespace pare {

void infer_shapes(Graph& graph) {
  constexpr int64_t kLargestShapeTensor = 1024;
  graph.values.clear();
  proto::ModelProto model = to_proto(graph, {.max_float_elements = kLargestShapeTensor});
  try {
    const proto::ShapeInferenceOptions options{/*check_type=*/true, /*strict_mode=*/0, /*data_prop=*/true};
    proto::shape_inference::InferShapes(model, proto::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::input, "shape inference finds a contradiction: " + one_line(e.what()));
  }
  model.mutable_graph()->clear_initializer();
  model.mutable_graph()->clear_node();
  Graph inferred = from_proto(model);
  graph.values = std::move(inferred.values);
  for (Value& output : graph.outputs)
    for (const Value& v : inferred.outputs)
      if (v.name == output.name) output = v;
}

}  // namespace pare
