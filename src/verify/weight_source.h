#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare {

/// A graph and those around it: what a name means in a subgraph.
class Scope {
 public:
  explicit Scope(const Graph& graph, const Scope* outer = nullptr);

  /// An initializer or the tensor of a Constant node; nullptr for anything else.
  [[nodiscard]] const Tensor* constant(const std::string& tensor) const;
  /// Node that makes the tensor, and the scope that it stands in; {nullptr, nullptr} where none does.
  [[nodiscard]] std::pair<const Node*, const Scope*> producer(const std::string& tensor) const;
  [[nodiscard]] const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  const Scope* outer_;
  std::map<std::string, const Node*> producers_;
};

/// Inputs of a convolution or matrix product; -1 for one that the operator does not have.
struct WeightedOp {
  std::string_view op;
  int weight, bias = -1, scale = -1, zero_point = -1;  ///< scale and zero point of the weight
};

/// Row of an operator of ai.onnx or com.microsoft; nullptr for another.
const WeightedOp* weighted_op(const Node& node);

/// Q and DQ of any domain, DynamicQuantizeLinear among the Qs.
bool quantizes(const Node& node);
bool dequantizes(const Node& node);

/// Where a tensor comes from, followed back through Q, DQ and what only moves or casts values.
struct WeightSource {
  const Tensor* tensor = nullptr;  ///< nullptr where a node computes it from more than that
  std::string name;
  bool reshaped = false;
  bool quantized = false;             ///< a Q stands behind it
  std::optional<int64_t> axis;        ///< the axis asked for, as the stored tensor counts it; nullopt behind a Reshape
  const Node* dequantizer = nullptr;  ///< the DQ next to it
  const Scope* dequantizer_scope = nullptr;
  std::optional<int64_t> dequantizer_axis;  ///< of its scales, as the stored tensor counts
};
WeightSource trace(const Scope& scope, std::string tensor, std::optional<int64_t> axis = std::nullopt);

/// The weight of a weighted node and its source, asked for the axis of the output channels. MatMul's weight is its constant
/// operand, the second where both are.
struct WeightInput {
  std::string name;
  WeightSource source;
};
WeightInput weight_input(const Scope& scope, const Node& node);

/// The stored values as float, dequantized by DQ or the node's own scale; nullopt where they are not all in the file.
std::optional<std::vector<float>> weight_values(const Scope& scope, const Node& node, const WeightSource& source);

}  // namespace pare
