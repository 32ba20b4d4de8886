#pragma once

#include "passes/pipeline.h"

namespace pare {

/// ConvTranspose whose stride is its kernel -> Conv 1x1 and DepthToSpace: each input pixel makes a block of its own, and both
/// have integer kernels in the runtime.
Graph unfold_conv_transpose(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
