#pragma once

#include <string_view>

namespace pare {

/// The bytes of models/demo_detector.onnx, a YOLOv8-form detector of the scenes that scenes.h draws.
std::string_view demo_detector();

}  // namespace pare
