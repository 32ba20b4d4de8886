#include "pare/quantize.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace pare {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

ordered_json json_of(const Figure& f) { return {{"value", number(f.value)}, {"low", number(f.low)}, {"high", number(f.high)}}; }

template <typename T>
void put(ordered_json& j, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_same_v<T, Figure>)
    j[key] = json_of(*value);
  else
    j[key] = *value;
}

ordered_json json_of(const ModelFigures& m) {
  ordered_json j{{"role", m.role}, {"file", m.file}, {"bytes", m.bytes}};
  put(j, "map", m.map);
  put(j, "map50", m.map50);
  j["latency"] = {{"p50_ms", m.p50_ms}, {"p90_ms", m.p90_ms}, {"min_ms", m.min_ms}, {"ratio", json_of(m.ratio)}};
  j["kernels"] = {
      {"integer", m.integer_kernels}, {"float", m.float_kernels}, {"conversions", m.conversions}, {"provider", m.provider}};
  return j;
}

ordered_json json_of(const VerifyReport& r) {
  ordered_json j{{"task", r.task},       {"head", r.head},         {"notices", r.notices}, {"inputs_hash", r.inputs_hash},
                 {"samples", r.samples}, {"labelled", r.labelled}, {"skipped", r.skipped}};
  for (const ModelFigures& m : r.models) j["models"].push_back(json_of(m));
  put(j, "agreement_f1", r.agreement);
  put(j, "disagreement", r.disagreement);
  j["outputs"] = ordered_json::array();
  for (const OutputFigures& o : r.outputs)
    j["outputs"].push_back({{"name", o.name}, {"sqnr_db", number(o.sqnr_db)}, {"max_error", number(o.max_error)}});
  j["share_outside"] = r.share_outside;
  j["worst_ranges"] = ordered_json::array();
  for (const RangeFigures& w : r.ranges)
    j["worst_ranges"].push_back({{"tensor", w.tensor},
                                 {"share_outside", w.share_outside},
                                 {"represented", {number(w.low), number(w.high)}},
                                 {"seen", {number(w.seen_low), number(w.seen_high)}}});
  j["warnings"] = r.warnings;
  j["cpu"] = r.cpu;
  j["runtime"] = r.runtime;
  j["threads"] = r.threads;
  return j;
}

}  // namespace

std::string to_json(const VerifyReport& report) { return json_of(report).dump(1) + "\n"; }

std::string to_json(const QuantizeResult& result) {
  ordered_json j;
  j["pare_report"] = 1;
  j["format"] = result.format;
  j["target_cpu"] = result.target_cpu;
  j["weight_bits"] = result.weight_bits;
  j["calibration_samples"] = result.calibration_samples;
  j["skipped"] = result.skipped;
  j["nodes"] = {{"integer", result.integer_nodes}, {"float", result.float_nodes}};
  for (const auto& [reason, count] : result.float_reasons) j["float_reasons"].push_back({{"reason", reason}, {"nodes", count}});
  for (const Decision& d : result.decisions)
    j["decisions"].push_back({{"stage", d.stage}, {"place", d.place}, {"what", d.what}, {"why", d.why}});
  if (result.verification) j["verification"] = json_of(*result.verification);
  if (!result.not_verified.empty()) j["not_verified"] = result.not_verified;
  j["plan"] = ordered_json::parse(result.plan_json);
  return j.dump(1) + "\n";
}

}  // namespace pare
