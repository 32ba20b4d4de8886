#pragma once

#include "passes/pipeline.h"

namespace pare {

/// Pad with zeros in front of a Conv becomes the Conv's own padding.
Graph fold_pad(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
