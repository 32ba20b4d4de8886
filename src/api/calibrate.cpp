#include "pare/calibrate.h"

#include "api/calibration.h"
#include "api/output_file.h"
#include "base/parallel.h"

namespace pare {

CalibrateResult calibrate(const CalibrateOptions& options) {
  check_output(options.output, {options.model, options.data.data, options.data.val, options.data.preprocess});
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const Prepared model = prepare_model(options.model, options.data, options.disabled_passes);
  refuse_input_as_output(options.output, model.original.files);
  refuse_input_as_output(options.output, model.input.dataset);
  const Sources sources = open_sources(model.input, options.data);
  const Calibration c = run_calibration(model, integer_region(model.graph, {}), *sources.calibration, threads, options.progress);
  save_statistics(c.statistics, options.output);
  return {static_cast<int64_t>(c.statistics.samples), static_cast<int64_t>(c.statistics.tensors.size()), c.skipped};
}

CalibrateResult merge_statistics(const std::vector<std::string>& parts, const std::string& output) {
  if (parts.empty()) throw Error(ErrorKind::usage, "no statistics files");
  check_output(output, parts);
  Statistics whole = load_statistics(parts.front());
  for (size_t i = 1; i < parts.size(); ++i) {
    try {
      whole = merge(std::move(whole), load_statistics(parts[i]));
    } catch (Error& e) {
      throw e.place().rfind(parts[i], 0) == 0 ? e : e.at(parts[i]);
    }
  }
  save_statistics(whole, output);
  return {static_cast<int64_t>(whole.samples), static_cast<int64_t>(whole.tensors.size()), {}};
}

}  // namespace pare
