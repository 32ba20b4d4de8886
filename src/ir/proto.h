#pragma once

// Internal to ir/: the only header that shows ONNX's protobuf classes.

#include <onnx/onnx_pb.h>

#include "ir/graph.h"

namespace pare {

namespace proto = ONNX_NAMESPACE;

/// Errors: input, naming the tensor or attribute that cannot be read.
Graph from_proto(const proto::ModelProto& model);

struct ToProtoOptions {
  /// Leave out the bytes of float initializers larger than this many elements and list those as graph inputs (shape inference
  /// needs types and shapes only).
  int64_t max_float_elements = -1;
  /// List all initializers as graph inputs too, as the version converter wants it.
  bool initializers_as_inputs = false;
};
proto::ModelProto to_proto(const Graph& graph, const ToProtoOptions& options = {});

proto::TensorProto to_proto(const std::string& name, const Tensor& tensor);

}  // namespace pare
