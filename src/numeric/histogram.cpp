#include "numeric/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

// The hot loops are compiled for each instruction set and chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define PARE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PARE_CLONES
#endif

namespace pare {
namespace {

constexpr size_t kLanes = 32;

struct Lanes {
  std::array<float, kLanes> min, max;
  std::array<int32_t, kLanes> odd;
};

PARE_CLONES void scan(const float* values, size_t count, Lanes& lanes) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (size_t i = 0; i + kLanes <= count; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      const float x = values[i + j];
      const bool finite = x >= -kLargest && x <= kLargest;
      const float low = finite ? x : kLargest;
      const float high = finite ? x : -kLargest;
      lanes.min[j] = low < lanes.min[j] ? low : lanes.min[j];
      lanes.max[j] = high > lanes.max[j] ? high : lanes.max[j];
      lanes.odd[j] += finite ? 0 : 1;
    }
  }
}

PARE_CLONES void indices(const float* values, size_t count, float inverse_width, int32_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const float scaled = values[i] * inverse_width;
    const auto truncated = static_cast<int32_t>(scaled);
    // A tiny negative value may underflow to -0; its bin is still the one below zero.
    const bool below = (static_cast<float>(truncated) > scaled) | ((scaled == 0) & (values[i] < 0));
    out[i] = truncated - (below ? 1 : 0) + Histogram::kHalf;
  }
}

/// Smallest exponent whose bins hold every value of this magnitude: |x| < kHalf * 2^e, from |x| < 2^(ilogb(x) + 1) and kHalf =
/// 2^12.
int exponent_for(float magnitude) {
  if (magnitude == 0) return Histogram::kMinExponent;
  return std::max(Histogram::kMinExponent, std::ilogb(magnitude) - 11);
}

}  // namespace

Extremes extremes(std::span<const float> values) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  Lanes lanes;
  lanes.min.fill(kLargest);
  lanes.max.fill(-kLargest);
  lanes.odd.fill(0);
  Extremes result;
  constexpr size_t kBlock = size_t{1} << 24;  // keeps each lane's 32-bit counter from overflowing
  uint64_t odd = 0;
  for (size_t i = 0; i < values.size(); i += kBlock) {
    const size_t n = std::min(kBlock, values.size() - i);
    scan(values.data() + i, n, lanes);
    for (int32_t& lane : lanes.odd) odd += static_cast<uint64_t>(lane), lane = 0;
  }
  float low = *std::min_element(lanes.min.begin(), lanes.min.end());
  float high = *std::max_element(lanes.max.begin(), lanes.max.end());
  for (size_t i = values.size() / kLanes * kLanes; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      ++odd;
      continue;
    }
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  result.not_finite = odd;
  result.any = odd < values.size();
  if (result.any)
    result.min = low + 0.F, result.max = high + 0.F;  // -0 becomes 0, since the order decides which one is met first
  return result;
}

double Histogram::width() const noexcept { return std::ldexp(1.0, exponent_); }

double Histogram::edge(size_t i) const noexcept { return (static_cast<double>(i) - kHalf) * width(); }

void Histogram::add(std::span<const float> values) { add(values, extremes(values)); }

void Histogram::add(std::span<const float> values, const Extremes& found) {
  not_finite_ += found.not_finite;
  if (!found.any) return;
  min_ = count_ == 0 ? found.min : std::min(min_, found.min);
  max_ = count_ == 0 ? found.max : std::max(max_, found.max);
  if (bins_.empty()) bins_.resize(kBins);
  widen(std::max(exponent_, exponent_for(std::max(-found.min, found.max))));

  constexpr size_t kChunk = 1024;
  std::array<int32_t, kChunk> slots;
  // Four tables in turn, since activations cluster near zero and an increment waits for the one before it in the same bin.
  constexpr size_t kTables = 4;
  std::vector<uint32_t> tables(kTables * bins_.size());
  const auto table = [&](size_t t) { return tables.data() + t * bins_.size(); };
  const float inverse = std::ldexp(1.0F, -exponent_);
  const auto flush = [&] {
    for (size_t b = 0; b < bins_.size(); ++b)
      for (size_t t = 0; t < kTables; ++t) bins_[b] += std::exchange(table(t)[b], 0);
  };
  size_t pending = 0;
  for (size_t i = 0; i < values.size(); i += kChunk) {
    const size_t n = std::min(kChunk, values.size() - i);
    if (found.not_finite == 0) {
      indices(values.data() + i, n, inverse, slots.data());
      size_t j = 0;
      for (; j + kTables <= n; j += kTables)
        for (size_t t = 0; t < kTables; ++t) ++table(t)[static_cast<size_t>(slots[j + t])];
      for (; j < n; ++j) ++table(0)[static_cast<size_t>(slots[j])];
    } else {
      for (size_t j = i; j < i + n; ++j)
        if (std::isfinite(values[j]))
          indices(values.data() + j, 1, inverse, slots.data()), ++table(0)[static_cast<size_t>(slots[0])];
    }
    if ((pending += n) > (uint32_t{1} << 31)) flush(), pending = 0;
  }
  flush();
  count_ += values.size() - found.not_finite;
}

void Histogram::merge(const Histogram& other) {
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  if (count_ == 0) {
    const uint64_t odd = not_finite_;
    *this = other;
    not_finite_ = odd;
    return;
  }
  Histogram addend = other;
  const int exponent = std::max(exponent_, other.exponent_);
  widen(exponent);
  addend.widen(exponent);
  for (size_t b = 0; b < bins_.size(); ++b) bins_[b] += addend.bins_[b];
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
}

void Histogram::widen(int exponent) {
  const int doublings = exponent - exponent_;
  if (doublings <= 0) return;
  exponent_ = exponent;
  if (count_ == 0) return;
  std::vector<uint64_t> wide(bins_.size());
  const int shift = std::min(doublings, 30);
  for (int64_t k = -kHalf; k < kHalf; ++k)
    wide[static_cast<size_t>((k >> shift) + kHalf)] += bins_[static_cast<size_t>(k + kHalf)];
  bins_ = std::move(wide);
}

Histogram Histogram::restore(int exponent, float min, float max, uint64_t not_finite, std::vector<uint64_t> bins) {
  Histogram h;
  h.exponent_ = exponent;
  h.min_ = min;
  h.max_ = max;
  h.not_finite_ = not_finite;
  h.bins_ = std::move(bins);
  for (const uint64_t n : h.bins_) h.count_ += n;
  return h;
}

}  // namespace pare
