#include "data/image.h"

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/file.h"
#include "data/image_end.h"
#include "pare/error.h"

namespace pare {

Image read_image(const std::string& file) {
  std::string raw = read_file(file);
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(raw.data()), raw.size());
  const auto fail = [&](const std::string& reason) { return Error(ErrorKind::input, reason).at(file); };
  if (bytes.empty()) throw fail("empty file");
  // Before OpenCV sees the file: for other formats its decoders reach GDAL.
  const ImageFormat format = image_format(bytes);
  if (format == ImageFormat::unknown) throw fail("not a jpeg, png, webp or bmp");
  if (!is_whole(format, bytes)) throw fail("the " + std::string(format_name(format)) + " ends early");

  const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8UC1, bytes.data());
  cv::Mat bgr;
  try {
    bgr = cv::imdecode(encoded, cv::IMREAD_COLOR);
  } catch (const cv::Exception&) {  // sizes beyond OpenCV's limits; told below like any other damage
  }
  if (bgr.empty()) throw fail("the " + std::string(format_name(format)) + " is damaged");

  Image image{bgr.cols, bgr.rows, std::vector<uint8_t>(bgr.total() * 3)};
  cv::Mat rgb(bgr.rows, bgr.cols, CV_8UC3, image.rgb.data());
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return image;
}

}  // namespace pare
