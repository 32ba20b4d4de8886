#pragma once

#include "passes/pipeline.h"

namespace pare {

/// Nodes that depend on constants only (and Shape of a known shape, or of its known dimensions where a Gather
/// or Slice picks those) become initializers. Q/DQ are never folded, nor what
/// would grow the file by more than 1 MB.
Graph fold_constants(Graph graph, const PassContext& context, Log& log);

/// Only the Constant nodes become initializers.
Graph constant_nodes_to_initializers(Graph graph);

}  // namespace pare
