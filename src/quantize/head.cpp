#include "quantize/head.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calib/collect.h"
#include "ir/edit.h"
#include "ir/op_table.h"
#include "quantize/channel_axes.h"
#include "quantize/insert_qdq.h"
#include "runtime/session.h"

namespace pare {
namespace {

constexpr size_t kSamples = 4;
constexpr double kShare = .5;

/// Mean absolute error of each channel of one output, and the extremes of the reference there.
struct ChannelErrors {
  std::vector<double> error, low, high;
};

/// Twice the mean error that 8 bits over the channel's own range would cause (once would leave noise to decide). A channel that
/// stays in 0..1 is taken for a probability, whose range is known even where no sample came near 1.
double own_scale_error(double low, double high) {
  const double step = (low >= 0 && high <= 1 ? 1 : high - low) / 255;
  return 2 * step / 4;  // rounding errs by a quarter of a step in the mean
}

/// Per combination of indices on the channel axes.
ChannelErrors channel_errors(const std::vector<Tensor>& reference, const std::vector<Tensor>& test,
                             const std::vector<size_t>& axes) {
  ChannelErrors result;
  double count = 0;
  for (size_t s = 0; s < reference.size(); ++s) {
    const Shape& shape = reference[s].shape();
    std::vector<size_t> step(shape.size(), 0);  // of the channel's number, by axis
    size_t channels = 1;
    for (size_t k = axes.size(); k-- > 0;) {
      step[axes[k]] = channels;
      channels *= static_cast<size_t>(shape[axes[k]]);
    }
    const auto a = reference[s].as<float>();
    const auto b = test[s].as<float>();
    result.error.resize(std::max(result.error.size(), channels));
    result.low.resize(result.error.size());
    result.high.resize(result.error.size());
    Shape at(shape.size(), 0);
    size_t c = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      result.error[c] += std::abs(static_cast<double>(a[i]) - b[i]);
      result.low[c] = std::min<double>(result.low[c], a[i]);
      result.high[c] = std::max<double>(result.high[c], a[i]);
      for (size_t d = shape.size(); d-- > 0;) {
        c += step[d];
        if (++at[d] < shape[d]) break;
        c -= step[d] * static_cast<size_t>(shape[d]);
        at[d] = 0;
      }
    }
    count += static_cast<double>(a.size()) / static_cast<double>(channels);
  }
  for (double& e : result.error) e /= std::max(count, 1.0);
  return result;
}

/// Operators whose results jump where values change a little: what they make cannot be compared number by number.
bool selects(const Node& node) {
  static const std::set<std::string> kinds{"TopK", "NonMaxSuppression", "NonZero", "ArgMax", "ArgMin"};
  return kinds.contains(node.op_type);
}

/// Type and rank are known. Without them a tensor cannot be the input of a graph of its own.
bool is_known(const Graph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  return value && value->type != DType::undefined && value->dims;
}

/// The nodes of the tail that carry no heavy weights, as a graph of their own that starts at the last layers' outputs. It ends
/// before the first selection, with what is selected from. A node that reads what shape inference cannot tell (of an operator
/// that ONNX does not know) has no part in it.
Graph decoding_graph(const Graph& graph, const std::vector<bool>& tail, const std::vector<bool>& light) {
  Graph part = graph;
  part.nodes.clear();
  part.inputs.clear();
  std::set<std::string> made, selected, judged;
  for (const Value& output : graph.outputs) judged.insert(output.name);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!tail[i] || !light[i]) continue;
    const Node& node = graph.nodes[i];
    std::vector<std::string> reads = node.inputs;
    const auto captured = captured_names(node);
    reads.insert(reads.end(), captured.begin(), captured.end());
    if (selects(node) || std::any_of(reads.begin(), reads.end(), [&](const auto& name) { return selected.contains(name); })) {
      selected.insert(node.outputs.begin(), node.outputs.end());
      judged.insert(reads.begin(), reads.end());
      continue;
    }
    if (std::any_of(reads.begin(), reads.end(),
                    [&](const auto& name) { return !name.empty() && !made.contains(name) && !is_known(graph, name); }))
      continue;
    for (const std::string& name : reads)
      if (!name.empty() && graph.constant(name) == nullptr && made.insert(name).second) part.inputs.push_back(*graph.value(name));
    made.insert(node.outputs.begin(), node.outputs.end());
    part.nodes.push_back(node);
  }
  const std::vector<Value> inputs = part.inputs;
  part.outputs.clear();
  for (const std::string& name : judged) {
    const auto value = graph.value(name);
    const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const Value& v) { return v.name == name; });
    if (made.contains(name) && !is_input && value && value->type == DType::f32) part.outputs.push_back(*value);
  }
  return part;
}

