#include "tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pare::cli {
namespace {

std::string bytes(int64_t n) {
  return n <= 0 ? "-" : n < 1'000'000 ? fmt::format("{:.1f} kB", n / 1e3) : fmt::format("{:.2f} MB", n / 1e6);
}

std::string decibel(double db) { return std::isinf(db) ? (db > 0 ? "exact" : "-inf dB") : fmt::format("{:.1f} dB", db); }

}  // namespace

std::string table(const VerifyReport& r) {
  std::string text;
  for (const std::string& n : r.notices) text += fmt::format("notice: {}\n", n);
  const bool map = !r.models.empty() && r.models.front().map.has_value();
  const bool timed = !r.models.empty() && r.models.front().p50_ms > 0;
  text += fmt::format("{:<16} {:>9}", "model", "size");
  if (map) text += fmt::format("  {:>6} {:>15} {:>6}", "mAP", "[95 %]", "mAP50");
  if (timed) text += fmt::format("  {:>8} {:>7} {:>13}", "p50 ms", "ratio", "[95 %]");
  text += fmt::format("  {}\n", "kernels integer/float");
  for (const ModelFigures& m : r.models) {
    text += fmt::format("{:<16} {:>9}", m.role, bytes(m.bytes));
    if (map && m.map)
      text += fmt::format("  {:>6.4f} {:>15} {:>6.4f}", m.map->value, fmt::format("[{:.3f}, {:.3f}]", m.map->low, m.map->high),
                          *m.map50);
    else if (map)
      text += fmt::format("  {:>6} {:>15} {:>6}", "", "", "");
    if (timed)
      text += fmt::format("  {:>8.2f} {:>7.3f} {:>13}", m.p50_ms, m.ratio.value,
                          fmt::format("[{:.2f}, {:.2f}]", m.ratio.low, m.ratio.high));
    text += fmt::format("  {:.0f} / {:.0f}{}\n", m.integer_kernels, m.float_kernels,
                        m.conversions > 0 ? fmt::format(", {:.0f} conversions", m.conversions) : "");
  }
  if (r.agreement)
    text += fmt::format("agreement with float: F1 {:.4f} [{:.3f}, {:.3f}] of matched boxes\n", r.agreement->value,
                        r.agreement->low, r.agreement->high);
  if (r.disagreement)
    text += fmt::format("disagreement with float: {:.4f} [{:.4f}, {:.4f}] of the samples\n", r.disagreement->value,
                        r.disagreement->low, r.disagreement->high);
  for (const OutputFigures& o : r.outputs)
    text += fmt::format("output '{}': SQNR {}, largest error {:.4g}\n", o.name, decibel(o.sqnr_db), o.max_error);
  text += fmt::format("held-out values outside the calibrated ranges: {:.4f} %\n", 100 * r.share_outside);
  if (r.share_outside > 1e-3)
    for (const RangeFigures& w : r.ranges)
      text += fmt::format("  {:.3f} %  '{}'  represented {:.4g} to {:.4g}, seen {:.4g} to {:.4g}\n", 100 * w.share_outside,
                          w.tensor, w.low, w.high, w.seen_low, w.seen_high);
  text += fmt::format("{} held-out samples, {} labelled, tensors {}; {}; {}, {} threads\n", r.samples, r.labelled, r.inputs_hash,
                      r.cpu, r.runtime, r.threads);
  for (const std::string& w : r.warnings) text += fmt::format("warning: {}\n", w);
  return text;
}

void print(const QuantizeResult& result, const std::string& output, const Common& common) {
  if (common.json) fmt::print("{}", to_json(result));
  if (common.json || common.quiet) return;
  if (common.verbose)
    for (const Decision& d : result.decisions)
      fmt::print("{}: {} {}{}\n", d.stage, d.place, d.what, d.why.empty() ? "" : " (" + d.why + ")");
  std::vector<std::string> skipped = result.skipped;
  int64_t used = result.calibration_samples;
  if (result.verification) {
    skipped.insert(skipped.end(), result.verification->skipped.begin(), result.verification->skipped.end());
    used += result.verification->samples;
  }
  std::sort(skipped.begin(), skipped.end());
  for (const std::string& s : skipped) fmt::print("skipped {}\n", s);
  if (!skipped.empty())
    fmt::print("{} of {} samples used, {} of {} to calibrate\n", used, used + static_cast<int64_t>(skipped.size()),
               result.calibration_samples, result.calibration_samples + static_cast<int64_t>(result.skipped.size()));
  const bool weights_only = result.format == "weights";
  fmt::print(
      "{} nodes {}, {} {}; {}; weights of {} bits for {}\n", result.integer_nodes,
      weights_only ? "with int8 weights" : "on integers", result.float_nodes, weights_only ? "without" : "in float",
      result.calibration_samples > 0 ? fmt::format("calibrated on {} samples", result.calibration_samples) : "not calibrated",
      result.weight_bits, result.target_cpu);
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < result.float_reasons.size() && (i < kShown || common.verbose); ++i)
    fmt::print("  float: {} x {}\n", result.float_reasons[i].second, result.float_reasons[i].first);
  fmt::print("{}", result.verification ? table(*result.verification) : "not verified: " + result.not_verified + "\n");
  fmt::print("wrote {}\n", output);
}

}  // namespace pare::cli
