#pragma once

#include "passes/pipeline.h"

namespace pare {

/// A node that calls a function of the model -> the function's nodes, which the other passes and the quantizer then see.
Graph inline_functions(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
