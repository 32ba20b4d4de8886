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
        .fix("remove the sample from --data, or mend the model");
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
    graph.outputs.push_back(value ? *value : Value{name, DType::f32, std::nullopt, ""});
  }
  return graph;
}

std::map<std::string, TensorStatistics> collect(const Graph& graph, const std::set<std::string>& tensors, SampleSource& samples,
                                                const CollectOptions& options) {
  std::map<std::string, TensorStatistics> result;
  std::set<std::string> inputs, outside;  // graph inputs and outputs need no tap
  for (const Value& v : graph.inputs) inputs.insert(v.name);
  outside = inputs;
  for (const Value& v : graph.outputs) outside.insert(v.name);
  std::map<std::string, Wish> wishes;
  for (const std::string& name : tensors) wishes[name].range = true;
  for (const auto& [name, axis] : options.channel_axes) wishes[name].channel_axis = axis;
  for (const auto& [name, wish] : wishes) result[name];
  std::vector<std::string> inner;  // in the graph's order, so that the first NaN met is where it arises
  for (const Node& node : graph.nodes)
    for (const std::string& name : node.outputs)
      if (wishes.contains(name) && !outside.contains(name)) inner.push_back(name);
  std::vector<Chunk> chunks = make_chunks(graph, inner, options);

  const auto measured = [&](const Chunk& chunk, std::span<const OutputView> views,
                            const std::string& sample) -> std::optional<Error> {
    std::vector<std::optional<Error>> errors(views.size());
    parallel_for(views.size(), options.threads, [&](size_t v) {
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
  };

  const auto load = [&samples](size_t i) { return std::async(std::launch::async, [&samples, i] { return samples.load(i); }); };
  std::future<std::optional<Sample>> next;
  if (samples.size() > 0) next = load(0);
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::optional<Sample> sample = next.get();
    if (i + 1 < samples.size()) next = load(i + 1);
    if (sample) {
      for (const auto& [name, tensor] : sample->inputs) {
        const std::string& input = name.empty() ? graph.inputs.front().name : name;
        if (wishes.contains(input) && tensor.type() == DType::f32)
          measure(result[input], wishes[input], tensor.as<float>(), tensor.shape(), input, sample->name);
      }
      std::optional<Error> stopped;
      for (Chunk& chunk : chunks) {
        try {
          chunk.session.run(sample->inputs,
                            [&](std::span<const OutputView> views) { stopped = measured(chunk, views, sample->name); });
        } catch (Error& e) {
          throw e.at("sample '" + sample->name + "'");
        }
        if (stopped) throw *stopped;
      }
    }
    if (options.progress) options.progress(i + 1, samples.size());
  }
  return result;
}

}  // namespace pare
