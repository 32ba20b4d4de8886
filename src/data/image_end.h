#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pare {

enum class ImageFormat { unknown, jpeg, png, webp, bmp };

/// By the first bytes.
ImageFormat image_format(std::span<const uint8_t> bytes) noexcept;
/// "jpeg", ...
std::string_view format_name(ImageFormat format) noexcept;
/// Whether the file is there to its end: a JPEG's end marker after its last scan, a PNG's IEND, the length that a WebP or BMP
/// states. Decoders fill a missing rest with grey and say nothing, or write to the terminal.
bool is_whole(ImageFormat format, std::span<const uint8_t> bytes) noexcept;

}  // namespace pare
