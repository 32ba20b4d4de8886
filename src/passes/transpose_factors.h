#pragma once

#include "passes/pipeline.h"

namespace pare {

/// MatMul(constant, x) -> Transpose, MatMul(., constant transposed), Transpose; Gemm with transA -> Transpose, Gemm. The
/// runtime's integer kernels take a constant as second factor only and know no transA; a Transpose moves integers.
Graph transpose_factors(Graph graph, const PassContext& context, Log& log);

}  // namespace pare
