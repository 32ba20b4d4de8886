#include "pare/calibrate.h"

#include <fmt/format.h>

#include "command.h"

namespace pare::cli {
namespace {

int render(const CalibrateResult& result, const std::string& output, const Common& common) {
  if (common.json) {
    fmt::print("{{\"samples\": {}, \"tensors\": {}, \"skipped\": {}}}\n", result.samples, result.tensors, result.skipped.size());
  } else if (!common.quiet) {
    for (const std::string& s : result.skipped) fmt::print("skipped {}\n", s);
    fmt::print("{} samples, {} tensors\nwrote {}\n", result.samples, result.tensors, output);
  }
  return 0;
}

}  // namespace

std::function<int()> declare_calibrate(CLI::App& app, const Common& common) {
  auto options = std::make_shared<CalibrateOptions>();
  CalibrateOptions& o = *options;
  app.add_option("model", o.model, "float ONNX file")->required();
  app.add_option("-o,--output", o.output, "statistics file to write");
  add_data_options(app, o.data)->required();
  app.add_option("--disable-pass", o.disabled_passes, "prepare passes to leave out")->delimiter(',');
  add_threads(app, o.threads);
  return [options, &common] {
    options->progress = progress_printer(common);
    return render(calibrate(*options), options->output, common);
  };
}

std::function<int()> declare_merge(CLI::App& app, const Common& common) {
  struct Options {
    std::vector<std::string> parts;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  app.add_option("parts", options->parts, "statistics files")->required();
  app.add_option("-o,--output", options->output, "statistics file to write");
  return [options, &common] { return render(merge_statistics(options->parts, options->output), options->output, common); };
}

}  // namespace pare::cli
