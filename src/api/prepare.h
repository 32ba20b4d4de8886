#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/network_input.h"
#include "base/log.h"
#include "ir/graph.h"
#include "pare/data_options.h"

namespace pare {

/// A float model, ready to be measured.
struct Prepared {
  Graph original;  ///< as loaded, its input size settled
  Graph graph;     ///< after the prepare passes
  NetworkInput input;
  Log log;
};

/// Loads a model, settles its input, runs the prepare passes. Errors: those of load_model, settle_input and run_passes; input,
/// naming the weight, for NaN; unsupported where the model is quantized already.
Prepared prepare_model(const std::string& model, const DataOptions& data, const std::vector<std::string>& disabled_passes,
                       std::optional<Dataset::Kind> fed = std::nullopt);

/// Runs both graphs on one sample and logs how closely each output of the prepared one follows the original's.
/// Errors: internal, where one falls below 40 dB: a pass broke the function, and --disable-pass leads around it.
void check_same_function(const Prepared& model, const NamedTensors& sample, int threads, Log& log);

/// `graph`, which takes one sample, for `batch` of them at a time. Errors: those of set_batch; internal, where it then gives
/// another answer for a repeated sample; an empty `sample` checks nothing.
Graph with_batch(const Graph& graph, int64_t batch, const NamedTensors& sample, int threads);

/// Nodes of Q/DQ, QLinear* and integer products: above 0 the model is quantized already.
int64_t quantized_nodes(const Graph& graph);

}  // namespace pare
