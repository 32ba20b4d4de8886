#pragma once

#include "ir/graph.h"

namespace pare {

/// Fixes the shape of the graph's only input (a free batch stays free). Free dimensions just take the value. Where the model was
/// exported for another size, the constants that hold that size are made anew for this one:
///   Reshape targets, so that they fit the number of elements that arrive;
///   float tables along the positions of a detection head (anchor points, strides): each must follow, per level of stride 2^k, an
///   affine function of column and row with steps of 0, 1 or the stride, which is then evaluated on the new grid.
/// Errors: usage for a shape of another rank or channel count; unsupported, naming the constant or node, for anything else that
/// depends on the old size.
Graph resize_input(Graph graph, const Shape& shape);

}  // namespace pare
