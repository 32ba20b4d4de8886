#include "quantize/head.h"

namespace pare {

void settle_head(const Graph& /*graph*/, Region& /*region*/, const PlanMaker& /*make_plan*/, SampleSource& /*samples*/, int /*threads*/, Log& /*log*/) {}

}  // namespace pare
