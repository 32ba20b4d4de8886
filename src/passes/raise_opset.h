#pragma once

#include "passes/pipeline.h"

namespace pare {

/// A model below opset 13 (no per-channel axis there) is converted to 13; others keep theirs, and the IR version is the one
/// that their opset came with.
Graph raise_opset(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
