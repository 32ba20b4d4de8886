#pragma once

#include "passes/pipeline.h"

namespace pare {

/// Identity, Dropout at inference and Cast to the type that a tensor has already vanish.
Graph remove_identity(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
