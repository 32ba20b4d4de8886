#include "api/calibration.h"

#include "api/digest.h"
#include "calib/collect.h"
#include "quantize/make_plan.h"
#include "runtime/cpu.h"

namespace pare {
namespace {

void require_same(const StatisticsKey& found, const StatisticsKey& wanted, const std::string& file) {
  const auto check = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b)
      throw Error(ErrorKind::input, "was made for another " + what + ": '" + a + "', this run has '" + b + "'")
          .at(file)
          .fix("calibrate again");
  };
  check("input shape", found.inputs, wanted.inputs);
  check("preprocessing", found.preprocess, wanted.preprocess);
  check("model", found.model, wanted.model);  // last: another shape changes the prepared model, too
}

}  // namespace

Calibration calibrate_or_load(const Prepared& model, const Region& region, SampleSource& samples, const std::string& file,
                              int threads, const Progress& progress) {
  const StatisticsKey key{digest(model.graph), model.input.text, model.input.preprocess_text(), this_cpu().name};
  Calibration calibration;
  if (!file.empty()) {
    calibration.statistics = load_statistics(file);
    require_same(calibration.statistics.key, key, file);
    return calibration;
  }
  CollectOptions options{.threads = threads, .channel_axes = channels_to_measure(model.graph, region), .progress = {}};
  if (progress) options.progress = [&](size_t done, size_t total) { progress("calibrate", done, total); };
  calibration.statistics.key = key;
  calibration.statistics.tensors = collect(model.graph, tensors_to_measure(model.graph, region), samples, options);
  for (const Skipped& s : samples.skipped()) calibration.skipped.push_back(s.file + ": " + s.reason);
  calibration.statistics.samples = samples.size() - calibration.skipped.size();
  if (calibration.statistics.samples == 0) throw Error(ErrorKind::input, "calibration set is empty");
  return calibration;
}

}  // namespace pare
