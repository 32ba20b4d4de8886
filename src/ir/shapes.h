#pragma once

#include "ir/graph.h"

namespace pare {

/// Fills `values` with the type and shape of every inner tensor that ONNX's shape inference can tell (with data propagation
/// through shape arithmetic), replacing what stood there. Errors: input, where the graph contradicts itself.
void infer_shapes(Graph& graph);

}  // namespace pare
