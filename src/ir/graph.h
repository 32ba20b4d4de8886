#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace pare {

struct Graph;

/// An attribute that pare only carries along: its serialized AttributeProto.
struct OpaqueAttribute {
  std::string bytes;
  friend bool operator==(const OpaqueAttribute&, const OpaqueAttribute&) = default;
};

using Attribute = std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<const Graph>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, OpaqueAttribute>;

/// One operator. An empty input or output name is an absent optional one.
struct Node {
  std::string op_type;
  std::string name;
  std::string domain;  ///< "" is ai.onnx
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
  std::string doc;
  std::string overload = {};  ///< of a local function
  std::vector<std::pair<std::string, std::string>> metadata = {};

  /// Attribute of the given type, or `fallback` where it is absent or of another type.
  template <typename T>
  [[nodiscard]] T attribute(const std::string& key, T fallback) const {
    const auto it = attributes.find(key);
    const T* value = it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
    return value != nullptr ? *value : std::move(fallback);
  }
  [[nodiscard]] bool is(std::string_view type) const { return op_type == type && domain.empty(); }
  /// Input `i`, or "" where the node has fewer.
  [[nodiscard]] std::string input(size_t i) const { return i < inputs.size() ? inputs[i] : std::string(); }
  /// For messages: "node '/model.0/Conv' (Conv)".
  [[nodiscard]] std::string label() const;
};

/// One dimension: a number, a symbol, or unknown (neither).
struct Dim {
  std::optional<int64_t> size;
  std::string symbol;
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// Name, element type and shape of a tensor; no shape means unknown rank.
struct Value {
  std::string name;
  DType type = DType::undefined;
  std::optional<std::vector<Dim>> dims;
  std::string opaque;  ///< serialized TypeProto where the value is not a tensor

  /// The shape where every dimension is a number.
  [[nodiscard]] std::optional<Shape> shape() const;
  /// Elements of one sample: dimensions that are no numbers (a free batch) count as 1. 0 for an unknown rank.
  [[nodiscard]] int64_t elements() const;
};

/// An ONNX model or subgraph as plain values. Nodes stand in topological order. Copies are cheap: tensors share their bytes.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::map<std::string, Tensor> initializers;
  std::vector<Value> inputs;  ///< without those that are initializers too (IR 3)
  std::vector<Value> outputs;
  std::map<std::string, Value> values;  ///< value_info: inner tensors whose type is known

  // Of the model; unused in a subgraph.
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  ///< domain ("" is ai.onnx) -> version
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string producer, producer_version, domain, doc;
  std::string model_doc;  ///< `doc` is that of the graph
  int64_t model_version = 0;
  std::vector<std::string> defaults;  ///< initializers that the file lists among its inputs; here they are constants
  std::vector<std::string> files;     ///< that it was read from: the model, then its external data
  std::string functions;              ///< serialized ModelProto that holds what has no field above (local functions)

  [[nodiscard]] int64_t opset() const;
  [[nodiscard]] const Tensor* constant(const std::string& tensor) const;
  /// Type and shape of an input, output, inner tensor or initializer; nullopt where unknown.
  [[nodiscard]] std::optional<Value> value(const std::string& tensor) const;
};

/// Who makes and who reads each tensor. Valid until the graph changes.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  /// Position of the node that makes `tensor`; nullopt for inputs, initializers and unknown names.
  [[nodiscard]] std::optional<size_t> producer(const std::string& tensor) const;
  /// Positions of the nodes that read `tensor`, once for each use; a node counts for what its subgraphs read from outside.
  [[nodiscard]] const std::vector<size_t>& consumers(const std::string& tensor) const;
  [[nodiscard]] bool is_output(const std::string& tensor) const;
  /// Exactly one use, and not an output of the graph.
  [[nodiscard]] bool used_once(const std::string& tensor) const;

 private:
  std::map<std::string, size_t> producers_;
  std::map<std::string, std::vector<size_t>> consumers_;
  std::map<std::string, bool> outputs_;
};

/// Names that the subgraphs of `node` read from the outer graph.
std::vector<std::string> captured_names(const Node& node);

}  // namespace pare
