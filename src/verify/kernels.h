#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pare {

/// One kind of operator on one execution provider, per run.
struct KernelRow {
  std::string op = {};        ///< after the runtime's optimizations: "QLinearConv", "Conv", ...
  std::string provider = {};  ///< "CPUExecutionProvider", ...
  double count = 0;           ///< kernels run
  double ms = 0;              ///< time in them; that of If, Loop and Scan includes their bodies, whose kernels are also listed
};

/// What ONNX Runtime really ran, per run.
struct KernelReport {
  std::vector<KernelRow> rows;  ///< longest time first
  double integer_macs = 0;      ///< convolutions and matrix products on integers
  double float_macs = 0;        ///< the same on floats
  double conversions = 0;       ///< QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear
};

/// Reads the profile that an ONNX Runtime session writes: a JSON array of events, those of category "Node" whose name ends in
/// "_kernel_time" counted, `dur` in microseconds. `runs`: how many runs the profile covers, at least 1.
/// Errors: ErrorKind::input for text that is no such array or holds no kernel; ErrorKind::internal for runs below 1.
KernelReport read_profile(std::string_view json, int runs);

}  // namespace pare
