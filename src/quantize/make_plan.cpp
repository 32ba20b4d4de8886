#include "quantize/make_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "ir/op_table.h"
#include "quantize/follow.h"

namespace pare {
namespace {

constexpr double kShareBits = 2;

/// Disjoint sets of tensors that share one scale.
class Groups {
 public:
  std::string find(const std::string& tensor) {
    const auto it = parent_.find(tensor);
    if (it == parent_.end() || it->second == tensor) return tensor;
    return it->second = find(it->second);
  }
  void join(const std::string& a, const std::string& b) { parent_[find(b)] = find(a); }

 private:
  std::map<std::string, std::string> parent_;
};

Flow producer_flow(const Graph& graph, const GraphIndex& index, const Region& region, const std::string& tensor) {
  const auto p = index.producer(tensor);
  return p && region.integer[*p] ? op_row(graph.nodes[*p])->flow : Flow::mix;
}

/// The output's range follows from the inputs' (and is not measured).
bool derived(Flow flow) { return flow == Flow::move || flow == Flow::join || flow == Flow::curve; }

Range measured_range(const TensorStatistics& s, const Scheme& scheme) {
  const Histogram& h = s.histogram;
  const QLimits limits = limits_of(scheme.activation);
  const int levels = std::min(limits.high - limits.low + 1, 256);
  switch (scheme.range) {
    case RangeMethod::minmax: return {h.min(), h.max()};
    case RangeMethod::percentile: return percentile_range(h, scheme.percentile);
    case RangeMethod::entropy: return entropy_range(h, levels);
    case RangeMethod::l2: return l2_range(h, levels);
    case RangeMethod::mean_minmax: {
      const auto n = static_cast<double>(std::max<uint64_t>(s.samples, 1));
      return {s.sum_of_minima.value() / n, s.sum_of_maxima.value() / n};
    }
  }
  return {};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

class Planner {
 public:
  Planner(const Graph& graph, const Region& region, const std::map<std::string, TensorStatistics>& statistics,
          const Scheme& scheme)
      : graph_(graph), index_(graph), region_(region), statistics_(statistics), scheme_(scheme) {
    plan_.scheme = scheme;
  }

  Plan run() {
    wanted_ = integer_tensors(graph_, region_);
    for (const Value& input : graph_.inputs)
      if (wanted_.contains(input.name)) measure(input.name);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) visit(i);
    settle_groups();
    if (scheme_.bias_correction)
      for (auto& [name, t] : plan_.tensors)
        if (const auto it = statistics_.find(name); it != statistics_.end()) t.channel_means = it->second.channels.means();
    describe_nodes();
    return std::move(plan_);
  }

 private:
  double width(const std::string& tensor) const {
    const Range& r = plan_.tensors.at(tensor).range;
    return std::max(r.high, 0.0) - std::min(r.low, 0.0);
  }

  void measure(const std::string& tensor) {
    const auto it = statistics_.find(tensor);
    if (it == statistics_.end() || it->second.histogram.count() == 0)
      throw Error(ErrorKind::input, "the statistics hold no values of it").at("tensor '" + tensor + "'").fix("calibrate again");
    TensorPlan& t = plan_.tensors[tensor];
    t.range = measured_range(it->second, scheme_);
    t.method = method_name(scheme_.range);
    if (!scheme_.follow_activation) return;
    const Interval useful = useful_interval(graph_, index_, tensor);
    if (useful.low > t.range.low && useful.low < t.range.high) {
      t.reason = "cut from " + number(t.range.low) + ": what reads it is flat below " + number(useful.low);
      t.range.low = useful.low;
    }
    if (useful.high < t.range.high && useful.high > t.range.low) {
      t.reason += (t.reason.empty() ? "" : "; ") + ("cut from " + number(t.range.high)) + ": what reads it is flat above " +
                  number(useful.high);
      t.range.high = useful.high;
    }
  }

  void visit(size_t i) {
    const Node& node = graph_.nodes[i];
    const OpRow* row = op_row(node);
    for (const std::string& output : node.outputs) {
      if (!wanted_.contains(output)) continue;
      const Flow flow = producer_flow(graph_, index_, region_, output);
      if (!derived(flow)) {
        measure(output);
        continue;
      }
      const std::vector<std::string> inputs = activation_inputs(graph_, node);
      TensorPlan& t = plan_.tensors[output];
      if (flow == Flow::move) {
        t.range = plan_.tensors.at(inputs[0]).range;
        t.method = "moves '" + inputs[0] + "'";
        groups_.join(inputs[0], output);
      } else if (flow == Flow::curve) {
        const Range in = plan_.tensors.at(inputs[0]).range;
        t.range = {row->curve(std::min(in.low, 0.0)), row->curve(std::max(in.high, 0.0))};
        t.method = node.op_type + " of '" + inputs[0] + "'";
      } else {
        join(node, inputs, output);
      }
    }
  }

  /// All that reads `tensor` takes its scale from the group of `output`.
  bool stays_inside(const std::string& tensor, const std::string& output) {
    if (index_.is_output(tensor)) return false;
    for (const size_t reader : index_.consumers(tensor)) {
      const Node& node = graph_.nodes[reader];
      const Flow flow = region_.integer[reader] ? op_row(node)->flow : Flow::mix;
      if (flow == Flow::join && groups_.find(node.outputs.front()) == groups_.find(output)) continue;
      if (flow != Flow::move) return false;
      for (const std::string& moved : node.outputs)
        if (!stays_inside(moved, output)) return false;
    }
    return true;
  }

  /// No tensor of the group of `input` loses more than `kShareBits` bits under the scale of `output`.
  bool can_share(const std::string& input, const std::string& output) {
    const std::string group = groups_.find(input);
    for (const auto& [name, t] : plan_.tensors)
      if (groups_.find(name) == group && width(name) * std::exp2(kShareBits) < width(output) && !stays_inside(name, output))
        return false;
    return true;
  }

  void join(const Node& node, const std::vector<std::string>& inputs, const std::string& output) {
    TensorPlan& t = plan_.tensors[output];
    t.range = plan_.tensors.at(inputs[0]).range;
    for (const std::string& name : inputs) {
      const Range& r = plan_.tensors.at(name).range;
      t.range = {std::min(t.range.low, r.low), std::max(t.range.high, r.high)};
    }
    for (const std::string& name : node.inputs) {
      const Tensor* constant = graph_.constant(name);
      if (constant == nullptr || constant->type() != DType::f32) continue;
      const Extremes e = extremes(constant->as<float>());
      t.range = {std::min<double>(t.range.low, e.min), std::max<double>(t.range.high, e.max)};
    }
    t.method = "widest of " + std::to_string(inputs.size()) + " inputs";
    for (const std::string& name : inputs)
      if (can_share(name, output)) groups_.join(output, name);
  }

  void settle_groups() {
    std::map<std::string, Range> widest;
    for (const auto& [name, t] : plan_.tensors) {
      const auto [it, first] = widest.try_emplace(groups_.find(name), t.range);
      if (!first) it->second = {std::min(it->second.low, t.range.low), std::max(it->second.high, t.range.high)};
    }
    for (auto& [name, t] : plan_.tensors) {
      t.group = groups_.find(name);
      t.range = widest.at(t.group);
      t.quantized = true;
      t.type = scheme_.activation;
      t.params = choose_params(t.range, t.type, scheme_.symmetric);
    }
  }

  void describe_nodes() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      plan_.nodes[node.outputs.front()] = {node.op_type, region_.integer[i], region_.reasons[i]};
      for (const std::string& output : node.outputs) {
        if (region_.integer[i] && !index_.consumers(output).empty()) {
          explain(output, "the Q stands behind '" + graph_.nodes[index_.consumers(output).front()].outputs.front() + "'");
        } else {
          explain(output, "made in float: " + region_.reasons[i]);
        }
      }
    }
    for (const Value& input : graph_.inputs) explain(input.name, "no integer node reads it");
  }

