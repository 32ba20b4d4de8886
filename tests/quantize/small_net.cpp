#include "tests/quantize/small_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "calib/collect.h"
#include "quantize/insert_qdq.h"
#include "verify/kernels.h"

namespace pare {

RandomSource::RandomSource(const Graph& graph, size_t count, float low, float high)
    : inputs_(graph.inputs), count_(count), low_(low), high_(high) {}

std::optional<Sample> RandomSource::load(size_t index) {
  Sample sample{{}, {}, "sample " + std::to_string(index)};
  for (const Value& input : inputs_) {
    Shape shape;
    for (const Dim& d : *input.dims) shape.push_back(d.size.value_or(1));
    sample.inputs.emplace_back(input.name, models::random(shape, 100 * sample.inputs.size() + index, low_, high_));
  }
  return sample;
}

std::string integer_nodes(const Graph& graph, const Region& region) {
  std::string all;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (region.integer[i]) all += (all.empty() ? "" : " ") + graph.nodes[i].outputs.front();
  return all;
}

std::string reason_of(const Graph& graph, const Region& region, const std::string& tensor) {
  return region.reasons.at(*GraphIndex(graph).producer(tensor));
}

std::map<std::string, TensorStatistics> measured(const Graph& graph, const Region& region) {
  RandomSource source(graph);
  return collect(graph, tensors_to_measure(graph, region), source, {});
}

Plan plan_of(const Graph& graph, const Scheme& scheme, const std::set<std::string>& excluded) {
  const Region region = integer_region(graph, excluded);
  return make_plan(graph, region, measured(graph, region), scheme);
}

Graph quantized(const Graph& graph, const Scheme& scheme, const std::set<std::string>& excluded) {
  Log log;
  return insert_qdq(graph, plan_of(graph, scheme, excluded), log);
}

double sqnr(const Graph& graph, const Graph& other, SampleSource& source, size_t output) {
  Session a(graph), b(other);
  double signal = 0, noise = 0;
  for (size_t s = 0; s < source.size(); ++s) {
    const Feeds feeds = source.load(s)->inputs;
    const Tensor wanted = converted(a.run(feeds).at(output), DType::f32), found = converted(b.run(feeds).at(output), DType::f32);
    EXPECT_EQ(wanted.shape(), found.shape());
    for (size_t i = 0; i < wanted.as<float>().size(); ++i) {
      const double x = wanted.as<float>()[i];
      signal += x * x;
      noise += (x - found.as<float>()[i]) * (x - found.as<float>()[i]);
    }
  }
  return 10 * std::log10(signal / std::max(noise, 1e-300));
}

std::map<std::string, int> kernels(const Graph& graph) {
  const std::string folder = testing::TempDir() + "pare_kernels";
  std::filesystem::create_directories(folder);
  Session session(graph, {.threads = 1, .optimize = true, .profile_prefix = folder + "/run"});
  RandomSource source(graph);
  session.run(source.load(0)->inputs);
  const std::string file = session.end_profiling();
  std::map<std::string, int> counts;
  for (const KernelRow& row : read_profile(read_file(file), 1).rows) counts[row.op] += static_cast<int>(row.count);
  std::filesystem::remove(file);
  return counts;
}

std::string error_of(const std::function<void()>& run, ErrorKind kind) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

}  // namespace pare
