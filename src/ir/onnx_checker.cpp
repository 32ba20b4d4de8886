#include "ir/onnx_checker.h"

#include <onnx/checker.h>

namespace pare {
namespace {

/// The tensor type where it states elements but no shape.
proto::TypeProto_Tensor* without_shape(proto::ValueInfoProto& port) {
  if (!port.has_type() || !port.type().has_tensor_type()) return nullptr;
  auto* tensor = port.mutable_type()->mutable_tensor_type();
  return tensor->has_shape() ? nullptr : tensor;
}

}  // namespace

void check_with_onnx(proto::ModelProto& model) {
  std::vector<proto::TypeProto_Tensor*> filled;  // the checker wants the field and does not look into it
  for (auto* ports : {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()})
    for (auto& port : *ports)
      if (auto* tensor = without_shape(port)) filled.push_back(tensor), tensor->mutable_shape();
  const auto restore = [&filled] {
    for (auto* tensor : filled) tensor->clear_shape();
  };
  try {
    proto::checker::check_model(model);
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

}  // namespace pare
