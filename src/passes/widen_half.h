#pragma once

#include "passes/pipeline.h"

namespace pare {

/// Half precision (float16, bfloat16) -> float32 throughout, subgraphs included: weights, constants, Casts. Inputs and outputs of
/// the graph keep their type, a Cast stands behind or before them. The runtime's CPU has integer kernels for float32 only, and
/// computes in float32 anyway.
Graph widen_half(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
