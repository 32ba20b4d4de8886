#include "calib/channel_means.h"

namespace pare {
namespace {

/// Four sums side by side; the order is fixed, so that the result is the same on every run.
__attribute__((target_clones("avx512f", "avx2", "default"))) double sum(const float* values, size_t count) {
  double parts[8] = {};
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (size_t k = 0; k < 8; ++k) parts[k] += static_cast<double>(values[i + k]);
  double all = 0;
  for (; i < count; ++i) all += static_cast<double>(values[i]);
  for (const double part : parts) all += part;
  return all;
}

}  // namespace

void ChannelMeans::add(std::span<const float> values, const Shape& shape, size_t axis) {
  if (axis >= shape.size() || values.empty()) return;
  const auto channels = static_cast<size_t>(shape[axis]);
  if (sums_.empty()) sums_.resize(channels);
  if (sums_.size() != channels) return;
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  const size_t rows = axis == 0 ? 1 : static_cast<size_t>(shape[0]);
  const size_t row = values.size() / rows;
  const size_t outer = row / (channels * inner);
  for (size_t r = 0; r < rows; ++r) {
    const float* at = values.data() + r * row;
    std::vector<double> totals(channels);
    for (size_t o = 0; o < outer; ++o)
      for (size_t c = 0; c < channels; ++c, at += inner) totals[c] += inner == 1 ? static_cast<double>(*at) : sum(at, inner);
    for (size_t c = 0; c < channels; ++c) sums_[c].add(static_cast<float>(totals[c] / static_cast<double>(outer * inner)));
  }
  rows_ += rows;
}

void ChannelMeans::merge(const ChannelMeans& other) {
  if (sums_.empty()) sums_.resize(other.sums_.size());
  if (sums_.size() != other.sums_.size()) return;
  for (size_t c = 0; c < sums_.size(); ++c) sums_[c].merge(other.sums_[c]);
  rows_ += other.rows_;
}

std::vector<float> ChannelMeans::means() const {
  std::vector<float> result;
  for (const ExactSum& s : sums_) result.push_back(static_cast<float>(s.value() / static_cast<double>(rows_)));
  return result;
}

ChannelMeans ChannelMeans::restore(std::vector<ExactSum> sums, uint64_t rows) {
  ChannelMeans m;
  m.sums_ = std::move(sums);
  m.rows_ = rows;
  return m;
}

}  // namespace pare
