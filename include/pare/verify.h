#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pare/data_options.h"
#include "pare/export.h"
#include "pare/progress.h"

namespace pare {

/// A figure with its 95 % interval.
struct Figure {
  double value = 0, low = 0, high = 0;
};

/// What was measured of one model.
struct ModelFigures {
  std::string role;  ///< "float", "float, prepared", "int8"
  std::string file;  ///< empty for one that exists in memory only
  int64_t bytes = 0;
  std::optional<Figure> map;    ///< COCO mAP; nullopt without labels or head
  std::optional<double> map50;  ///< at IoU .5
  double p50_ms = 0, p90_ms = 0, min_ms = 0;
  Figure ratio{1, 1, 1};       ///< latency / that of the first model in the same rounds; below 1 is faster
  double integer_kernels = 0;  ///< convolutions and matrix products run on integers
  double float_kernels = 0;    ///< the same on floats
  double conversions = 0;      ///< Q and DQ kernels run
  std::string provider;
};

/// How far one output of the test model is from the float model's.
struct OutputFigures {
  std::string name;
  double sqnr_db = 0;  ///< 10 log10(signal / noise) over the held-out samples
  double max_error = 0;
};

/// Held-out values of one tensor against the range that its scale represents.
struct RangeFigures {
  std::string tensor;
  double share_outside = 0;  ///< 0..1
  double low = 0, high = 0;  ///< represented
  double seen_low = 0, seen_high = 0;
};

struct VerifyReport {
  std::string task;  ///< detect, classify or none
  std::string head;  ///< layout of the detection head: the row of its table, e.g. "yolov8 transposed"
  /// What must be known before any figure is read: suppression in only one of the two models, other thresholds, a detector whose
  /// layout was not told.
  std::vector<std::string> notices;
  std::string inputs_hash;  ///< 16 hexadecimal digits of the tensors that all models were fed with (64-bit FNV-1a of their bytes)
  int64_t samples = 0;
  int64_t labelled = 0;                ///< samples with a label file
  std::vector<std::string> skipped;    ///< "file: reason"
  std::vector<ModelFigures> models;    ///< float, float prepared, test
  std::optional<Figure> agreement;     ///< detect: F1 of boxes with the float model's
  std::optional<Figure> disagreement;  ///< classify: share of samples whose arg-max differs
  std::vector<OutputFigures> outputs;
  double share_outside = 0;          ///< over all tensors
  std::vector<RangeFigures> ranges;  ///< worst first, at most ten
  std::vector<std::string> warnings;
  std::string cpu, runtime;
  int threads = 0;
};

struct VerifyOptions {
  std::string reference;  ///< float model
  std::string test;       ///< the model to judge
  DataOptions data;
  std::string task = "auto";  ///< auto, detect, classify, none
  /// Layout of the detection head: yolov5, yolov8, yolov10, yolox, yolox-decoded, nanodet, ssd, detr, rtdetr; "" or "auto" =
  /// recognised where only one fits.
  std::string head;
  int threads = 0;         ///< 0 = all processors
  uint64_t seed = 0;       ///< of bootstrap intervals
  int latency_rounds = 7;  ///< 0 = no latency
  Progress progress;
};

/// Judges a model against its float original on images that calibration did not see. Errors: see Error; input where a file cannot
/// be used, usage where the preprocessing is neither given nor in the model.
PARE_API VerifyReport verify(const VerifyOptions& options);

/// The report as JSON, as the program's --json prints it.
PARE_API std::string to_json(const VerifyReport& report);

}  // namespace pare
