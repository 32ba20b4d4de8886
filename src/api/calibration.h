#pragma once

#include <string>
#include <vector>

#include "api/prepare.h"
#include "calib/statistics.h"
#include "pare/progress.h"
#include "quantize/region.h"

namespace pare {

struct Calibration {
  Statistics statistics;
  std::vector<std::string> skipped;  ///< "file: reason"
};

/// Measures what the region needs over the samples, or reads it from `file` where that is not empty.
/// Errors: input where the file was made of another model, shape or preprocessing, naming the difference.
Calibration calibrate_or_load(const Prepared& model, const Region& region, SampleSource& samples, const std::string& file,
                              int threads, const Progress& progress);

}  // namespace pare
