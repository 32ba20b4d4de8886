#include "passes/transpose_factors.h"

#include <numeric>

#include "ir/edit.h"

namespace pare {
namespace {

std::optional<size_t> rank_of(const Graph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  return value && value->dims ? std::optional(value->dims->size()) : std::nullopt;
}

bool float_constant(const Graph& graph, const std::string& tensor) {
  const Tensor* t = graph.constant(tensor);
  return t != nullptr && t->type() == DType::f32;
}

bool is_candidate(const Graph& graph, const Node& node) {
  if (node.is("MatMul")) return float_constant(graph, node.input(0)) && graph.constant(node.input(1)) == nullptr;
  return node.is("Gemm") && node.attribute<int64_t>("transA", 0) != 0 && graph.constant(node.input(0)) == nullptr;
}

std::string objection(const Graph& graph, const Node& node) {
  if (node.is("Gemm")) return float_constant(graph, node.input(1)) ? "" : "its weight is no float constant";
  if (graph.constant(node.input(0))->shape().size() != 2) return "its constant is no matrix";
  const auto rank = rank_of(graph, node.input(1));
  if (!rank) return "the rank of its second factor is unknown";
  return *rank == 0 ? "its second factor is a single number" : "";
}

/// Swaps the last two axes.
Node transpose(std::string name, const std::string& from, const std::string& to, size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[rank - 2], perm[rank - 1]);
  return {"Transpose", std::move(name), "", {from}, {to}, {{"perm", perm}}, ""};
}

}  // namespace

Graph transpose_factors(Graph graph, const PassContext& /*context*/, Log& log) {
  FreshNames fresh(graph);
  const size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node node = graph.nodes[i];
    if (!is_candidate(graph, node)) continue;
    if (const std::string why = objection(graph, node); !why.empty()) {
      log.push_back({"transpose_factors", node.label(), "kept", why});
      continue;
    }
    const std::string base = node.name.empty() ? node.outputs[0] : node.name;
    if (node.is("Gemm")) {
      const std::string turned = fresh(base + "_turned");
      graph.nodes[i].inputs[0] = turned;
      graph.nodes[i].attributes.erase("transA");
      graph.nodes.push_back(transpose(fresh(base + "_turn"), node.inputs[0], turned, 2));
      log.push_back({"transpose_factors", node.label(), "rewritten", "Transpose in place of transA"});
      continue;
    }
    const std::string weight = fresh(node.inputs[0] + "_transposed");
    graph.initializers[weight] = transposed(*graph.constant(node.inputs[0]));
    Node& product = graph.nodes[i];
    product.inputs = {node.inputs[1], weight};
    if (const size_t rank = *rank_of(graph, node.inputs[1]); rank > 1) {
      const std::string turned = fresh(base + "_turned"), result = fresh(base + "_product");
      product.inputs[0] = turned;
      product.outputs[0] = result;
      graph.nodes.push_back(transpose(fresh(base + "_turn"), node.inputs[1], turned, rank));
      graph.nodes.push_back(transpose(fresh(base + "_back"), result, node.outputs[0], rank));
    }
    log.push_back({"transpose_factors", node.label(), "rewritten", "its constant is the second factor now"});
  }
  return graph;
}

}  // namespace pare
