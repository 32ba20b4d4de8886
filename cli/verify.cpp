#include "pare/verify.h"

#include <fmt/format.h>

#include "command.h"
#include "tables.h"

namespace pare::cli {

std::function<int()> declare_verify(CLI::App& app, const Common& common) {
  auto options = std::make_shared<VerifyOptions>();
  VerifyOptions& o = *options;
  app.add_option("float", o.reference, "float ONNX file")->required();
  app.add_option("test", o.test, "ONNX file to judge")->required();
  add_data_options(app, o.data)->required();
  app.add_option("--task", o.task, "auto, detect, classify, none")->capture_default_str();
  app.add_option("--head", o.head, kHeadHelp);
  add_threads(app, o.threads);
  app.add_option("--seed", o.seed, "of bootstrap intervals")->capture_default_str();
  app.add_option("--latency-rounds", o.latency_rounds, "0 = no latency")->capture_default_str();
  return [options, &common] {
    options->progress = progress_printer(common);
    const VerifyReport report = verify(*options);
    if (common.json)
      fmt::print("{}", to_json(report));
    else if (!common.quiet) {
      for (const std::string& s : report.skipped) fmt::print("skipped {}\n", s);
      fmt::print("{}", table(report));
    }
    return 0;
  };
}

}  // namespace pare::cli
