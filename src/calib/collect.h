#pragma once

#include <functional>
#include <map>
#include <memory>
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
  std::function<void(size_t done, size_t total)> progress;  ///< called by collect after each sample
};

/// `graph` with inner tensors as further outputs, in the order of `tensors`.
Graph with_taps(Graph graph, const std::vector<std::string>& tensors);

/// Measures tensors of a float network (graph inputs included) over samples that come one after the other, from wherever. Memory:
/// the histograms and one sample's tensors, however many come. One thread at a time.
class Collector {
 public:
  Collector(const Graph& graph, const std::set<std::string>& tensors, const CollectOptions& options);
  Collector(Collector&&) noexcept;
  ~Collector();

  /// Runs the network on one sample, of any size that the network takes, and counts every element once. Errors: input, naming
  /// tensor and sample, for a NaN or infinite value, or a sample that does not fit; some of its tensors are counted by then.
  void add(const Sample& sample);
  /// Of all samples so far.
  [[nodiscard]] const std::map<std::string, TensorStatistics>& statistics() const&;
  [[nodiscard]] std::map<std::string, TensorStatistics> statistics() &&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Collector over all samples of a source; the next sample is loaded while one is measured.
std::map<std::string, TensorStatistics> collect(const Graph& graph, const std::set<std::string>& tensors, SampleSource& samples,
                                                const CollectOptions& options);

}  // namespace pare
