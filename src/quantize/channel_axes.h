#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare {

/// Which axes of each activation count the output channels of the layer that made it, followed through the operators that only
/// rearrange: axis 2 of a YOLO head's 1x25200x85 (its 3 anchors are mixed with positions), axes 1 and 4 of the 1x3x80x80x85
/// before it. Where none is left: the shortest axis behind the batch that is longer than 1. A free dimension counts as 1.
class ChannelAxes {
 public:
  explicit ChannelAxes(const Graph& graph);

  /// For a tensor of the graph with this shape at run time.
  [[nodiscard]] std::vector<size_t> operator()(const std::string& tensor, const Shape& shape) const;

 private:
  /// A dimension is the product of factors, outermost first; each counts channels or positions.
  struct Factor {
    int64_t size;
    bool channel;
  };
  using Dimension = std::vector<Factor>;
  using Layout = std::vector<Dimension>;

  static bool counts_channels(const Dimension& dimension);
  static Layout reshaped(const Layout& from, const Layout& plain);
  [[nodiscard]] Layout layout_of(const Graph& graph, const Node& node, Layout plain) const;

  std::map<std::string, Layout> layouts_;
};

}  // namespace pare