  /// The reason of a float tensor.
  void explain(const std::string& tensor, const std::string& reason) {
    const auto value = graph_.value(tensor);
    if (!tensor.empty() && value && value->type == DType::f32 && !plan_.tensors.contains(tensor))
      plan_.tensors[tensor].reason = reason;
  }

  const Graph& graph_;
  const GraphIndex index_;
  const Region& region_;
  const std::map<std::string, TensorStatistics>& statistics_;
  const Scheme& scheme_;
  std::set<std::string> wanted_;
  Groups groups_;
  Plan plan_;
};

}  // namespace

std::set<std::string> tensors_to_measure(const Graph& graph, const Region& region) {
  const GraphIndex index(graph);
  std::set<std::string> tensors = integer_tensors(graph, region);
  std::erase_if(tensors, [&](const std::string& t) { return derived(producer_flow(graph, index, region, t)); });
  const std::vector<bool> tail = tail_nodes(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!tail[i] || !region.integer[i]) continue;
    const Node& node = graph.nodes[i];
    if (op_row(node)->flow == Flow::clamp) tensors.insert(node.inputs[0]);
    for (const std::string& output : node.outputs)
      if (!output.empty()) tensors.insert(output);
  }
  return tensors;
}

std::map<std::string, size_t> channels_to_measure(const Graph& graph, const Region& region) {
  std::map<std::string, size_t> axes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!region.integer[i] || op_row(node)->flow != Flow::weighted || graph.constant(node.input(1)) == nullptr) continue;
    const auto value = graph.value(node.inputs[0]);
    if (value && value->dims) axes[node.inputs[0]] = node.is("Conv") ? 1 : value->dims->size() - 1;
  }
  return axes;
}

Plan make_plan(const Graph& graph, const Region& region, const std::map<std::string, TensorStatistics>& statistics,
               const Scheme& scheme) {
  return Planner(graph, region, statistics, scheme).run();
}

}  // namespace pare
