#pragma once

#include <string>

#include "ir/graph.h"

namespace pare {

/// 16 hexadecimal digits that change with any node, weight or shape of the graph (64-bit FNV-1a of its ONNX form without
/// metadata). Tells models apart; it is no cryptographic hash.
std::string digest(const Graph& graph);

}  // namespace pare
