#pragma once

#include <set>
#include <string>

#include "base/log.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace pare {

/// The float network with int8 weights behind DequantizeLinear (Conv, ConvTranspose, Gemm, MatMul): a quarter of the bytes, the
/// arithmetic stays float. Of the scheme only the weights' part counts. `excluded`: nodes by name or output.
Graph quantize_weights_only(Graph graph, const Scheme& scheme, const std::set<std::string>& excluded, Log& log);

}  // namespace pare
