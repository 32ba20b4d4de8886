#pragma once

#include "base/log.h"
#include "ir/graph.h"

namespace pare {

/// The Q/DQ (or QOperator) graph with integers at its ends: an input that only a QuantizeLinear of this type reads takes the
/// integers themselves, an output that a DequantizeLinear makes gives them. Names stay; scales and zero points go into the
/// metadata
/// ("pare_io", JSON: name -> scale, zero_point). What is float inside stays float at the end and is logged.
/// Errors: usage, where no end is of that type.
Graph integer_io(Graph graph, DType type, Log& log);

}  // namespace pare
