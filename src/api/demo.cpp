#include "pare/demo.h"

#include <filesystem>

#include "base/file.h"
#include "demo/detector.h"
#include "demo/scenes.h"
#include "pare/error.h"

namespace pare {

DemoResult demo(const DemoOptions& options) {
  if (options.folder.empty()) throw Error(ErrorKind::usage, "no folder").fix("give one with -o");
  const std::filesystem::path folder = options.folder;
  std::filesystem::create_directories(folder);
  DemoResult result;
  result.model = (folder / "demo_detector.onnx").string();
  result.output = (folder / "demo_detector_int8.onnx").string();
  result.report = (folder / "demo_detector_int8.report.json").string();
  if (options.progress) options.progress("draw scenes", 0, 1);
  write_scenes(folder / "scenes", options.train_scenes, options.val_scenes, options.seed);
  result.data = (folder / "scenes" / "data.yaml").string();
  write_file(result.model, demo_detector());

  QuantizeOptions job;
  job.model = result.model;
  job.output = result.output;
  job.report = result.report;
  job.data.data = result.data;
  job.threads = options.threads;
  job.progress = options.progress;
  result.quantization = quantize(job);
  return result;
}

}  // namespace pare
