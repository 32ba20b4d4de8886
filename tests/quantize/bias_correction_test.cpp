#include <gmock/gmock.h>

#include <cmath>

#include "calib/collect.h"
#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;

/// Mean over samples and places of (quantized - float), by output channel (axis 1); root mean square over the channels.
double shift(const Graph& graph, const Graph& quantized, SampleSource& source) {
  Session a(graph), b(quantized);
  std::vector<double> sums;
  double count = 0;
  for (size_t s = 0; s < source.size(); ++s) {
    const Feeds feeds = source.load(s)->inputs;
    const Tensor x = a.run(feeds)[0], y = b.run(feeds)[0];
    const auto channels = static_cast<size_t>(x.shape()[1]);
    const size_t inner = x.as<float>().size() / channels;
    sums.resize(channels);
    for (size_t i = 0; i < x.as<float>().size(); ++i) sums[i / inner] += y.as<float>()[i] - x.as<float>()[i];
    count += static_cast<double>(inner);
  }
  double square = 0;
  for (const double v : sums) square += v / count * (v / count);
  return std::sqrt(square / static_cast<double>(sums.size()));
}

struct Layer {
  std::string name, op;
  Shape input, weight;
  std::map<std::string, Attribute> attributes;
  bool bias = true;
};

const std::vector<Layer> kLayers{
    {"conv", "Conv", {1, 16, 9, 9}, {24, 16, 3, 3}, {}},
    {"grouped", "Conv", {1, 16, 9, 9}, {24, 4, 3, 3}, {{"group", int64_t{4}}}},
    {"depthwise twice", "Conv", {1, 16, 9, 9}, {32, 1, 3, 3}, {{"group", int64_t{16}}}},
    {"no bias", "Conv", {1, 16, 9, 9}, {24, 16, 1, 1}, {}, false},
    {"gemm", "Gemm", {1, 64}, {64, 24}, {}},
    {"gemm, B transposed", "Gemm", {1, 64}, {24, 64}, {{"transB", int64_t{1}}}},
};

/// Channels with means far apart, so that rounding the weights shifts the outputs.
Graph graph_of(const Layer& layer) {
  Shape offsets(layer.input.size(), 1);
  offsets[1] = layer.input[1];
  const int64_t outputs = layer.op == "Gemm" && layer.attributes.empty() ? layer.weight[1] : layer.weight[0];
  Builder b = Builder(13).input("x", layer.input).weights("offsets", offsets, 0, 4).weights("w", layer.weight);
  b.node("Add", {"x", "offsets"}, {"a"});
  if (layer.bias) b.weights("b", {outputs});
  b.node(layer.op, layer.bias ? std::vector<std::string>{"a", "w", "b"} : std::vector<std::string>{"a", "w"}, {"y"},
         layer.attributes);
  return b.output("y").build();
}

Graph quantized_with_means(const Graph& graph, SampleSource& source, bool correct) {
  Region region{{false, true}, {"", ""}};
  CollectOptions options;
  options.channel_axes = channels_to_measure(graph, region);
  const Scheme scheme{.per_channel = false, .bias_correction = correct};  // coarse weights
  const auto statistics = collect(graph, tensors_to_measure(graph, region), source, options);
  Log log;
  return insert_qdq(graph, make_plan(graph, region, statistics, scheme), log);
}

TEST(BiasCorrection, TakesTheMeanErrorAway) {
  for (const Layer& layer : kLayers) {
    const Graph graph = graph_of(layer);
    RandomSource source(graph, 200);
    const double before = shift(graph, quantized_with_means(graph, source, false), source);
    const double after = shift(graph, quantized_with_means(graph, source, true), source);
    EXPECT_LT(after, .25 * before) << layer.name << ": " << before << " -> " << after;
  }
}

TEST(BiasCorrection, NeedsNoMeans) {
  const Graph graph = graph_of(kLayers[0]);
  Region region{{false, true}, {"", ""}};
  RandomSource source(graph);
  const auto statistics = collect(graph, tensors_to_measure(graph, region), source, {});
  Log on, off;
  const Scheme without{.bias_correction = false};
  const Graph a = insert_qdq(graph, make_plan(graph, region, statistics, {}), on);
  const Graph b = insert_qdq(graph, make_plan(graph, region, statistics, without), off);
  EXPECT_EQ(a.initializers.at("b_quantized"), b.initializers.at("b_quantized"));
}

}  // namespace
}  // namespace pare
