#include "data/image_end.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace pare {
namespace {

bool has(std::span<const uint8_t> bytes, size_t offset, std::string_view text) noexcept {
  return bytes.size() >= offset + text.size() && std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

uint32_t little_endian(std::span<const uint8_t> bytes, size_t at) noexcept {
  return bytes[at] | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 | uint32_t{bytes[at + 3]} << 24;
}

uint32_t big_endian(std::span<const uint8_t> bytes, size_t at) noexcept {
  return bytes[at + 3] | uint32_t{bytes[at + 2]} << 8 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at]} << 24;
}

// From marker to marker (ITU-T T.81, B.1.1): a thumbnail inside a segment has an end marker of its own, and cameras append data.
bool jpeg_is_whole(std::span<const uint8_t> bytes) noexcept {
  constexpr uint8_t kEnd = 0xD9;
  const auto stands_alone = [](uint8_t code) { return code == 0x00 || code == 0x01 || (code >= 0xD0 && code <= 0xD8); };
  size_t at = 2;
  while (at + 1 < bytes.size()) {
    const void* found = std::memchr(bytes.data() + at, 0xFF, bytes.size() - at - 1);
    if (found == nullptr) return false;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data()) + 1;
    const uint8_t code = bytes[at];
    if (code == kEnd) return true;
    if (code == 0xFF) continue;
    ++at;
    if (stands_alone(code)) continue;
    if (at + 1 >= bytes.size()) return false;
    at += static_cast<size_t>(bytes[at]) << 8 | bytes[at + 1];
  }
  return false;
}

bool png_is_whole(std::span<const uint8_t> bytes) noexcept {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    if (has(bytes, at + 4, "IEND")) return true;
    at += size_t{big_endian(bytes, at)} + 12;
  }
  return false;
}

}  // namespace

ImageFormat image_format(std::span<const uint8_t> bytes) noexcept {
  if (has(bytes, 0, "\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (has(bytes, 0, "\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (has(bytes, 0, "RIFF") && has(bytes, 8, "WEBP")) return ImageFormat::webp;
  if (has(bytes, 0, "BM")) return ImageFormat::bmp;
  return ImageFormat::unknown;
}

std::string_view format_name(ImageFormat format) noexcept {
  constexpr std::array<std::string_view, 5> kNames{"unknown", "jpeg", "png", "webp", "bmp"};
  return kNames[static_cast<size_t>(format)];
}

bool is_whole(ImageFormat format, std::span<const uint8_t> bytes) noexcept {
  switch (format) {
    case ImageFormat::jpeg: return jpeg_is_whole(bytes);
    case ImageFormat::png: return png_is_whole(bytes);
    case ImageFormat::webp: return bytes.size() >= size_t{little_endian(bytes, 4)} + 8;
    case ImageFormat::bmp: return bytes.size() >= 54 && bytes.size() >= little_endian(bytes, 2);
    case ImageFormat::unknown: return false;
  }
  return false;
}

}  // namespace pare
