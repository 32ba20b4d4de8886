#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pare {

/// 8-bit pixels, rows from the top, R G B side by side: `rgb[(y * width + x) * 3 + channel]`.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

/// Reads a jpeg, png, webp or bmp, told by its first bytes whatever its name. Turned as its EXIF orientation says; grey becomes
/// R=G=B, alpha is dropped, 16 bits are cut to 8, CMYK is converted: the pixels of `cv2.imread(file)[:, :, ::-1]` within 1 level.
/// Errors: ErrorKind::input, placed at `file`, when it is missing, empty, of another format, ends early or is damaged.
Image read_image(const std::string& file);

}  // namespace pare
