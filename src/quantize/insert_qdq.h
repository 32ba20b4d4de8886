#pragma once

#include "base/log.h"
#include "ir/graph.h"
#include "quantize/plan.h"

namespace pare {

/// Writes the plan into the graph: QuantizeLinear and DequantizeLinear around each quantized tensor, int8 weights behind a
/// DequantizeLinear (per output channel where the plan's scheme says so), int32 biases at input scale * weight scale. Where a
/// bias would overflow int32 the channel's weight scale is raised, and the log says so. Inputs and outputs keep their names and
/// types. Errors: input, where the plan does not fit the graph (an integer node whose tensors are not quantized, unknown names)
/// or a weight holds NaN.
Graph insert_qdq(Graph graph, const Plan& plan, Log& log);

}  // namespace pare
