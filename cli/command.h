#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

#include "pare/data_options.h"
#include "pare/progress.h"

namespace pare::cli {

/// What every command understands.
struct Common {
  bool json = false;   ///< result as JSON on standard output
  bool quiet = false;  ///< no table, no progress
  bool verbose = false;
};

/// One row of the program: declares its options on `app` and returns what runs them. The function's value is the exit code.
struct Command {
  const char* name;
  const char* description;
  std::function<int()> (*declare)(CLI::App& app, const Common& common);
};

constexpr const char* kHeadHelp =
    "layout of the detection head: yolov5, yolov8, yolov10, yolox, yolox-decoded, nanodet, ssd, detr, rtdetr (default: "
    "recognised)";

/// Returns --data, which most commands require.
CLI::Option* add_data_options(CLI::App& app, DataOptions& data);
void add_threads(CLI::App& app, int& threads);

/// A bar on a terminal, a line every tenth in a log, nothing when quiet. Writes to standard error.
Progress progress_printer(const Common& common);

std::function<int()> declare_calibrate(CLI::App& app, const Common& common);
std::function<int()> declare_demo(CLI::App& app, const Common& common);
std::function<int()> declare_merge(CLI::App& app, const Common& common);
std::function<int()> declare_inspect(CLI::App& app, const Common& common);
std::function<int()> declare_quantize(CLI::App& app, const Common& common);
std::function<int()> declare_verify(CLI::App& app, const Common& common);

}  // namespace pare::cli
