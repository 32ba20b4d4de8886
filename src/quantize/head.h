#pragma once

#include <functional>

#include "base/log.h"
#include "data/samples.h"
#include "quantize/plan.h"
#include "quantize/region.h"

namespace pare {

using PlanMaker = std::function<Plan(const Region&)>;

/// Decides the decoding behind the last layers by the error of each output channel, without names and lists. Each tensor there that
/// would be quantized is quantized alone in the float network; where the mean error of some channel of some output exceeds `kShare` of
/// what all the quantized layers before the tail do to that channel, the nodes that make the tensor go back to float.
void settle_head(const Graph& graph, Region& region, const PlanMaker& make_plan, SampleSource& samples, int threads, Log& log);

}  // namespace pare
