#include "calib/collect.h"

#include <algorithm>
#include <future>

#include "base/parallel.h"
#include "runtime/session.h"

namespace pare {
namespace {

/// What is wanted of one tensor.
struct Wish {
  bool range = false;
  std::optional<size_t> channel_axis;
};

void measure(TensorStatistics& statistics, const Wish& wish, std::span<const float> values, const Shape& shape,
             const std::string& tensor, const std::string& sample) {
  if (wish.channel_axis) statistics.channels.add(values, shape, *wish.channel_axis);
  if (!wish.range) return;
  const Extremes found = extremes(values);
  if (found.not_finite > 0)
    throw Error(ErrorKind::input,
                "holds " + std::to_string(found.not_finite) + " NaN or infinite values for sample '" + sample + "'")
        .at("tensor '" + tensor + "'")
        .fix("leave the sample out, or mend the model");
  if (!found.any) return;
  statistics.histogram.add(values, found);
  statistics.sum_of_minima.add(found.min);
  statistics.sum_of_maxima.add(found.max);
  ++statistics.samples;
}

/// A session that taps one part of the tensors.
struct Chunk {
  std::vector<std::string> tensors;
  size_t first_output;
  Session session;
};

std::vector<Chunk> make_chunks(const Graph& graph, const std::vector<std::string>& tensors, const CollectOptions& options) {
  std::vector<std::vector<std::string>> parts(1);
  int64_t held = 0;
  for (const std::string& name : tensors) {
    const auto value = graph.value(name);
    const int64_t bytes = value ? value->elements() * static_cast<int64_t>(sizeof(float)) : 0;
    if (held + bytes > options.tap_budget && !parts.back().empty()) parts.emplace_back(), held = 0;
    parts.back().push_back(name);
    held += bytes;
  }
  std::vector<Chunk> chunks;
  for (auto& part : parts) {
    const Graph tapped = with_taps(graph, part);
    chunks.push_back({std::move(part), graph.outputs.size(), Session(tapped, {.threads = options.threads, .spin = false})});
  }
  return chunks;
}

}  // namespace

Graph with_taps(Graph graph, const std::vector<std::string>& tensors) {
  for (const std::string& name : tensors) {
    const auto value = graph.value(name);
    graph.outputs.push_back(value ? *value : Value{name, DType::undefined, std::nullopt, ""});
  }
  return graph;
}

struct Collector::Impl {
  Graph graph;
  std::map<std::string, Wish> wishes;
  std::set<std::string> inputs;
  int threads;
  std::vector<Chunk> chunks;
  std::map<std::string, TensorStatistics> result;

  Impl(Graph g, const std::set<std::string>& tensors, const CollectOptions& options)
      : graph(std::move(g)), threads(options.threads) {
    for (const std::string& name : tensors) wishes[name].range = true;
    for (const auto& [name, axis] : options.channel_axes) wishes[name].channel_axis = axis;
    for (const Value& v : graph.inputs) inputs.insert(v.name);
    std::set<std::string> outside = inputs;  // graph inputs and outputs need no tap
    for (const Value& v : graph.outputs) outside.insert(v.name);
    for (const auto& [name, wish] : wishes) result[name];
    std::vector<std::string> inner;  // in the graph's order, so that the first NaN met is where it arises
    for (const Node& node : graph.nodes)
      for (const std::string& name : node.outputs)
        if (wishes.contains(name) && !outside.contains(name)) inner.push_back(name);
    chunks = make_chunks(graph, inner, options);
  }

  std::optional<Error> measure_all(const Chunk& chunk, std::span<const OutputView> views, const std::string& sample) {
    std::vector<std::optional<Error>> errors(views.size());
    parallel_for(views.size(), threads, [&](size_t v) {
      const bool own_output = v < chunk.first_output;
      const std::string& name = own_output ? graph.outputs[v].name : chunk.tensors[v - chunk.first_output];
      const bool skip = own_output && (&chunk != &chunks.back() || !wishes.contains(name) || inputs.contains(name));
      if (skip || views[v].type != DType::f32) return;
      const auto count = static_cast<size_t>(element_count(views[v].shape));
      try {
        measure(result.at(name), wishes.at(name), {static_cast<const float*>(views[v].data), count}, views[v].shape, name,
                sample);
      } catch (const Error& e) {
        errors[v] = e;
      }
    });
    std::rotate(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(chunk.first_output), errors.end());
    const auto first = std::find_if(errors.begin(), errors.end(), [](const auto& error) { return error.has_value(); });
    return first == errors.end() ? std::nullopt : *first;
  }
};

Collector::Collector(const Graph& graph, const std::set<std::string>& tensors, const CollectOptions& options)
    : impl_(std::make_unique<Impl>(graph, tensors, options)) {}
Collector::Collector(Collector&&) noexcept = default;
Collector::~Collector() = default;

void Collector::add(const Sample& sample) {
  for (const auto& [name, tensor] : sample.inputs) {
    const std::string& input = name.empty() ? impl_->graph.inputs.front().name : name;
    const auto wish = impl_->wishes.find(input);
    if (wish != impl_->wishes.end() && tensor.type() == DType::f32)
      measure(impl_->result.at(input), wish->second, tensor.as<float>(), tensor.shape(), input, sample.name);
  }
  std::optional<Error> stopped;
  for (Chunk& chunk : impl_->chunks) {
    try {
      chunk.session.run(sample.inputs,
                        [&](std::span<const OutputView> views) { stopped = impl_->measure_all(chunk, views, sample.name); });
    } catch (Error& e) {
      throw e.at("sample '" + sample.name + "'");
    }
    if (stopped) throw *stopped;
  }
}

const std::map<std::string, TensorStatistics>& Collector::statistics() const& { return impl_->result; }
std::map<std::string, TensorStatistics> Collector::statistics() && { return std::move(impl_->result); }

std::map<std::string, TensorStatistics> collect(const Graph& graph, const std::set<std::string>& tensors, SampleSource& samples,
                                                const CollectOptions& options) {
  Collector collector(graph, tensors, options);
  const auto load = [&samples](size_t i) { return std::async(std::launch::async, [&samples, i] { return samples.load(i); }); };
  std::future<std::optional<Sample>> next;
  if (samples.size() > 0) next = load(0);
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::optional<Sample> sample = next.get();
    if (i + 1 < samples.size()) next = load(i + 1);
    if (sample) collector.add(*sample);
    if (options.progress) options.progress(i + 1, samples.size());
  }
  return std::move(collector).statistics();
}

}  // namespace pare
