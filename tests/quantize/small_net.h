#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "data/samples.h"
#include "quantize/make_plan.h"
#include "quantize/plan.h"
#include "quantize/region.h"
#include "runtime/session.h"
#include "tests/models/builder.h"

namespace pare {

/// Random samples for all inputs of a graph, each a function of its index.
class RandomSource : public SampleSource {
 public:
  explicit RandomSource(const Graph& graph, size_t count = 8, float low = -1, float high = 1);
  [[nodiscard]] size_t size() const override { return count_; }
  [[nodiscard]] std::optional<Sample> load(size_t index) override;
  [[nodiscard]] std::vector<Skipped> skipped() const override { return {}; }

 private:
  std::vector<Value> inputs_;
  size_t count_;
  float low_, high_;
};

/// First outputs of the integer nodes, in the graph's order: "c1 r1 c2".
std::string integer_nodes(const Graph& graph, const Region& region);
/// Reason of the node that makes `tensor`.
std::string reason_of(const Graph& graph, const Region& region, const std::string& tensor);

/// Statistics of what a region needs, from random samples.
std::map<std::string, TensorStatistics> measured(const Graph& graph, const Region& region);
/// Region, statistics and plan of a graph.
Plan plan_of(const Graph& graph, const Scheme& scheme = {}, const std::set<std::string>& excluded = {});
/// The quantized graph.
Graph quantized(const Graph& graph, const Scheme& scheme = {}, const std::set<std::string>& excluded = {});

/// 10 log10 of signal over noise of one output, over all samples of `source`.
double sqnr(const Graph& graph, const Graph& other, SampleSource& source, size_t output = 0);
/// Kernel -> how often the runtime ran it in one run.
std::map<std::string, int> kernels(const Graph& graph);

/// The message of the Error of this kind that `run` throws; "no error" where it throws none.
std::string error_of(const std::function<void()>& run, ErrorKind kind = ErrorKind::input);

}  // namespace pare
