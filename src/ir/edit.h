#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare {

/// Every reader of `from`, subgraphs and graph outputs excepted, reads `to` instead.
void replace_uses(Graph& graph, const std::string& from, const std::string& to);

/// Removes the nodes at these positions.
void remove_nodes(Graph& graph, const std::set<size_t>& positions);

/// Removes nodes whose results nobody reads, then initializers and value_info that are left without a user.
void remove_unused(Graph& graph);

/// Puts the nodes into topological order, keeping the present order where it is free. Errors: input, on a cycle.
void sort_nodes(Graph& graph);

/// Gives names that neither the graph nor its subgraphs use yet: `base`, else `base_1`, `base_2`, ...
class FreshNames {
 public:
  explicit FreshNames(const Graph& graph);
  std::string operator()(const std::string& base);

 private:
  void take(const Graph& graph);

  std::set<std::string> taken_;
};

}  // namespace pare
