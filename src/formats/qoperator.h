#pragma once

#include "base/log.h"
#include "ir/graph.h"

namespace pare {

/// A Q/DQ graph with each DequantizeLinear -> operator -> QuantizeLinear as the one integer operator that ONNX Runtime has for
/// it: QLinearConv and QLinearMatMul of ONNX, QGemm, QLinearAdd and others of com.microsoft; what only moves numbers takes the
/// integers themselves. A Relu or Clip that its Q absorbs goes. What has no such form keeps its Q and DQ. Inputs and outputs stay
/// float.
Graph to_qoperator(Graph graph, Log& log);

}  // namespace pare
