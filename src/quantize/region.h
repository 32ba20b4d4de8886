#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pare {

constexpr int kPresentRuntime = 32;

/// Which nodes will run on integers, and why each other one will not.
struct Region {
  std::vector<bool> integer;         ///< by position of the node
  std::vector<std::string> reasons;  ///< by position; the kernel's name where integer
};

/// By position: the nodes that an entry names, by name or output. Errors: usage for an entry that fits none.
std::vector<bool> excluded_nodes(const Graph& graph, const std::set<std::string>& excluded);

/// For a runtime that executes the file as it is (ONNX Runtime CPU): a node runs on integers where
///   the runtime has a kernel for it (op_table.h) and its weights are float constants;
///   a weighted node saves more multiply-adds than the conversions around it cost;
///   any other node is fed with integers and an integer product follows it, or it only moves integers that are there already.
/// `excluded`: nodes (by name or output) that the user keeps in float; an entry that fits nothing is an error (usage).
/// `runtime`: 17 for ONNX Runtime 1.17, whose kernels the table's later rows are not among.
Region integer_region(const Graph& graph, const std::set<std::string>& excluded, int runtime = kPresentRuntime);

/// The first of these conditions alone: what the runtime can run on integers, whatever its neighbours do.
Region possible_region(const Graph& graph, const std::set<std::string>& excluded, int runtime = kPresentRuntime);

/// Takes out what no longer earns its place after nodes have left the region.
void shrink_region(const Graph& graph, Region& region);

/// Activation tensors that become integers under this region: what integer nodes read and make, except what a clamp behind them
/// still cuts (the Q stands after it).
std::set<std::string> integer_tensors(const Graph& graph, const Region& region);

/// Inputs of a node that carry activations: all but weights, biases, shapes and other constants.
std::vector<std::string> activation_inputs(const Graph& graph, const Node& node);

/// Nodes from whose outputs no weighted node of at least `share` of the network's multiply-adds or weights can be reached: the
/// decoding behind the last layers. By position.
std::vector<bool> tail_nodes(const Graph& graph, double share = 1e-3);

}  // namespace pare
