#pragma once

#include "ir/graph.h"

namespace pare {

/// Fixes the shape of the graph's only input. Free dimensions just take the value; where the model was exported for another size,
/// constants that hold that size (Reshape targets, anchor grids and strides of detection heads) are made anew by the formula that
/// they follow. Errors: unsupported, naming the constant or node, where a constant follows no known formula; usage for a shape of
/// another rank or channel count.
Graph resize_input(Graph graph, const Shape& shape);

}  // namespace pare