/// `graph` with these tensors rounded to their planned integers and back.
Graph rounded(Graph graph, const Plan& plan, const std::set<std::string>& tensors) {
  FreshNames fresh(graph);
  for (const std::string& tensor : tensors) {
    const TensorPlan& t = plan.tensors.at(tensor);
    const std::string scale = fresh(tensor + "_s");
    const std::string zero_point = fresh(tensor + "_z");
    const std::string integers = fresh(tensor + "_q");
    std::string source = tensor;
    std::string restored = fresh(tensor + "_r");
    const GraphIndex index(graph);
    if (index.is_output(tensor) && index.producer(tensor)) {
      source = fresh(tensor + "_f");
      for (std::string& output : graph.nodes[*index.producer(tensor)].outputs)
        if (output == tensor) output = source;
      restored = tensor;
    } else {
      replace_uses(graph, tensor, restored);
    }
    graph.initializers[scale] = Tensor::scalar(t.params.scale);
    graph.initializers[zero_point] = quantize(std::vector<float>{0}, {}, t.params, t.type);
    graph.nodes.push_back({"QuantizeLinear", fresh(integers), "", {source, scale, zero_point}, {integers}, {}, ""});
    graph.nodes.push_back({"DequantizeLinear", fresh(restored), "", {integers, scale, zero_point}, {restored}, {}, ""});
  }
  graph.values.clear();
  sort_nodes(graph);
  return graph;
}

/// Outputs of a graph over the samples: [output][sample].
using Outputs = std::vector<std::vector<Tensor>>;

Outputs run_all(const Graph& graph, const std::vector<Feeds>& feeds, int threads) {
  Session session(graph, {.threads = threads, .spin = false});
  Outputs outputs(graph.outputs.size());
  for (const Feeds& feed : feeds) {
    std::vector<Tensor> results = session.run(feed);
    for (size_t o = 0; o < results.size(); ++o) outputs[o].push_back(std::move(results[o]));
  }
  return outputs;
}

struct Verdict {
  double excess = 0;  ///< error / allowed, of the worst channel
  std::string words;
};

class HeadJudge {
 public:
  HeadJudge(const Graph& graph, const std::vector<Feeds>& feeds, const Plan& plan, const std::vector<bool>& tail, int threads)
      : threads_(threads) {
    std::vector<bool> light(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodePlan& n = plan.nodes.at(graph.nodes[i].outputs.front());
      light[i] = !(n.integer && op_row(graph.nodes[i])->flow == Flow::weighted);
    }
    decoding_ = decoding_graph(graph, tail, light);
    if (decoding_.outputs.empty()) return;

    std::vector<std::string> taps;
    for (const Value& input : decoding_.inputs) taps.push_back(input.name);
    const Outputs tapped = run_all(with_taps(graph, taps), feeds, threads);
    feeds_.resize(feeds.size());
    for (size_t k = 0; k < taps.size(); ++k)
      for (size_t s = 0; s < feeds.size(); ++s) feeds_[s].emplace_back(taps[k], tapped[graph.outputs.size() + k][s]);
    reference_ = run_all(decoding_, feeds_, threads);

    Plan body = plan;
    body.scheme.bias_correction = false;  // a correction before the tail makes what the tail may err no smaller
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!tail[i]) continue;
      body.nodes.at(graph.nodes[i].outputs.front()).integer = false;
      for (const std::string& output : graph.nodes[i].outputs) body.tensors.erase(output);
    }
    Log ignored;
    Graph quantized = insert_qdq(graph, body, ignored);
    quantized.outputs = decoding_.outputs;
    const Outputs before = run_all(quantized, feeds, threads);
    const ChannelAxes axes(graph);
    for (size_t o = 0; o < reference_.size(); ++o) {
      axes_.push_back(axes(decoding_.outputs[o].name, reference_[o].front().shape()));
      ChannelErrors allowed = channel_errors(reference_[o], before[o], axes_[o]);
      for (size_t c = 0; c < allowed.error.size(); ++c)
        allowed.error[c] = std::max(kShare * allowed.error[c], own_scale_error(allowed.low[c], allowed.high[c]));
      allowed_.push_back(std::move(allowed));
    }
  }

  [[nodiscard]] bool has_decoding() const { return !decoding_.outputs.empty(); }

  [[nodiscard]] Verdict judge(const Plan& plan, const std::set<std::string>& group) const {
    std::set<std::string> here;
    const GraphIndex index(decoding_);
    for (const std::string& tensor : group)
      if (!index.consumers(tensor).empty() || index.producer(tensor)) here.insert(tensor);
    Verdict verdict;
    if (here.empty()) return verdict;
    const Outputs test = run_all(rounded(decoding_, plan, here), feeds_, threads_);
    for (size_t o = 0; o < reference_.size(); ++o) {
      const ChannelErrors found = channel_errors(reference_[o], test[o], axes_[o]);
      for (size_t c = 0; c < found.error.size(); ++c) {
        const double excess = found.error[c] == 0 ? 0 : found.error[c] / std::max(allowed_[o].error[c], 1e-30);
        if (excess <= verdict.excess) continue;
        char text[160];
        std::snprintf(text, sizeof text, "mean error %.3g of channel %zu of output '%s', allowed %.3g", found.error[c], c,
                      decoding_.outputs[o].name.c_str(), allowed_[o].error[c]);
        verdict = {excess, text};
      }
    }
    return verdict;
  }

 private:
  int threads_;
  Graph decoding_;
  std::vector<Feeds> feeds_;
  Outputs reference_;
  std::vector<std::vector<size_t>> axes_;  ///< that count channels, by output
  std::vector<ChannelErrors> allowed_;
};

