#pragma once

#include "data/image.h"

namespace pare {

/// The image of pattern() in tools/golden/data.py.
inline Image pattern(int width, int height) {
  Image image{width, height, {}};
  image.rgb.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) image.rgb.push_back(static_cast<uint8_t>(3 * x + 2 * y + 60 * c + x * y / 97));
  return image;
}

}  // namespace pare
