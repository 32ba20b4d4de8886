#pragma once

#include <functional>
#include <span>
#include <vector>

#include "verify/interval.h"

namespace pare {

struct LatencyOptions {
  int rounds = 20;                        ///< rounds that count, at least 1; one more runs before them to warm up
  int runs = 5;                           ///< runs of each function in a round, at least 1; the fastest counts
  std::function<double()> clock_ms = {};  ///< milliseconds since any fixed moment; unset: the steady clock
};

/// Figures of one function over the rounds, in milliseconds.
struct Latency {
  double median_ms = 0;  ///< p50 of the rounds
  double p90_ms = 0;
  double min_ms = 0;
  double ratio = 1;              ///< median over the rounds of this function's time / the first function's
  Interval ratio_interval = {};  ///< distribution-free, of that median
};

/// Times functions side by side: each round runs each function `runs` times in a row, in order, so that a slow spell of the
/// machine falls on all of them and a noisy neighbour costs a run, not the figure. Results in the order of `functions`. Errors:
/// ErrorKind::usage for rounds or runs below 1; what a function throws comes through.
std::vector<Latency> measure_latency(std::span<const std::function<void()>> functions, const LatencyOptions& options = {});

}  // namespace pare
