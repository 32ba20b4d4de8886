#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pare/data_options.h"
#include "pare/export.h"
#include "pare/progress.h"

namespace pare {

struct CalibrateOptions {
  std::string model;                         ///< float ONNX file
  std::string output;                        ///< statistics file to write
  DataOptions data;                          ///< its calibration part is measured: all but the held-out files
  std::vector<std::string> disabled_passes;  ///< as the quantization will have them
  int threads = 0;                           ///< 0 = all processors
  Progress progress;
};

struct CalibrateResult {
  int64_t samples = 0;
  int64_t tensors = 0;
  std::vector<std::string> skipped;  ///< "file: reason"
};

/// Measures a float model's tensors over the data, in one pass and in memory that does not grow with the number of samples.
PARE_API CalibrateResult calibrate(const CalibrateOptions& options);

/// Adds up statistics files of parts of the data; the result is, to the bit, that of one run over all of them (same instruction
/// set, in any order). Errors: input, where the parts were taken of other models, shapes or preprocessings; usage without parts.
PARE_API CalibrateResult merge_statistics(const std::vector<std::string>& parts, const std::string& output);

}  // namespace pare
