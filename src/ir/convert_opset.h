#pragma once

#include "ir/graph.h"

namespace pare {

/// The same network at another opset of ai.onnx, by ONNX's version converter: operators whose meaning changed are rewritten
/// (opset-11 Softmax flattens, opset-13 Softmax does not), not just renumbered. Keeps metadata, inputs and outputs. Errors:
/// unsupported, where the converter has no way for a node, or one in a subgraph would change its meaning.
Graph convert_opset(Graph graph, int64_t opset);

}  // namespace pare
