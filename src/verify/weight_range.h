#pragma once

#include <cstddef>
#include <span>

#include "pare/inspect.h"

namespace pare {

/// Figures of a weight that is cut into outer x channels x inner around its channel axis.
WeightRange weight_range(std::span<const float> weights, size_t outer, size_t channels, size_t inner);

}  // namespace pare
