#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pare {

/// The two ends of a 95 % confidence interval.
struct Interval {
  double low = 0, high = 0;
};

/// The q-quantile, q in [0, 1], between neighbouring order statistics (numpy's default, Hyndman and Fan's type 7).
/// Errors: ErrorKind::internal for no values.
double quantile(std::vector<double> values, double q);

/// Wilson's score interval of a proportion (Wilson 1927; method 3 of Newcombe, Statistics in Medicine 17, 1998); 0 to 1 for no
/// trials.
Interval wilson(int64_t hits, int64_t trials);

/// Distribution-free interval of the median: the k-th smallest and k-th largest value, k the largest with
/// P(Binomial(n, 1/2) < k) <= 2.5 %. Below 6 values no pair reaches 95 % and smallest and largest are given.
/// Errors: ErrorKind::internal for no values.
Interval median_interval(std::vector<double> values);

/// The bootstrap (Efron 1979): draws `items` items with replacement `resamples` times and returns the statistic of each draw.
/// `statistic` receives how often each item was drawn, on several threads at once, and must not write to shared state. The result
/// depends on `seed` alone, not on `threads`. Errors: ErrorKind::internal for no items or no resamples.
std::vector<double> bootstrap(size_t items, int resamples, uint64_t seed, int threads,
                              const std::function<double(std::span<const uint32_t> drawn)>& statistic);

/// From the 2.5 % to the 97.5 % quantile of a bootstrap's values. Errors: ErrorKind::internal for no values.
Interval percentile_interval(std::vector<double> values);

}  // namespace pare
