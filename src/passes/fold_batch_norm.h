#pragma once

#include "passes/pipeline.h"

namespace pare {

/// BatchNormalization behind a Conv or ConvTranspose of constant weights becomes part of these weights and the bias.
Graph fold_batch_norm(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