std::vector<Feeds> spread_samples(SampleSource& samples) {
  std::vector<Feeds> feeds;
  const size_t count = std::min(kSamples, samples.size());
  for (size_t k = 0; k < count; ++k)
    if (auto sample = samples.load(k * samples.size() / count)) feeds.push_back(std::move(sample->inputs));
  return feeds;
}

/// The node of a failing group that goes back to float: its last join, else its first maker; nullopt where none is integer.
std::optional<size_t> culprit(const Graph& graph, const Region& region, const std::vector<bool>& tail,
                              const std::set<std::string>& group) {
  std::optional<size_t> maker;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!tail[i] || !region.integer[i] || !group.contains(graph.nodes[i].outputs.front())) continue;
    if (op_row(graph.nodes[i])->flow == Flow::join) return i;
    maker = i;
  }
  return maker;
}

}  // namespace

void settle_head(const Graph& graph, Region& region, const PlanMaker& make_plan, SampleSource& samples, int threads, Log& log) {
  const std::vector<bool> tail = tail_nodes(graph);
  Plan plan = make_plan(region);
  const HeadJudge judge(graph, spread_samples(samples), plan, tail, threads);
  if (!judge.has_decoding()) return;

  std::map<std::set<std::string>, Verdict> known;  // a group that did not change keeps its verdict
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::set<std::string>> groups;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!tail[i] || !region.integer[i]) continue;
      for (const std::string& output : graph.nodes[i].outputs)
        if (const auto it = plan.tensors.find(output); it != plan.tensors.end() && it->second.quantized)
          groups[it->second.group].insert(output);
    }
    for (const auto& [name, group] : groups) {
      if (known.contains(group) && known.at(group).excess <= 1) continue;
      const Verdict verdict = known[group] = judge.judge(plan, group);
      if (verdict.excess <= 1) {
        if (!verdict.words.empty())
          log.push_back({"settle_head", "tensor '" + name + "'", "quantized", "alone it causes at most " + verdict.words});
        continue;
      }
      const auto node = culprit(graph, region, tail, group);
      if (!node) continue;
      region.integer[*node] = false;
      region.reasons[*node] = "in int8 '" + name + "' alone would cause " + verdict.words;
      log.push_back({"settle_head", graph.nodes[*node].label(), "float", region.reasons[*node]});
      shrink_region(graph, region);
      plan = make_plan(region);
      changed = true;
      break;
    }
  }
}

void keep_head_float(const Graph& graph, Region& region, Log& log) {
  const std::vector<bool> tail = tail_nodes(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!tail[i] || !region.integer[i] || op_row(graph.nodes[i])->flow == Flow::weighted) continue;
    region.integer[i] = false;
    region.reasons[i] = "no samples to measure the decoding by; give --data";
    log.push_back({"settle_head", graph.nodes[i].label(), "float", region.reasons[i]});
  }
  shrink_region(graph, region);
}

}  // namespace pare
