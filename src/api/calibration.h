#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/prepare.h"
#include "calib/collect.h"
#include "calib/statistics.h"
#include "pare/calibrate.h"
#include "pare/progress.h"
#include "quantize/region.h"

namespace pare {

struct Calibration {
  Statistics statistics;
  std::vector<std::string> skipped;  ///< "file: reason"
  std::string note;                  ///< what whoever reads the verification should know; mostly empty
};

/// Measures what the region needs over the samples.
Calibration run_calibration(const Prepared& model, const Region& region, SampleSource& samples, int threads,
                            const Progress& progress);

/// Statistics that were made before. Errors: input where they are of another model, shape or preprocessing, naming the
/// difference. Statistics of arrays (.npz, another program) serve a run on images too, since nobody but the user knows how the
/// arrays were preprocessed: the note then says so. Without data there is no preprocessing to compare.
Calibration read_calibration(const Prepared& model, const std::string& file);

/// A calibration that is given one sample after the other by another program. After an error of `add` it holds part of a
/// sample, and is of no further use.
class FedCalibration {
 public:
  /// Errors: those of check_output and prepare_model.
  FedCalibration(const std::string& model, const std::string& output, const std::string& shape, int threads);

  /// What a sample must hold: an array for each, by name.
  [[nodiscard]] const std::vector<Value>& inputs() const { return model_.graph.inputs; }
  /// A sample may hold several rows. Where the model takes one at a time, or answers each row as it answers it alone, they are
  /// measured one at a time, and statistics are those of the rows: the first batch whose rows differ tells. Errors: those of
  /// Collector::add.
  void add(const Sample& sample);
  /// Writes the statistics file. Errors: input without samples; system.
  CalibrateResult save();

 private:
  bool rows_apart(const Sample& sample, size_t rows);

  std::string output_;
  int threads_;
  Prepared model_;
  Region region_;
  Collector collector_;
  uint64_t samples_ = 0;
  std::optional<bool> rows_apart_;  ///< of a model with a free batch, once a sample told
};

}  // namespace pare
