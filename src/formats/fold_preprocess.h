#pragma once

#include "data/preprocess.h"
#include "ir/graph.h"

namespace pare {

/// The graph with its image input as the pixels themselves: uint8, N x H x W x 3, R G B. Layout, channel order, mean and std move
/// inside; where the first QuantizeLinear would give the pixels back (scale 1 / std, zero point mean), it goes, too. Fitting the
/// image to H x W stays outside.
Graph fold_preprocess(Graph graph, const Preprocess& preprocess);

}  // namespace pare
