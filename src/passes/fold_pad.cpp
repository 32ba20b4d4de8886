#include "passes/fold_pad.h"

#include <algorithm>

#include "ir/edit.h"

namespace pare {
namespace {

/// begin and end padding for each axis of a tensor of this rank; nullopt where they are no constants.
std::optional<std::vector<int64_t>> pads_of(const Graph& graph, const Node& pad, size_t rank) {
  const Tensor* given = graph.constant(pad.input(1));
  if (given == nullptr) return std::nullopt;
  const std::vector<int64_t> values = to_ints(*given);
  std::vector<int64_t> axes(values.size() / 2);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (!pad.input(3).empty()) {
    const Tensor* listed = graph.constant(pad.input(3));
    if (listed == nullptr) return std::nullopt;
    axes = to_ints(*listed);
  }
  if (values.size() != 2 * axes.size() || (pad.input(3).empty() && axes.size() != rank)) return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]);
    if (axis >= rank) return std::nullopt;
    pads[axis] = values[i];
    pads[axis + rank] = values[i + axes.size()];
  }
  return pads;
}

/// Why this Pad cannot become part of the convolution; empty when it can.
std::string objection(const Graph& graph, const GraphIndex& index, const Node& pad, const Node& conv,
                      const std::optional<std::vector<int64_t>>& pads) {
  if (!index.used_once(pad.outputs[0])) return "others read the padded tensor";
  if (pad.attribute<std::string>("mode", "constant") != "constant") return "its mode is not constant";
  if (!pad.input(2).empty()) {
    const Tensor* fill = graph.constant(pad.input(2));
    if (fill == nullptr || fill->count() != 1 || to_floats(*fill).front() != 0) return "it does not fill with zeros";
  }
  if (!pads) return "its pads are no constants";
  const size_t rank = pads->size() / 2;
  for (const size_t i : {size_t{0}, size_t{1}, rank, rank + 1})
    if ((*pads)[i] != 0) return "it pads batch or channels";
  if (std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; })) return "it crops";
  const auto automatic = conv.attribute<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return "the convolution pads itself by auto_pad";
  return "";
}

}  // namespace

Graph fold_pad(Graph graph, const PassContext& /*context*/, Log& log) {
  const GraphIndex index(graph);
  std::set<size_t> folded;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& pad = graph.nodes[i];
    if (!pad.is("Pad")) continue;
    const auto& readers = index.consumers(pad.outputs[0]);
    const auto reader = std::find_if(readers.begin(), readers.end(), [&](size_t r) {
      return graph.nodes[r].is("Conv") && graph.nodes[r].inputs[0] == pad.outputs[0];
    });
    if (reader == readers.end()) continue;
    Node& conv = graph.nodes[*reader];
    const auto input = graph.value(pad.input(0));
    const auto weight = graph.value(conv.input(1));
    const size_t rank = weight && weight->dims ? weight->dims->size() : (input && input->dims ? input->dims->size() : 4);
    if (rank < 3) continue;  // no shape of a convolution
    const auto pads = pads_of(graph, pad, rank);
    if (const std::string why = objection(graph, index, pad, conv, pads); !why.empty()) {
      log.push_back({"fold_pad", pad.label(), "kept", why});
      continue;
    }
    const size_t spatial = rank - 2;
    auto own = conv.attribute<std::vector<int64_t>>("pads", {});
    if (conv.attributes.contains("auto_pad") || own.size() != 2 * spatial) own.assign(2 * spatial, 0);
    for (size_t s = 0; s < spatial; ++s) {
      own[s] += (*pads)[2 + s];
      own[s + spatial] += (*pads)[2 + s + rank];
    }
    conv.attributes["pads"] = own;
    conv.attributes.erase("auto_pad");
    conv.inputs[0] = pad.inputs[0];
    folded.insert(i);
    log.push_back({"fold_pad", pad.label(), "folded", "into " + conv.label()});
  }
  remove_nodes(graph, folded);
  return graph;
}

}  // namespace pare
