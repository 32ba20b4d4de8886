#include "numeric/range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "pare/error.h"

namespace pare {
namespace {

struct MethodRow {
  RangeMethod method;
  std::string_view name;
};
constexpr std::array<MethodRow, 5> kMethods{{{RangeMethod::minmax, "minmax"},
                                             {RangeMethod::percentile, "percentile"},
                                             {RangeMethod::entropy, "entropy"},
                                             {RangeMethod::l2, "l2"},
                                             {RangeMethod::mean_minmax, "mean-minmax"}}};

Range clip_to_extremes(const Histogram& h, double threshold) {
  return {std::max<double>(h.min(), -threshold), std::min<double>(h.max(), threshold)};
}

/// Divergence of the histogram clipped to bins [first, last) from its quantized copy.
double divergence(std::vector<uint64_t> bins, size_t first, size_t last, int levels) {
  constexpr size_t kZero = Histogram::kHalf;
  bins[kZero] = std::min(bins[kZero], std::max(bins[kZero - 1], bins[kZero + 1]));
  const size_t width = last - first;
  std::vector<double> p(width);
  for (size_t i = 0; i < width; ++i) p[i] = static_cast<double>(bins[first + i]);
  std::vector<double> clipped = p;
  for (size_t i = 0; i < first; ++i) clipped.front() += static_cast<double>(bins[i]);
  for (size_t i = last; i < bins.size(); ++i) clipped.back() += static_cast<double>(bins[i]);

  std::vector<double> mass(static_cast<size_t>(levels)), used(static_cast<size_t>(levels));
  const auto level = [&](size_t i) { return (2 * i + 1) * static_cast<size_t>(levels) / (2 * width); };
  double inside = 0;
  double total = 0;
  for (size_t i = 0; i < width; ++i) {
    total += clipped[i];
    inside += p[i];
    if (clipped[i] == 0) continue;
    mass[level(i)] += p[i];
    used[level(i)] += 1;
  }
  double sum = 0;
  for (size_t i = 0; i < width; ++i) {
    if (clipped[i] == 0) continue;
    const double q = std::max(mass[level(i)] / used[level(i)] / std::max(inside, 1.0), 1e-12);
    const double reference = clipped[i] / total;
    sum += reference * std::log(reference / q);
  }
  return sum;
}

/// Sums over the bins before each position: count, value, value squared, with each value at the middle of its bin.
struct Moments {
  std::vector<double> n, x, xx;

  explicit Moments(const Histogram& h) : n(h.bins().size() + 1), x(n.size()), xx(n.size()) {
    for (size_t i = 0; i < h.bins().size(); ++i) {
      const auto c = static_cast<double>(h.bins()[i]);
      const double middle = h.edge(i) + h.width() / 2;
      n[i + 1] = n[i] + c;
      x[i + 1] = x[i] + c * middle;
      xx[i + 1] = xx[i] + c * middle * middle;
    }
  }
  /// Sum of (value - to)^2 over the bins [a, b).
  [[nodiscard]] double squared_distance(size_t a, size_t b, double to) const {
    return (xx[b] - xx[a]) - 2 * to * (x[b] - x[a]) + to * to * (n[b] - n[a]);
  }
};

}  // namespace

std::string_view method_name(RangeMethod method) {
  for (const MethodRow& row : kMethods)
    if (row.method == method) return row.name;
  return "";
}

RangeMethod range_method(std::string_view name) {
  std::string known;
  for (const MethodRow& row : kMethods) {
    if (row.name == name) return row.method;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::usage, "'" + std::string(name) + "' is no range method; known are " + known).at("--range");
}

Range percentile_range(const Histogram& h, double percentile) {
  const double outside =
      std::floor(static_cast<double>(h.count()) * (100 - percentile) / 100 + 1e-6);  // 99.9 has no exact double
  const auto& bins = h.bins();
  double seen = 0;
  for (size_t k = Histogram::kHalf; k-- > 0 && !bins.empty();) {
    const size_t up = Histogram::kHalf + k;
    const size_t down = Histogram::kHalf - 1 - k;
    seen += static_cast<double>(bins[up] + bins[down]);
    if (seen > outside) return clip_to_extremes(h, (static_cast<double>(k) + 1) * h.width());
  }
  return {h.min(), h.max()};
}

Range entropy_range(const Histogram& h, int levels) {
  if (h.count() == 0) return {};
  const auto lowest = static_cast<int>(std::floor(h.min() / h.width()));
  const auto end = static_cast<int>(std::floor(h.max() / h.width())) + 1;
  const int magnitude = std::max(-lowest, end);
  double best = std::numeric_limits<double>::max();
  constexpr int kCandidates = 128;
  const Range kept = percentile_range(h, kEntropyKeeps);
  const int smallest = std::min(std::max(levels / 2, static_cast<int>(std::max(-kept.low, kept.high) / h.width())), magnitude);
  int chosen = magnitude;
  const auto consider = [&](int bins) {
    const auto first = static_cast<size_t>(std::min(std::max(lowest, -bins), 0) + Histogram::kHalf);
    const auto last = static_cast<size_t>(std::max(std::min(end, bins), 1) + Histogram::kHalf);
    const double d = divergence(h.bins(), first, last, levels);
    if (d < best) best = d, chosen = bins;
  };
  for (int c = 0; c <= kCandidates; ++c) consider(std::max(1, smallest + (magnitude - smallest) * c / kCandidates));
  const int spacing = (magnitude - smallest) / kCandidates;
  const int middle = chosen;
  for (int bins = std::max(1, middle - spacing); bins <= std::min(magnitude, middle + spacing); ++bins) consider(bins);
  return clip_to_extremes(h, chosen * h.width());
}

Range l2_range(const Histogram& h, int levels) {
  if (h.count() == 0) return {};
  const Moments moments(h);
  const double low_end = std::min(0.0, std::floor(h.min() / h.width()));
  const double high_end = std::max(0.0, std::floor(h.max() / h.width()) + 1);
  const auto cost = [&](double low, double high) {  // in bins from zero
    const auto a = static_cast<size_t>(low + Histogram::kHalf);
    const auto b = static_cast<size_t>(high + Histogram::kHalf);
    const double step = (high - low) * h.width() / (levels - 1);
    const double half = std::floor((high - low) / (levels - 1) / 2);  // bins that round to zero
    const auto c = static_cast<size_t>(std::max(low, -half) + Histogram::kHalf);
    const auto d = static_cast<size_t>(std::min(high, half) + Histogram::kHalf);
    return (moments.n[c] - moments.n[a] + moments.n[b] - moments.n[d]) * step * step / 12 + moments.squared_distance(c, d, 0) +
           moments.squared_distance(0, a, low * h.width()) + moments.squared_distance(b, h.bins().size(), high * h.width());
  };
  double low = low_end;
  double high = high_end;
  constexpr int kSteps = 256;
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    double best = std::numeric_limits<double>::max();
    double chosen = high;
    for (int s = 1; s <= kSteps; ++s) {
      const double candidate = std::ceil(high_end * s / kSteps);
      if (candidate > low && cost(low, candidate) < best) best = cost(low, candidate), chosen = candidate;
    }
    high = chosen;
    best = std::numeric_limits<double>::max();
    chosen = low;
    for (int s = 0; s <= kSteps; ++s) {
      const double candidate = std::floor(low_end * s / kSteps);
      if (candidate < high && cost(candidate, high) < best) best = cost(candidate, high), chosen = candidate;
    }
    low = chosen;
  }
  return {std::max<double>(h.min(), low * h.width()), std::min<double>(h.max(), high * h.width())};
}

}  // namespace pare
