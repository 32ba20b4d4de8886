#pragma once

#include <set>
#include <string>

#include "calib/statistics.h"
#include "quantize/plan.h"
#include "quantize/region.h"

namespace pare {

/// The tensors whose values must be measured: those of `integer_tensors` whose range does not follow from another tensor's, and
/// in the tail (`tail_nodes`) what would have to be measured too once nodes there went back to float.
std::set<std::string> tensors_to_measure(const Graph& graph, const Region& region);

/// What integer layers multiply with constant weights, and the axis along which they add up: 1 for Conv, the last for Gemm and
/// MatMul.
std::map<std::string, size_t> channels_to_measure(const Graph& graph, const Region& region);

/// Ranges, groups, scales and zero points for a region. Rules:
///   a tensor that only moves values shares the scale of its source;
///   a Concat shares one scale with an input if every tensor of that input's group is read by nobody else or has a range within
///   `kShareBits` bits of the whole, else the runtime requantizes that input at the Concat;
///   the range of Sigmoid's output follows from that of its input.
/// Errors: input, where a tensor has no statistics or never had a value.
Plan make_plan(const Graph& graph, const Region& region, const std::map<std::string, TensorStatistics>& statistics,
               const Scheme& scheme);

}  // namespace pare
