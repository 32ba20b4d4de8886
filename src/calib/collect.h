#pragma once

#include <functional>
#include <set>
#include <string>

#include "calib/statistics.h"
#include "data/samples.h"
#include "ir/graph.h"

namespace pare {

struct CollectOptions {
  int threads = 1;
  /// Most bytes of inner tensors held at a time; more is measured in several runs of each sample.
  int64_t tap_budget = int64_t{384} << 20;
  std::map<std::string, size_t> channel_axes{};  ///< tensors whose channel means are wanted, too, with the channels' axis
  std::function<void(size_t done, size_t total)> progress;  ///< called after each sample
};

/// `graph` with inner tensors as further outputs, in the order of `tensors`.
Graph with_taps(Graph graph, const std::vector<std::string>& tensors);

/// Runs the float network once over all samples and measures these tensors (graph inputs included), and the channel means of
/// those in `options`. Memory: the histograms and
/// one sample's tensors. Errors: input, naming tensor and sample, for a NaN or infinite value.
std::map<std::string, TensorStatistics> collect(const Graph& graph, const std::set<std::string>& tensors, SampleSource& samples,
                                                const CollectOptions& options);

}  // namespace pare
