#include "passes/softmax_last_axis.h"

#include <numeric>

#include "ir/edit.h"

namespace pare {
namespace {

std::vector<int64_t> swap_axes(size_t rank, size_t a, size_t b) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[a], permutation[b]);
  return permutation;
}

}  // namespace

Graph softmax_last_axis(Graph graph, const PassContext& /*context*/, Log& log) {
  constexpr int64_t kOneAxis = 13;  // before, Softmax flattens what stands behind its axis
  if (graph.opset() < kOneAxis) {
    log.push_back({"softmax_last_axis", "", "kept", "below opset 13"});
    return graph;
  }
  const GraphIndex index(graph);
  FreshNames fresh(graph);
  const size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node softmax = graph.nodes[i];
    if (!softmax.is("Softmax") && !softmax.is("LogSoftmax")) continue;
    const auto value = graph.value(softmax.inputs[0]);
    if (!value || !value->dims) {
      log.push_back({"softmax_last_axis", softmax.label(), "kept", "the rank of its input is unknown"});
      continue;
    }
    const size_t rank = value->dims->size();
    const auto given = softmax.attribute<int64_t>("axis", -1);
    if (given < -static_cast<int64_t>(rank) || given >= static_cast<int64_t>(rank)) continue;
    const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
    bool single = true;  // nothing but ones behind the axis: it is the last one already
    for (size_t d = axis + 1; d < rank; ++d) single = single && (*value->dims)[d].size == 1;
    if (axis + 1 >= rank || single) continue;

    std::vector<int64_t> before = swap_axes(rank, axis, rank - 1);
    std::string source = softmax.inputs[0];
    const auto producer = index.producer(source);
    if (producer && graph.nodes[*producer].is("Transpose") && index.used_once(source)) {
      const Node& transpose = graph.nodes[*producer];
      const auto first = transpose.attribute<std::vector<int64_t>>("perm", {});
      if (first.size() == rank) {  // the two transpositions become one
        for (int64_t& p : before) p = first[static_cast<size_t>(p)];
        source = transpose.inputs[0];
      }
    }
    const std::string base = softmax.name.empty() ? softmax.outputs[0] : softmax.name;
    const std::string moved = fresh(base + "_last_axis");
    const std::string normalized = fresh(base + "_normalized");
    graph.nodes[i].attributes["axis"] = int64_t{-1};
    graph.nodes[i].inputs[0] = moved;
    graph.nodes[i].outputs[0] = normalized;
    graph.nodes.push_back({"Transpose", fresh(base + "_to_last"), "", {source}, {moved}, {{"perm", before}}, ""});
    graph.nodes.push_back({"Transpose",
                           fresh(base + "_back"),
                           "",
                           {normalized},
                           {softmax.outputs[0]},
                           {{"perm", swap_axes(rank, axis, rank - 1)}},
                           ""});
    log.push_back(
        {"softmax_last_axis", softmax.label(), "moved", "from axis " + std::to_string(axis) + " of " + std::to_string(rank)});
  }
  return graph;
}

}  // namespace pare
