#include "verify/interval.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/parallel.h"
#include "pare/error.h"

namespace pare {
namespace {

double sorted_quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void require_some(const std::vector<double>& values) {
  if (values.empty()) throw Error(ErrorKind::internal, "a quantile of no values");
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  require_some(values);
  std::sort(values.begin(), values.end());
  return sorted_quantile(values, q);
}

Interval wilson(int64_t hits, int64_t trials) {
  if (trials <= 0) return {0, 1};
  constexpr double z = 1.959963984540054;  // 97.5 % point of the normal distribution
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n;
  const double scale = 1 + z * z / n;
  const double centre = (p + z * z / (2 * n)) / scale;
  const double half = z / scale * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {hits == 0 ? 0 : centre - half, hits == trials ? 1 : centre + half};
}

Interval median_interval(std::vector<double> values) {
  require_some(values);
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  size_t k = 0;
  double below = 0;  // P(Binomial(n, 1/2) <= k)
  for (; k < n; ++k) {
    const auto i = static_cast<double>(k);
    const auto size = static_cast<double>(n);
    below += std::exp(std::lgamma(size + 1) - std::lgamma(i + 1) - std::lgamma(size - i + 1) - size * std::log(2.0));
    if (below > .025) break;
  }
  const size_t first = k == 0 ? 0 : k - 1;
  return {values[first], values[n - 1 - first]};
}

std::vector<double> bootstrap(size_t items, int resamples, uint64_t seed, int threads,
                              const std::function<double(std::span<const uint32_t> drawn)>& statistic) {
  if (items == 0 || resamples < 1) throw Error(ErrorKind::internal, "a bootstrap without items or resamples");
  std::vector<double> results(static_cast<size_t>(resamples));
  parallel_for(results.size(), threads, [&](size_t resample) {
    std::seed_seq words{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(resample)};
    std::mt19937_64 generator(words);
    std::vector<uint32_t> drawn(items, 0);
    for (size_t i = 0; i < items; ++i) ++drawn[generator() % items];
    results[resample] = statistic(drawn);
  });
  return results;
}

Interval percentile_interval(std::vector<double> values) {
  require_some(values);
  std::sort(values.begin(), values.end());
  return {sorted_quantile(values, .025), sorted_quantile(values, .975)};
}

}  // namespace pare
