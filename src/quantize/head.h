#pragma once

#include <functional>

#include "base/log.h"
#include "data/samples.h"
#include "quantize/plan.h"
#include "quantize/region.h"

namespace pare {

using PlanMaker = std::function<Plan(const Region&)>;

/// Settles the decoding behind the last layers by the error of each output channel, without names and lists. Each group of
/// tensors there is quantized alone in the float network, on a few samples. A channel bears a mean error as large as half of what
/// the quantized layers before cause in it, or as twice what 8 bits over its own range would cause; where a group exceeds that in
/// some channel, its Concat (so that each input keeps its own scale), or else the node that makes it, goes back to float. Boxes
/// in pixels and scores in 0..1 under one scale are the common case. Logs each verdict with its numbers.
void settle_head(const Graph& graph, Region& region, const PlanMaker& make_plan, SampleSource& samples, int threads, Log& log);

/// The same without samples to measure by: what decodes behind the last layers stays float, since boxes in pixels and scores in
/// 0..1 under one scale would be lost without a word.
void keep_head_float(const Graph& graph, Region& region, Log& log);

}  // namespace pare
