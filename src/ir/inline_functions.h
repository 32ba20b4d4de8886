#pragma once

#include "ir/graph.h"

namespace pare {

/// The functions that the model brings along (`functions`), put in place of the nodes that call them, subgraphs included;
/// functions of another opset are converted. What ONNX cannot put in place stays in `functions`. Errors: unsupported, with ONNX's
/// words.
Graph with_functions_inlined(Graph graph);

}  // namespace pare
