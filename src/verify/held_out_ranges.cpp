#include "verify/held_out_ranges.h"

#include <algorithm>
#include <limits>

#include "ir/op_table.h"

namespace pare {
namespace {

bool is_signed(DType type) { return type == DType::i8 || type == DType::i16; }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Outside, the readers of a tensor hardly tell values apart: a range that is cut there loses nothing.
struct Flat {
  double below = -kInfinity, above = kInfinity;
};

Flat both(const Flat& a, const Flat& b) { return {std::min(a.below, b.below), std::max(a.above, b.above)}; }

Flat clip_limits(const Graph& graph, const Node& clip) {
  const auto limit = [&](size_t input, const char* attribute, double none) {
    if (clip.input(input).empty()) return clip.attribute(attribute, static_cast<float>(none)) + 0.0;
    const Tensor* constant = graph.constant(clip.input(input));
    return constant != nullptr && constant->count() == 1 ? static_cast<double>(to_floats(*constant).front()) : none;
  };
  return {limit(1, "min", -kInfinity), limit(2, "max", kInfinity)};
}

Flat flat_parts(const Graph& graph, const GraphIndex& index, const std::string& tensor);

/// The flat parts of one reader; nullopt for the product of x * Sigmoid(x), whose Sigmoid speaks for both.
std::optional<Flat> flat_of(const Graph& graph, const GraphIndex& index, const std::string& tensor, const Node& reader) {
  const auto is_sigmoid_of_tensor = [&](const std::string& name) {
    const auto producer = index.producer(name);
    return producer && graph.nodes[*producer].is("Sigmoid") && graph.nodes[*producer].inputs[0] == tensor;
  };
  if (reader.is("Sigmoid")) {
    bool product = index.is_output(reader.outputs[0]);
    for (const size_t i : index.consumers(reader.outputs[0])) product = product || graph.nodes[i].is("Mul");
    return Flat{-6, product ? kInfinity : 6};
  }
  if (reader.is("Mul") && (is_sigmoid_of_tensor(reader.inputs[0]) || is_sigmoid_of_tensor(reader.inputs[1]))) return std::nullopt;
  if (reader.is("Relu")) return Flat{0, kInfinity};
  if (reader.is("Tanh")) return Flat{-4, 4};
  if (reader.is("Gelu")) return Flat{-4, kInfinity};
  if (reader.is("HardSwish")) return Flat{-3, kInfinity};
  if (reader.is("HardSigmoid")) {
    const double alpha = reader.attribute("alpha", .2F);
    const double beta = reader.attribute("beta", .5F);
    return alpha > 0 ? Flat{-beta / alpha, (1 - beta) / alpha} : Flat{};
  }
  if (reader.is("Clip")) return clip_limits(graph, reader);
  const OpRow* row = op_row(reader);
  if (row == nullptr || (row->flow != Flow::move && row->flow != Flow::join)) return Flat{};
  Flat all{kInfinity, -kInfinity};
  for (const std::string& output : reader.outputs) all = both(all, flat_parts(graph, index, output));
  return all;
}

/// Known for tensors that only activations read: alone, as x * Sigmoid(x), or through operators that move values.
Flat flat_parts(const Graph& graph, const GraphIndex& index, const std::string& tensor) {
  if (index.is_output(tensor) || index.consumers(tensor).empty()) return {};
  Flat all{kInfinity, -kInfinity};
  for (const size_t i : index.consumers(tensor)) {
    const auto flat = flat_of(graph, index, tensor, graph.nodes[i]);
    if (flat) all = both(all, *flat);
  }
  return all;
}

}  // namespace

std::vector<WatchedTensor> watched_tensors(const Graph& test, const Graph& reference) {
  std::vector<WatchedTensor> watched;
  const GraphIndex index(reference);
  constexpr std::string_view kFloatCopy = "_float";  // pare's name of an output's float form inside an integer kernel
  for (const Node& node : test.nodes) {
    if (!node.is("QuantizeLinear")) continue;
    const Tensor* scale = test.constant(node.input(1));
    if (scale == nullptr || scale->count() != 1) continue;
    std::string name = node.inputs[0];
    if (!reference.value(name) && name.size() > kFloatCopy.size() && name.ends_with(kFloatCopy))
      name.resize(name.size() - kFloatCopy.size());
    const auto value = reference.value(name);
    if (!value || value->type != DType::f32 || reference.constant(name) != nullptr) continue;
    const Tensor* zero = test.constant(node.input(2));
    const auto stated = static_cast<DType>(node.attribute<int64_t>("output_dtype", 0));
    const DType type = zero != nullptr ? zero->type() : stated != DType::undefined ? stated : DType::u8;
    const double step = to_floats(*scale).front();
    const double offset = zero != nullptr ? to_floats(*zero).front() : 0;
    const double steps = dtype_size(type) == 1 ? 256 : 65536;
    const double first = is_signed(type) ? -steps / 2 : 0;
    const double low = step * (first - offset - .5);
    const double high = step * (first + steps - 1 - offset + .5);
    const Flat flat = flat_parts(reference, index, name);
    watched.push_back({name, low <= flat.below + step ? -kInfinity : low, high >= flat.above - step ? kInfinity : high});
  }
  return watched;
}

HeldOutRanges::HeldOutRanges(std::vector<WatchedTensor> tensors) : tensors_(std::move(tensors)), counts_(tensors_.size()) {}

void HeldOutRanges::add(size_t index, std::span<const float> values) {
  Counts& counts = counts_[index];
  const auto low = static_cast<float>(tensors_[index].low);
  const auto high = static_cast<float>(tensors_[index].high);
  int64_t outside = 0;
  float seen_low = counts.low;
  float seen_high = counts.high;
  for (const float x : values) {
    outside += x >= low && x <= high ? 0 : 1;
    seen_low = std::min(seen_low, x);
    seen_high = std::max(seen_high, x);
  }
  counts.outside += outside;
  counts.all += static_cast<int64_t>(values.size());
  counts.low = seen_low;
  counts.high = seen_high;
}

double HeldOutRanges::share_outside() const {
  int64_t outside = 0;
  int64_t all = 0;
  for (const Counts& c : counts_) outside += c.outside, all += c.all;
  return all == 0 ? 0 : static_cast<double>(outside) / static_cast<double>(all);
}

std::vector<HeldOutRange> HeldOutRanges::worst(size_t count) const {
  std::vector<HeldOutRange> rows;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Counts& c = counts_[i];
    if (c.outside > 0)
      rows.push_back({tensors_[i].tensor, static_cast<double>(c.outside) / static_cast<double>(c.all), tensors_[i].low,
                      tensors_[i].high, c.low, c.high});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.share_outside > b.share_outside; });
  if (rows.size() > count) rows.resize(count);
  return rows;
}

}  // namespace pare
