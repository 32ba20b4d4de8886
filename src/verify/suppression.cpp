#include "verify/suppression.h"

namespace pare {

std::optional<Suppression> find_suppression(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.is("NonMaxSuppression")) continue;
    const auto threshold = [&](size_t input, std::optional<float> absent) -> std::optional<float> {
      if (node.input(input).empty()) return absent;
      const Tensor* value = graph.constant(node.input(input));
      if (value == nullptr || value->type() != DType::f32 || value->count() != 1) return std::nullopt;
      return value->as<float>()[0];
    };
    return Suppression{threshold(3, 0.F), threshold(4, std::nullopt)};
  }
  return std::nullopt;
}

}  // namespace pare
