#include "verify/latency.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "pare/error.h"

namespace pare {
namespace {

double steady_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double fastest(const std::function<void()>& function, int runs, const std::function<double()>& clock_ms) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const double start = clock_ms();
    function();
    best = std::min(best, clock_ms() - start);
  }
  return best;
}

}  // namespace

std::vector<Latency> measure_latency(std::span<const std::function<void()>> functions, const LatencyOptions& options) {
  if (options.rounds < 1 || options.runs < 1)
    throw Error(ErrorKind::usage,
                std::to_string(options.rounds) + " rounds of " + std::to_string(options.runs) + " runs, allowed is 1 or more");
  const std::function<double()> clock_ms = options.clock_ms ? options.clock_ms : steady_ms;

  for (const auto& function : functions) fastest(function, options.runs, clock_ms);
  std::vector<std::vector<double>> times(functions.size());
  for (int round = 0; round < options.rounds; ++round)
    for (size_t i = 0; i < functions.size(); ++i) times[i].push_back(fastest(functions[i], options.runs, clock_ms));

  std::vector<Latency> rows;
  for (const std::vector<double>& own : times) {
    std::vector<double> ratios;
    for (size_t round = 0; round < own.size(); ++round) ratios.push_back(own[round] / times.front()[round]);
    rows.push_back({.median_ms = quantile(own, .5),
                    .p90_ms = quantile(own, .9),
                    .min_ms = quantile(own, 0),
                    .ratio = quantile(ratios, .5),
                    .ratio_interval = median_interval(ratios)});
  }
  return rows;
}

}  // namespace pare
