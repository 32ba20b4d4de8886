#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/preprocess.h"

namespace pare {

/// metadata_props of an ONNX model.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// The preprocessing of models that Ultralytics' YOLO exports: letterbox for detect, segment, pose and obb, centre crop for
/// classify (as for YOLOv5, whose export names no task: letterbox). Nothing for any other model or task.
std::optional<Preprocess> from_metadata(const Metadata& metadata);
/// {height, width} of "imgsz", e.g. "[640, 640]"; nothing if absent or malformed.
std::optional<std::pair<int, int>> metadata_imgsz(const Metadata& metadata);
/// How many numbers describe the keypoints of a pose: the product of "kpt_shape", e.g. "[17, 3]"; 0 if absent or malformed.
int64_t metadata_keypoints(const Metadata& metadata);
/// Class names of "names", a Python dict or list such as "{0: 'person', 1: \"driver's seat\"}", at their index; indices left out
/// get an empty name. Empty if absent or malformed.
std::vector<std::string> metadata_names(const Metadata& metadata);

}  // namespace pare
