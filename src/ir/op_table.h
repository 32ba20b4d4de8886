#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace pare {

/// How the values of an operator's output follow from those of its inputs. Quantization and ranges need no more than this.
enum class Flow {
  weighted,  ///< products with a weight, summed: Conv, Gemm, MatMul
  move,      ///< the output holds values of input 0 (and perhaps zeros): Reshape, MaxPool, Slice
  join,      ///< the output holds the values of all inputs: Concat
  curve,     ///< element by element, not decreasing, one input: Sigmoid; its range follows from that of the input
  clamp,     ///< cuts to an interval: Relu, Clip; a Q behind it does the same
  mix,       ///< anything else whose output has a range of its own: Add, Mul, AveragePool, Softmax
};

/// What pare knows of one operator of ai.onnx. An operator without a row stays float and is reported.
struct OpRow {
  std::string_view op;
  Flow flow;
  int weight_input = -1;
  int bias_input = -1;
  /// Kernel that ONNX Runtime's CPU provider runs in place of DQ -> op -> Q; "" = none: the operator runs in float.
  /// For `move` and `clamp` it is the operator's own name: integers pass through it, or the Q absorbs it.
  std::string_view ort_integer_kernel = {};
  /// First ONNX Runtime 1.x that has it; measured from 1.15 on by bench/runtimes.
  int ort_since = 15;
  /// For `curve`: the function.
  double (*curve)(double) = nullptr;
};

/// nullptr for an operator without a row or of another domain.
const OpRow* op_row(const Node& node);
std::span<const OpRow> op_rows();

/// Axis of the weight that counts output channels (Conv 0, ConvTranspose 1, Gemm by transB, MatMul the last).
int64_t weight_channel_axis(const Node& node, const Tensor& weight);

/// Multiply-adds of one run of a `weighted` node; 0 where shapes are unknown or the node is of another kind.
int64_t multiply_adds(const Graph& graph, const Node& node);

/// The interval to which a `clamp` node cuts: Relu [0, inf), Clip its bounds; nullopt where these are no constants.
struct Interval {
  double low, high;
};
std::optional<Interval> clamp_bounds(const Graph& graph, const Node& node);

}  // namespace pare
