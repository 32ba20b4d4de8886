#include "pare/demo.h"

#include <fmt/format.h>

#include "command.h"
#include "tables.h"

namespace pare::cli {

std::function<int()> declare_demo(CLI::App& app, const Common& common) {
  auto options = std::make_shared<DemoOptions>();
  DemoOptions& o = *options;
  app.add_option("-o,--output", o.folder, "folder for scenes, models and report")->required();
  app.add_option("--train", o.train_scenes, "scenes to calibrate on")->capture_default_str();
  app.add_option("--val", o.val_scenes, "held-out scenes")->capture_default_str();
  app.add_option("--seed", o.seed, "of the scenes")->capture_default_str();
  add_threads(app, o.threads);
  return [options, &common] {
    options->progress = progress_printer(common);
    const DemoResult result = demo(*options);
    print(result.quantization, result.output, common);
    if (!common.json && !common.quiet) fmt::print("scenes {}\nmodel  {}\nreport {}\n", result.data, result.model, result.report);
    return 0;
  };
}

}  // namespace pare::cli
