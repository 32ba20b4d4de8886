#pragma once

#include <string>

namespace pare {

/// What decides how fast and how exactly a CPU multiplies int8.
struct CpuTarget {
  std::string name;       ///< avx2, avx512, vnni, amx or arm-dot: a value of --target-cpu
  bool int8_dot_product;  ///< has instructions that add four int8 products in 32 bits (no saturation at 16)

  /// Without them u8*s8 pairs are added in saturating 16 bits (vpmaddubsw): 2*255*64 = 32640 still fits, so weights keep to 7
  /// bits.
  [[nodiscard]] int weight_bits() const { return int8_dot_product ? 8 : 7; }
};

/// The best target that this machine runs.
CpuTarget this_cpu();
/// Errors: usage, listing the accepted names.
CpuTarget cpu_target(const std::string& name);
/// Marketing name and features, for reports: "Intel Xeon ... (avx2 avx512 vnni)".
std::string cpu_description();

}  // namespace pare
