#include "command.h"

namespace pare::cli {

CLI::Option* add_data_options(CLI::App& app, DataOptions& data) {
  CLI::Option* option = app.add_option("--data", data.data, "folder of images, list file, YOLO dataset YAML, .npz or .npy");
  app.add_option("--val", data.val, "held-out images (default: the YAML's val, else every 5th file by a hash of its name)");
  app.add_option("--preprocess", data.preprocess,
                 "yolo, imagenet, tf, unit, none or a JSON file (default: the model's metadata)");
  app.add_option("--shape", data.shape, "deployment shape of the input, such as 1x3x544x960 (default: the model's own)");
  return option;
}

void add_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", threads, "0 = all processors")->check(CLI::Range(0, 1024))->capture_default_str();
}

}  // namespace pare::cli
