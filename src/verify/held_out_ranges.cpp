#include "verify/held_out_ranges.h"

#include <algorithm>
#include <limits>

namespace pare {
namespace {

bool is_signed(DType type) { return type == DType::i8 || type == DType::i16; }

/// Below this, the readers of the tensor hardly tell values apart: a range that is cut there loses nothing. Known for tensors
/// that only an activation reads (alone, or as x * Sigmoid(x)).
double flat_below(const Graph& graph, const GraphIndex& index, const std::string& tensor) {
  constexpr double kNowhere = -std::numeric_limits<double>::infinity();
  bool sigmoid = false;
  bool product = false;
  double limit = kNowhere;
  for (const size_t reader : index.consumers(tensor)) {
    const Node& node = graph.nodes[reader];
    if (node.is("Sigmoid"))
      sigmoid = true, limit = -6;
    else if (node.is("Mul"))
      product = true;
    else if (node.is("Relu") || node.is("HardSwish") || node.is("HardSigmoid") || node.is("Clip"))
      limit = -3;
    else if (node.is("Reshape") || node.is("Concat") || node.is("Transpose"))
      limit = flat_below(graph, index, node.outputs[0]);
    else
      return kNowhere;
  }
  return product && !sigmoid ? kNowhere : limit;
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
    const DType type = zero != nullptr ? zero->type() : DType::u8;
    const double step = to_floats(*scale).front();
    const double offset = zero != nullptr ? to_floats(*zero).front() : 0;
    const double steps = dtype_size(type) == 1 ? 256 : 65536;
    const double first = is_signed(type) ? -steps / 2 : 0;
    const double low = step * (first - offset - .5);
    const double flat = flat_below(reference, index, name);
    const bool cut = low <= flat + step && low > 2 * flat;  // a range that ends at the flat part
    watched.push_back({name, cut ? -std::numeric_limits<double>::infinity() : low, step * (first + steps - 1 - offset + .5)});
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
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.share_outside > b.share_outside; });
  if (rows.size() > count) rows.resize(count);
  return rows;
}

}  // namespace pare
