#pragma once

#include <set>
#include <string>

#include "base/log.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace pare {

/// Ranges measured anew in every run: DynamicQuantizeLinear before each Conv, Gemm and MatMul with constant weights, which become
/// ConvInteger and MatMulInteger; all else stays float. Needs no calibration. Of the scheme only the weights' part counts.
Graph quantize_dynamic(Graph graph, const Scheme& scheme, const std::set<std::string>& excluded, Log& log);

}  // namespace pare
