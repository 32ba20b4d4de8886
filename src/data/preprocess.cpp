#include "data/preprocess.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace pare {
namespace {

using Resize = Preprocess::Resize;

struct Preset {
  const char* name;
  Preprocess values;
};

constexpr float kByte = 255.F;

const std::array<Preset, 5> kPresets{{
    {.name = "yolo", .values = {.resize = Resize::letterbox}},
    {.name = "imagenet",
     .values = {.resize = Resize::crop,
                .mean = {.485F * kByte, .456F * kByte, .406F * kByte},
                .std = {.229F * kByte, .224F * kByte, .225F * kByte}}},
    {.name = "tf", .values = {.resize = Resize::crop, .mean = {127, 127, 127}, .std = {128, 128, 128}}},
    {.name = "unit", .values = {}},
    {.name = "none", .values = {.std = {1, 1, 1}}},
}};

// Half to even, as Python's round().
int round_even(double value) { return static_cast<int>(std::nearbyint(value)); }

cv::Mat letterbox(const cv::Mat& image, cv::Size target, int pad, Placement& placement) {
  const double ratio = std::min(double(target.height) / image.rows, double(target.width) / image.cols);
  const cv::Size inner(std::max(1, round_even(image.cols * ratio)), std::max(1, round_even(image.rows * ratio)));
  placement.ratio = placement.ratio_y = ratio;
  placement.left = round_even((target.width - inner.width) / 2.0 - 0.1);
  placement.top = round_even((target.height - inner.height) / 2.0 - 0.1);
  cv::Mat canvas(target, CV_8UC3, cv::Scalar::all(pad));
  cv::Mat window = canvas(cv::Rect({placement.left, placement.top}, inner));
  cv::resize(image, window, inner, 0, 0, cv::INTER_LINEAR);
  return canvas;
}

cv::Mat stretch(const cv::Mat& image, cv::Size target, Placement& placement) {
  placement.ratio = double(target.width) / image.cols;
  placement.ratio_y = double(target.height) / image.rows;
  cv::Mat resized;
  cv::resize(image, resized, target, 0, 0, cv::INTER_LINEAR);
  return resized;
}

cv::Mat centre_crop(const cv::Mat& image, cv::Size target, Placement& placement) {
  if (image.cols < target.width || image.rows < target.height)
    throw Error(ErrorKind::input, "is " + std::to_string(image.cols) + "x" + std::to_string(image.rows) +
                                      ", smaller than the crop " + std::to_string(target.width) + "x" +
                                      std::to_string(target.height));
  const cv::Point corner((image.cols - target.width) / 2, (image.rows - target.height) / 2);
  placement.left = -corner.x;
  placement.top = -corner.y;
  return image(cv::Rect(corner, target));
}

cv::Mat resize_and_crop(const Preprocess& preprocess, const cv::Mat& image, cv::Size target, Placement& placement) {
  const int64_t network_side = std::min(target.width, target.height);
  const int64_t side =
      preprocess.short_side_per == 0 ? preprocess.short_side : preprocess.short_side * network_side / preprocess.short_side_per;
  const int64_t now = std::min(image.cols, image.rows);
  if (now == side) return centre_crop(image, target, placement);
  const cv::Size size(static_cast<int>(image.cols * side / now), static_cast<int>(image.rows * side / now));
  cv::Mat resized;
  // These networks were trained on images shrunk by an averaging filter (Pillow), which INTER_AREA is close to and INTER_LINEAR
  // is not.
  cv::resize(image, resized, size, 0, 0, side < now ? cv::INTER_AREA : cv::INTER_LINEAR);
  placement.ratio = placement.ratio_y = double(side) / double(now);
  return centre_crop(resized, target, placement);
}

cv::Mat fit(const Preprocess& preprocess, const cv::Mat& image, cv::Size target, Placement& placement) {
  switch (preprocess.resize) {
    case Resize::letterbox: return letterbox(image, target, preprocess.pad, placement);
    case Resize::stretch: return stretch(image, target, placement);
    case Resize::crop: return resize_and_crop(preprocess, image, target, placement);
    case Resize::centre_crop_only: return centre_crop(image, target, placement);
  }
  throw Error(ErrorKind::internal, "unknown way to resize");
}

void normalize(const Preprocess& preprocess, const cv::Mat& rgb, std::span<float> out) {
  std::array<std::array<float, 256>, 3> table;
  for (size_t c = 0; c < 3; ++c)
    for (size_t v = 0; v < 256; ++v) table[c][v] = (static_cast<float>(v) - preprocess.mean[c]) / preprocess.std[c];

  const bool planar = preprocess.layout == Preprocess::Layout::nchw;
  const size_t plane = rgb.total();
  const auto width = static_cast<size_t>(rgb.cols);
  for (size_t c = 0; c < 3; ++c) {
    const size_t place = preprocess.order == Preprocess::Order::rgb ? c : 2 - c;
    const size_t step = planar ? 1 : 3;
    float* to = out.data() + (planar ? place * plane : place);
    const std::array<float, 256>& value = table[c];
    for (int y = 0; y < rgb.rows; ++y) {
      const uint8_t* from = rgb.ptr<uint8_t>(y) + c;
      for (size_t x = 0; x < width; ++x, to += step) *to = value[from[3 * x]];
    }
  }
}

}  // namespace

Tensor apply(const Preprocess& preprocess, const Image& image, int height, int width, Placement* placement) {
  const bool crops = preprocess.resize == Resize::crop || preprocess.resize == Resize::centre_crop_only;
  if (crops && preprocess.crop_size != 0 && (preprocess.crop_size != height || preprocess.crop_size != width))
    throw Error(ErrorKind::usage, "the preprocessing crops to " + std::to_string(preprocess.crop_size) +
                                      ", the network's input is " + std::to_string(height) + "x" + std::to_string(width));
  // OpenCV has no view of constant pixels; nothing below writes to them.
  const cv::Mat pixels(image.height, image.width, CV_8UC3, const_cast<uint8_t*>(image.rgb.data()));
  Placement where{.image_width = image.width, .image_height = image.height};
  const cv::Mat fitted = fit(preprocess, pixels, {width, height}, where);
  if (placement != nullptr) *placement = where;
  Tensor tensor(DType::f32,
                preprocess.layout == Preprocess::Layout::nchw ? Shape{1, 3, height, width} : Shape{1, height, width, 3});
  normalize(preprocess, fitted, tensor.write<float>());
  return tensor;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Preset& row : kPresets) names.emplace_back(row.name);
  return names;
}

Preprocess preset(std::string_view name) {
  std::string known;
  for (const Preset& row : kPresets) {
    if (row.name == name) return row.values;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::usage, "no preprocessing preset '" + std::string(name) + "'").fix("presets are " + known);
}

}  // namespace pare
