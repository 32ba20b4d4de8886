#include "runtime/cpu.h"

#include <array>
#include <fstream>
#include <sstream>

#include "pare/error.h"

namespace pare {
namespace {

/// One row per target, from the weakest to the strongest; `flags` as /proc/cpuinfo spells them, any of them will do.
struct Row {
  const char* name;
  bool int8_dot_product;
  std::array<const char*, 2> flags;
};

constexpr std::array<Row, 5> kTargets{{
    {"avx2", false, {"avx2", nullptr}},
    {"avx512", false, {"avx512bw", nullptr}},
    {"vnni", true, {"avx512_vnni", "avx_vnni"}},
    {"amx", true, {"amx_int8", nullptr}},
    {"arm-dot", true, {"asimddp", nullptr}},
}};

struct CpuInfo {
  std::string model = "unknown CPU";
  std::string flags;  ///< each flag between spaces
};

CpuInfo read_cpu_info() {
  CpuInfo info;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.rfind("model name", 0) == 0) info.model = line.substr(colon + 2);
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) info.flags = " " + line.substr(colon + 2) + " ";
  }
  return info;
}

bool has(const CpuInfo& info, const Row& row) {
  for (const char* flag : row.flags)
    if (flag != nullptr && info.flags.find(" " + std::string(flag) + " ") != std::string::npos) return true;
  return false;
}

}  // namespace

CpuTarget this_cpu() {
  const CpuInfo info = read_cpu_info();
  CpuTarget best{"avx2", false};
  for (const Row& row : kTargets)
    if (has(info, row)) best = {row.name, row.int8_dot_product};
  return best;
}

CpuTarget cpu_target(const std::string& name) {
  std::string known;
  for (const Row& row : kTargets) {
    if (name == row.name) return {row.name, row.int8_dot_product};
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::usage, "'" + name + "' is no target CPU; known are " + known).at("--target-cpu");
}

std::string cpu_description() {
  const CpuInfo info = read_cpu_info();
  std::string text = info.model + " (";
  std::string separator;
  for (const Row& row : kTargets)
    if (has(info, row)) text += separator + row.name, separator = " ";
  return text + ")";
}

}  // namespace pare
