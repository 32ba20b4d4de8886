#pragma once

#include <cstdint>
#include <string>

#include "quantize/scheme.h"
#include "runtime/session.h"
#include "tests/models/builder.h"

namespace pare {

/// Layers of every kind that has an integer operator, input "x" 1x3x16x16, output "y" 1x10 (and "side", 1x12x8x8).
Graph all_kinds();
/// Q/DQ form, ranges measured on random inputs in [0, 1).
Graph quantized_form(const Graph& graph, const Scheme& scheme = {});

/// Signal over noise of an output, in dB, over random inputs in [0, 1).
double sqnr_db(const Graph& graph, const Graph& other, size_t output = 0);
int64_t count(const Graph& graph, const std::string& op);

}  // namespace pare
