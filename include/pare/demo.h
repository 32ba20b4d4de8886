#pragma once

#include <cstdint>
#include <string>

#include "pare/export.h"
#include "pare/quantize.h"

namespace pare {

struct DemoOptions {
  std::string folder;      ///< where everything goes; made if absent
  int train_scenes = 128;  ///< for calibration
  int val_scenes = 64;     ///< held out
  uint64_t seed = 1;
  int threads = 0;  ///< 0 = all processors
  Progress progress;
};

struct DemoResult {
  std::string model;   ///< the float detector that was written
  std::string data;    ///< the YOLO dataset YAML of the scenes
  std::string output;  ///< the INT8 file
  std::string report;
  QuantizeResult quantization;
};

/// The main job on what the program carries: draws labelled scenes from the seed, writes the embedded detector beside them and
/// quantizes it with the defaults.
PARE_API DemoResult demo(const DemoOptions& options);

}  // namespace pare
