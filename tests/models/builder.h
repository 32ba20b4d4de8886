#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare::models {

/// Uniform numbers in [low, high), the same on every machine for the same seed.
Tensor random(Shape shape, uint64_t seed, float low = -1, float high = 1);
Tensor floats(Shape shape, const std::vector<float>& values);
Tensor ints(const std::vector<int64_t>& values);

/// Makes small graphs:
///
///   Graph g = Builder(13).input("x", {1, 3, 8, 8}).weights("w", {4, 3, 3, 3}).node("Conv", {"x", "w"},
///   {"y"}).output("y").build();
class Builder {
 public:
  explicit Builder(int64_t opset = 13);

  /// A negative dimension becomes the symbol "N".
  Builder& input(const std::string& name, Shape shape, DType type = DType::f32);
  Builder& constant(const std::string& name, Tensor tensor);
  /// Random floats whose seed is the name.
  Builder& weights(const std::string& name, Shape shape, float low = -1, float high = 1);
  /// The node is named after its first output with "_node" behind it.
  Builder& node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                std::map<std::string, Attribute> attributes = {}, const std::string& domain = "");
  Builder& output(const std::string& name, DType type = DType::f32);

  /// With inferred shapes.
  [[nodiscard]] Graph build() const;
  /// As a body of If or Loop.
  [[nodiscard]] Attribute subgraph() const;

 private:
  Graph graph_;
};

/// "Conv(x, w) -> y; Relu(y) -> z": the nodes in their order, without attributes.
std::string text(const Graph& graph);
/// The operators in their order: "Conv Relu".
std::string ops(const Graph& graph);

}  // namespace pare::models
