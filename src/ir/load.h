#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace pare {

/// Reads an ONNX file, external data included, checks it with ONNX's checker and infers shapes.
/// Errors (naming file, tensor or node): input for no ONNX file, a truncated one, one that the checker refuses, missing or short
/// external data or data outside the model's folder; unsupported for an operator domain or opset that is not known here.
Graph load_model(const std::string& path);

}  // namespace pare
