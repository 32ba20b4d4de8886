#pragma once

#include <algorithm>
#include <string>

namespace pare {

/// ONNX's messages span lines; an error is one.
inline std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace pare
