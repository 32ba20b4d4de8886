#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/save.h"
#include "tests/data/scratch.h"
#include "tests/models/builder.h"

namespace pare {

inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 255);
  return text;
}

/// A 24-bit BMP of coloured blocks.
inline std::string bmp(uint64_t seed, int width = 40, int height = 32) {
  std::mt19937_64 engine(seed);
  std::array<uint64_t, 16> colours{};
  for (uint64_t& c : colours) c = engine();
  std::string pixels;
  const int padding = (4 - width * 3 % 4) % 4;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) pixels += little_endian(colours[static_cast<size_t>(y / 8 % 4 * 4 + x / 8 % 4)], 3);
    pixels.append(static_cast<size_t>(padding), '\0');
  }
  return "BM" + little_endian(54 + pixels.size(), 4) + little_endian(0, 4) + little_endian(54, 4) + little_endian(40, 4) +
         little_endian(static_cast<uint64_t>(width), 4) + little_endian(static_cast<uint64_t>(height), 4) + little_endian(1, 2) +
         little_endian(24, 2) + little_endian(0, 4) + little_endian(pixels.size(), 4) + little_endian(0, 16) + pixels;
}

/// `count` images in `folder`/; returns the folder.
inline std::string write_images(const Scratch& scratch, const std::string& folder, size_t count, uint64_t seed = 1) {
  for (size_t i = 0; i < count; ++i) (void)scratch.write(folder + "/" + std::to_string(i) + ".bmp", bmp(seed + i));
  return scratch.path(folder);
}

inline std::string npy(const Tensor& tensor) {
  std::string shape;
  for (const int64_t d : tensor.shape()) shape += std::to_string(d) + ", ";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto raw = tensor.raw();
  return std::string("\x93NUMPY\x01\x00", 8) + little_endian(header.size(), 2) + header +
         std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
}

/// An .npz, stored.
inline std::string npz(const std::vector<std::pair<std::string, Tensor>>& arrays) {
  const auto crc = [](const std::string& bytes) {
    uint32_t c = ~0U;
    for (const char b : bytes) {
      c ^= static_cast<uint8_t>(b);
      for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xEDB88320U : c >> 1;
    }
    return ~c;
  };
  std::string file, directory;
  for (const auto& [key, tensor] : arrays) {
    const std::string name = key + ".npy", data = npy(tensor);
    const std::string common = little_endian(20, 2) + little_endian(0, 8) + little_endian(crc(data), 4) +
                               little_endian(data.size(), 4) + little_endian(data.size(), 4) + little_endian(name.size(), 2) +
                               little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + common + little_endian(0, 10) + little_endian(file.size(), 4) + name;
    file += "PK\3\4" + common + name + data;
  }
  return file + directory + "PK\5\6" + little_endian(0, 4) + little_endian(arrays.size(), 2) + little_endian(arrays.size(), 2) +
         little_endian(directory.size(), 4) + little_endian(file.size(), 4) + little_endian(0, 2);
}

/// Conv Relu Conv Relu Conv, the mean of ten channels as scores.
inline models::Builder classifier(const std::string& input = "images", const std::string& output = "scores") {
  const std::map<std::string, Attribute> same{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  models::Builder b(13);
  b.input(input, {1, 3, 32, 32}).weights("w0", {8, 3, 3, 3}, -.5F, .5F).weights("b0", {8});
  b.weights("w1", {8, 8, 3, 3}, -.5F, .5F).weights("b1", {8}).weights("w2", {10, 8, 3, 3}, -.5F, .5F).weights("b2", {10});
  b.node("Conv", {input, "w0", "b0"}, {"c0"}, same).node("Relu", {"c0"}, {"r0"});
  b.node("Conv", {"r0", "w1", "b1"}, {"c1"}, same).node("Relu", {"c1"}, {"r1"});
  b.node("Conv", {"r1", "w2", "b2"}, {"c2"}, same).node("GlobalAveragePool", {"c2"}, {"mean"});
  return b.node("Flatten", {"mean"}, {output}).output(output);
}

inline std::string save(const Scratch& scratch, const std::string& name, const models::Builder& builder) {
  save_model(builder.build(), scratch.path(name));
  return scratch.path(name);
}

}  // namespace pare
