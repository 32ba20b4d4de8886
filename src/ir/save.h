#pragma once

#include <string>

#include "ir/graph.h"

namespace pare {

/// The model as the bytes of an ONNX file. Errors: unsupported above protobuf's 2 GB.
std::string serialize(const Graph& graph);

/// Checks the graph with ONNX's checker and writes it whole or not at all. Errors: internal where the checker refuses it, system.
void save_model(const Graph& graph, const std::string& path);

/// The lowest IR version that ONNX released the opset with (13 -> 7, 17 -> 8, 19 -> 9, 21 -> 10; onnx/docs/Versioning.md).
int64_t ir_version_for(int64_t opset);

}  // namespace pare
