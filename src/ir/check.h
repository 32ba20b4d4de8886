#pragma once

#include "ir/graph.h"

namespace pare {

/// Structure that every pass must keep: each tensor has one maker, is made before it is read, and every output exists.
/// Errors: internal, naming node and tensor.
void check_structure(const Graph& graph);

}  // namespace pare
