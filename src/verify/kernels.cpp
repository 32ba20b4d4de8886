#include "verify/kernels.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "pare/error.h"

namespace pare {
namespace {

enum class KernelKind { integer_mac, float_mac, conversion };

struct KindRow {
  std::string_view op;
  KernelKind kind;
};

constexpr std::array<KindRow, 17> kKinds{{
    {"QLinearConv", KernelKind::integer_mac},
    {"ConvInteger", KernelKind::integer_mac},
    {"QLinearMatMul", KernelKind::integer_mac},
    {"MatMulInteger", KernelKind::integer_mac},
    {"QGemm", KernelKind::integer_mac},
    {"MatMulIntegerToFloat", KernelKind::integer_mac},
    {"DynamicQuantizeMatMul", KernelKind::integer_mac},
    {"Conv", KernelKind::float_mac},
    {"FusedConv", KernelKind::float_mac},
    {"MatMul", KernelKind::float_mac},
    {"Gemm", KernelKind::float_mac},
    {"FusedMatMul", KernelKind::float_mac},
    {"FusedGemm", KernelKind::float_mac},
    {"ConvTranspose", KernelKind::float_mac},
    {"QuantizeLinear", KernelKind::conversion},
    {"DequantizeLinear", KernelKind::conversion},
    {"DynamicQuantizeLinear", KernelKind::conversion},
}};

void add_kind(KernelReport& report, const KernelRow& row) {
  for (const KindRow& known : kKinds) {
    if (known.op != row.op) continue;
    switch (known.kind) {
      case KernelKind::integer_mac: report.integer_macs += row.count; break;
      case KernelKind::float_mac: report.float_macs += row.count; break;
      case KernelKind::conversion: report.conversions += row.count; break;
    }
  }
}

bool is_kernel(const nlohmann::json& event) {
  return event.value("cat", "") == "Node" && event.value("name", "").ends_with("_kernel_time");
}

}  // namespace

KernelReport read_profile(std::string_view json, int runs) {
  if (runs < 1) throw Error(ErrorKind::internal, "a profile of " + std::to_string(runs) + " runs");
  std::map<std::pair<std::string, std::string>, KernelRow> found;
  try {
    for (const auto& event : nlohmann::json::parse(json)) {
      if (!is_kernel(event)) continue;
      const auto& args = event.at("args");
      const auto op = args.at("op_name").get<std::string>();
      const auto provider = args.at("provider").get<std::string>();
      KernelRow& row = found.try_emplace({op, provider}, KernelRow{.op = op, .provider = provider}).first->second;
      row.count += 1.0 / runs;
      row.ms += event.at("dur").get<double>() / 1e3 / runs;
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::input, std::string("not a profile of ONNX Runtime: ") + e.what());
  }
  if (found.empty()) throw Error(ErrorKind::input, "the profile holds no kernel");

  KernelReport report;
  for (auto& [key, row] : found) {
    add_kind(report, row);
    report.rows.push_back(std::move(row));
  }
  std::stable_sort(report.rows.begin(), report.rows.end(), [](const KernelRow& a, const KernelRow& b) { return a.ms > b.ms; });
  return report;
}

}  // namespace pare
