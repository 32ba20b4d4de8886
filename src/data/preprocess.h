#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "data/image.h"

namespace pare {

/// How the pixels of an image become the input of a network: fitted to its size, then y = (x - mean) / std per channel.
struct Preprocess {
  enum class Resize {
    letterbox,         ///< aspect ratio kept, the rest filled with `pad`
    stretch,           ///< both sides resized, aspect ratio lost
    crop,              ///< short side resized, then the centre cut out
    centre_crop_only,  ///< the centre cut out, nothing resized
  };
  enum class Order { rgb, bgr };
  enum class Layout { nchw, nhwc };

  Resize resize = Resize::stretch;
  int short_side = 256;                     ///< of `crop`: the short side after resizing; in pixels if short_side_per is 0, else
  int short_side_per = 224;                 ///< short_side pixels for each short_side_per pixels of the network's short side
  int crop_size = 0;                        ///< of both crops: the side that the network must have; 0 = any
  int pad = 114;                            ///< of letterbox: grey level, 0..255
  std::array<float, 3> mean{0, 0, 0};       ///< per channel R, G, B, in pixel values 0..255, whatever the order
  std::array<float, 3> std{255, 255, 255};  ///< as `mean`; at least 1
  Order order = Order::rgb;
  Layout layout = Layout::nchw;

  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

/// Where an image lies in the input made of it: x_in = x * ratio + left, y_in = y * ratio_y + top. The ratios differ only for
/// Resize::stretch; left and top are negative for crops.
struct Placement {
  double ratio = 1;
  double ratio_y = 1;
  int left = 0;
  int top = 0;
  int image_width = 0;  ///< of the original, after EXIF rotation
  int image_height = 0;
};

/// One float sample, 1x3xHxW or 1xHxWx3 as `layout` says. Letterbox is Ultralytics' to the pixel; all resizing is OpenCV's
/// INTER_LINEAR, but a short side shrinks by INTER_AREA, close to Pillow's filter; a centre that falls between two pixels moves
/// up and left. Errors: ErrorKind::input if the image is smaller than a crop; ErrorKind::usage if crop_size is not the network's.
Tensor apply(const Preprocess& preprocess, const Image& image, int height, int width, Placement* placement = nullptr);

/// yolo, imagenet, tf, unit, none.
std::vector<std::string> preset_names();
/// Errors: ErrorKind::usage that lists the presets.
Preprocess preset(std::string_view name);

/// The value of `--preprocess`: the name of a preset, or a JSON file with any of
///   {"letterbox": true, "pad": 114}, {"resize": 256 | "256/224" | "stretch"}, {"crop": true | 224},
///   {"mean": [r, g, b] | x, "std": [r, g, b] | x, "order": "rgb" | "bgr", "layout": "nchw" | "nhwc"}
/// where "256/224" is a share of the network's short side. Not given: stretch, mean 0, std 255, rgb, nchw.
/// Errors: ErrorKind::usage for an argument that is neither; ErrorKind::input naming file and key.
Preprocess read_preprocess(const std::string& argument);
/// Canonical: equal text if and only if the preprocessing is equal; read_preprocess accepts it.
std::string to_json(const Preprocess& preprocess);

}  // namespace pare
