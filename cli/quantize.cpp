#include "pare/quantize.h"

#include <fmt/format.h>

#include "command.h"
#include "tables.h"

namespace pare::cli {
std::function<int()> declare_quantize(CLI::App& app, const Common& common) {
  auto options = std::make_shared<QuantizeOptions>();
  QuantizeOptions& o = *options;
  app.add_option("model", o.model, "float ONNX file")->required();
  app.add_option("-o,--output", o.output, "INT8 ONNX file to write");
  add_data_options(app, o.data);
  app.add_option("--batch", o.data.batch, "samples that the written model takes at a time (default: the model's own)");
  app.add_option("--report", o.report, "JSON report (default: the output's name + .report.json)");
  app.add_option(
      "--statistics", o.statistics,
      "statistics of 'pare calibrate' or of python/pare_calibration.py instead of a calibration run; --data is then optional");
  app.add_option("--plan", o.plan, "plan to follow (from --dry-run or a report, edited)");
  app.add_option("--exclude", o.exclude, "nodes to keep in float, by name or output")->delimiter(',');
  app.add_option("--disable-pass", o.disabled_passes, "prepare passes to leave out")->delimiter(',');
  app.add_option("--range", o.range, "minmax, percentile, entropy, l2, mean-minmax")->capture_default_str();
  app.add_option("--percentile", o.percentile, "for --range percentile")->capture_default_str();
  app.add_option("--activation", o.activation, "uint8 or int8")->capture_default_str();
  app.add_flag("--symmetric", o.symmetric, "activations with zero in the middle");
  app.add_flag("--per-tensor", o.per_tensor, "one scale for each weight instead of one per channel");
  app.add_flag("!--no-follow", o.follow_activation, "do not cut ranges where the activation behind is flat");
  app.add_flag("!--no-bias-correction", o.bias_correction, "leave biases as they are");
  app.add_option("--format", o.format, "qdq, qoperator, dynamic (ranges measured in each run), weights (int8 weights only)")
      ->capture_default_str();
  app.add_option("--io", o.io, "type of the written model's inputs and outputs: float, uint8, int8")->capture_default_str();
  app.add_flag("--fold-preprocess", o.fold_preprocess, "the written model takes uint8 pixels, NxHxWx3; mean and std move inside");
  app.add_option("--runtime", o.runtime, "oldest ONNX Runtime that must load the file, from 1.15 (default: the present one)");
  app.add_option("--target-cpu", o.target_cpu, "avx2, avx512, vnni, amx, arm-dot (default: this machine's)");
  app.add_option("--task", o.task, "auto, detect, classify, none")->capture_default_str();
  app.add_option("--head", o.head, kHeadHelp);
  app.add_flag("--dry-run", o.dry_run, "print the plan and write nothing");
  app.add_flag("!--no-verify", o.verify, "skip the verification");
  add_threads(app, o.threads);
  app.add_option("--seed", o.seed, "of bootstrap intervals")->capture_default_str();
  return [options, &common] {
    options->progress = progress_printer(common);
    const QuantizeResult result = quantize(*options);
    if (options->dry_run)
      fmt::print("{}", result.plan_json);
    else
      print(result, options->output, common);
    return 0;
  };
}

}  // namespace pare::cli
