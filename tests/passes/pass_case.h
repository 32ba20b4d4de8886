#pragma once

#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "tests/models/builder.h"

namespace pare {

/// A graph, what the pass makes of it, and the reason in the log where it declines.
struct PassCase {
  std::string name;
  Graph given;
  std::string ops;       ///< operators afterwards, in order
  std::string why = "";  ///< part of a log row's reason; "" = the case fires or has nothing to say
  float tolerance = 0;   ///< of the outputs before and after
};

PassContext with_runtime();

/// Runs `pass` alone through the pipeline; checks structure, log and outputs (random inputs, the runtime's optimizations off).
void expect(const PassCase& c, const Pass& pass);

/// Outputs for random inputs whose seed is their position; symbols become 2.
std::vector<Tensor> outputs_of(const Graph& graph);

}  // namespace pare
