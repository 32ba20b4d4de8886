#include "quantize/channel_axes.h"

#include <algorithm>
#include <deque>

#include "ir/op_table.h"

namespace pare {

ChannelAxes::ChannelAxes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      const auto value = graph.value(output);
      if (!value || !value->dims) continue;
      Layout plain;
      for (const Dim& dim : *value->dims) plain.push_back({{dim.size.value_or(1), false}});
      layouts_[output] = layout_of(graph, node, std::move(plain));
    }
  }
}

std::vector<size_t> ChannelAxes::operator()(const std::string& tensor, const Shape& shape) const {
  std::vector<size_t> axes;
  if (const auto it = layouts_.find(tensor); it != layouts_.end() && it->second.size() == shape.size())
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1 && counts_channels(it->second[d])) axes.push_back(d);
  if (!axes.empty() || shape.empty()) return axes;
  size_t shortest = shape.size() > 1 ? 1 : 0;
  for (size_t d = 1; d < shape.size(); ++d)
    if (shape[d] > 1 && (shape[shortest] <= 1 || shape[d] < shape[shortest])) shortest = d;
  return {shortest};
}

bool ChannelAxes::counts_channels(const Dimension& dimension) {
  return std::all_of(dimension.begin(), dimension.end(), [](const Factor& f) { return f.channel || f.size == 1; }) &&
         std::any_of(dimension.begin(), dimension.end(), [](const Factor& f) { return f.channel; });
}

/// The factors of `from` dealt out to the sizes of `plain`; `plain` itself where they do not divide.
ChannelAxes::Layout ChannelAxes::reshaped(const Layout& from, const Layout& plain) {
  std::deque<Factor> factors;
  for (const Dimension& dimension : from)
    for (const Factor& factor : dimension)
      if (factor.size > 1) factors.push_back(factor);
  Layout result;
  for (const Dimension& wanted : plain) {
    Dimension dimension;
    for (int64_t rest = wanted.front().size; rest > 1;) {
      if (factors.empty()) return plain;
      Factor& next = factors.front();
      if (rest % next.size == 0) {
        rest /= next.size;
        dimension.push_back(next);
        factors.pop_front();
      } else if (next.size % rest == 0) {
        next.size /= rest;
        dimension.push_back({rest, next.channel});
        rest = 1;
      } else {
        return plain;
      }
    }
    if (dimension.empty()) dimension.push_back({1, false});
    result.push_back(std::move(dimension));
  }
  return factors.empty() ? result : plain;
}

ChannelAxes::Layout ChannelAxes::layout_of(const Graph& graph, const Node& node, Layout plain) const {
  const OpRow* row = op_row(node);
  if (row != nullptr && row->flow == Flow::weighted) {
    const size_t axis = node.is("Gemm") || node.is("MatMul") ? plain.size() - 1 : 1;
    if (axis < plain.size()) plain[axis].front().channel = true;
    if (!node.is("Conv")) return plain;
  }
  const auto first = layouts_.find(node.input(0));
  if (node.is("Transpose") && first != layouts_.end()) {
    const auto order = node.attribute<std::vector<int64_t>>("perm", {});
    Layout turned;
    for (size_t d = 0; d < plain.size(); ++d) {
      const size_t source = order.empty() ? plain.size() - 1 - d : static_cast<size_t>(order[d]);
      if (source >= first->second.size()) return plain;
      turned.push_back(first->second[source]);
    }
    return turned;
  }
  if (node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze"))
    return first == layouts_.end() ? plain : reshaped(first->second, plain);

  // Any other operator of the same rank keeps its axes' meaning: arithmetic, Concat, Split, Slice, Softmax.
  for (const std::string& input : node.inputs) {
    const auto it = layouts_.find(input);
    if (it == layouts_.end() || it->second.size() != plain.size()) continue;
    for (size_t d = 0; d < plain.size(); ++d) {
      const int64_t size = graph.value(input)->dims->at(d).size.value_or(1);
      if (size == plain[d].front().size && plain[d].size() == 1 && !plain[d].front().channel)
        plain[d] = it->second[d];
      else if (counts_channels(it->second[d]))
        plain[d].front().channel = plain[d].size() == 1;
    }
  }
  return plain;
}

}  // namespace pare
