#pragma once

#include <string>

#include "ir/graph.h"
#include "ir/op_table.h"

namespace pare {

/// The interval of a tensor's values that matter to whoever reads it: outside, every reader's result is flat. SiLU (x *
/// Sigmoid(x)) below -6 gives less than .015 of the 6 it spans, Sigmoid is within 3.4e-4 of its ends outside +-8, HardSwish and
/// HardSigmoid are exact. Looks through operators that only move values. Unbounded where a reader needs the whole range. The cut
/// at -6 was measured on YOLOv8n (agreement F1 with float, percentile ranges): none .901, -8 .916, -6 .925, -4 .916.
Interval useful_interval(const Graph& graph, const GraphIndex& index, const std::string& tensor);

}  // namespace pare
