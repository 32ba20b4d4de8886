#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "verify/head.h"

namespace pare {

/// A box in pixels of the original image, corners, score in 0..1.
struct Detection {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float score = 0;
  int cls = 0;
};

/// How an image became the input: input = original * ratio + offset. All in pixels.
struct Geometry {
  double ratio = 1;
  double left = 0, top = 0;
  int image_width = 0, image_height = 0;  ///< of the original; boxes are clipped to it
  std::optional<double> ratio_y = {};     ///< vertically, of a stretched image; unset: as `ratio`
};

struct NmsOptions {
  float conf = .001F;                   ///< a candidate counts when its score is greater
  float iou = .7F;                      ///< a box is dropped when it overlaps a better one of its class by more
  int keep = 300;                       ///< at most so many detections, the best
  int max_candidates = 30000;           ///< at most so many enter the suppression, the best
  std::optional<bool> normalized = {};  ///< boxes are in 0..1 of the input; unset: as the layout says
};

/// The detections in a detector's outputs, best first; equal scores in the order of (candidate, class). One candidate may yield a
/// detection for several classes. Suppression runs within each class and is OpenCV's cv::dnn::NMSBoxes (overlap in double,
/// rounded to float; of boxes without area only the best is kept). A layout whose boxes are selected is read as it is: no
/// suppression, and of chosen classes every box above `conf`. Candidates whose box or score is not finite are dropped. Errors:
/// ErrorKind::input when `outputs` do not hold what `layout` says; ErrorKind::unsupported for a type that is not numeric, for
/// grid offsets that are decoded boxes, and for a label that is the background's.
std::vector<Detection> decode_detections(std::span<const Tensor> outputs, const HeadLayout& layout, const Geometry& geometry,
                                         const NmsOptions& options = {});

}  // namespace pare
