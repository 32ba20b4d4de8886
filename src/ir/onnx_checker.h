#pragma once

// Internal to ir/.

#include "ir/proto.h"

namespace pare {

/// ONNX's own checker, but for one thing: inputs and outputs of the graph may lack a shape, as ONNX Runtime has it. `model` is
/// the same afterwards. Errors: the checker's exceptions.
void check_with_onnx(proto::ModelProto& model);

}  // namespace pare
