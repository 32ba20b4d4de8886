#include "verify/detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace pare {
namespace {

struct Candidate {
  float score;
  int64_t index;  // candidate * classes + class
};

struct Box {  // corners in input pixels
  float x1, y1, x2, y2;
};

struct Kept {
  Box box;
  float score;
  int cls;
};

std::vector<Candidate> candidates_above(const std::vector<float>& values, const HeadLayout& layout, const NmsOptions& options) {
  std::vector<Candidate> found;
  for (int cls = 0; cls < layout.classes; ++cls) {
    const float* scores = values.data() + (layout.first_score + cls) * layout.attribute_stride;
    const float* objectness = values.data() + 4 * layout.attribute_stride;
    for (int64_t n = 0; n < layout.candidates; ++n) {
      const int64_t at = n * layout.candidate_stride;
      const float score = layout.objectness ? scores[at] * objectness[at] : scores[at];
      if (score > options.conf && std::isfinite(score)) found.push_back({score, n * layout.classes + cls});
    }
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  const auto limit = static_cast<size_t>(options.max_candidates);
  if (found.size() > limit) {
    std::nth_element(found.begin(), found.begin() + options.max_candidates, found.end(), better);
    found.resize(limit);
  }
  std::sort(found.begin(), found.end(), better);
  return found;
}

bool within_two(const std::vector<float>& values, const HeadLayout& layout) {
  for (int64_t attribute = 0; attribute < 4; ++attribute)
    for (int64_t n = 0; n < layout.candidates; ++n)
      if (values[static_cast<size_t>(attribute * layout.attribute_stride + n * layout.candidate_stride)] > 2) return false;
  return true;
}

double area(const Box& b) { return static_cast<double>(b.x2 - b.x1) * static_cast<double>(b.y2 - b.y1); }

/// The length that two spans share, as cv::Rect2d computes it.
double shared(double first_a, double size_a, double first_b, double size_b) {
  return first_a < first_b ? std::min(size_a - (first_b - first_a), size_b) : std::min(size_b - (first_a - first_b), size_a);
}

/// Intersection over union, rounded step by step like cv::jaccardDistance, so that a box at the threshold falls on the same side.
float overlap(const Box& a, const Box& b) {
  const double wide_a = a.x2 - a.x1, high_a = a.y2 - a.y1, wide_b = b.x2 - b.x1, high_b = b.y2 - b.y1;
  if (wide_a <= 0 || high_a <= 0 || wide_b <= 0 || high_b <= 0) return 0;
  const double wide = shared(a.x1, wide_a, b.x1, wide_b), high = shared(a.y1, high_a, b.y1, high_b);
  if (wide <= 0 || high <= 0) return 0;
  const double both = wide * high;
  return 1.F - static_cast<float>(1.0 - both / (area(a) + area(b) - both));
}

/// Whether NMSBoxes drops `box` for `other`. It takes two boxes without area for equal, of whatever class.
bool suppresses(const Kept& other, const Kept& box, float iou) {
  if (area(other.box) + area(box.box) <= std::numeric_limits<double>::epsilon()) return 1 > iou;
  return other.cls == box.cls && overlap(box.box, other.box) > iou;
}

std::vector<Kept> suppress(const std::vector<float>& values, const HeadLayout& layout, const std::vector<Candidate>& candidates,
                           const NmsOptions& options) {
  const bool normalized = options.normalized ? *options.normalized : within_two(values, layout);
  const float scale_x = normalized ? static_cast<float>(layout.input_width) : 1.F;
  const float scale_y = normalized ? static_cast<float>(layout.input_height) : 1.F;
  std::vector<Kept> kept;
  for (const Candidate& candidate : candidates) {
    if (kept.size() >= static_cast<size_t>(options.keep)) break;
    const auto attribute = [&](int64_t a) {
      return values[static_cast<size_t>(a * layout.attribute_stride +
                                        candidate.index / layout.classes * layout.candidate_stride)];
    };
    const float x = attribute(0) * scale_x, y = attribute(1) * scale_y, w = attribute(2) * scale_x, h = attribute(3) * scale_y;
    const Box box{x - w / 2, y - h / 2, x + w / 2, y + h / 2};
    if (!std::isfinite(box.x1) || !std::isfinite(box.y1) || !std::isfinite(box.x2) || !std::isfinite(box.y2)) continue;
    const Kept next{box, candidate.score, static_cast<int>(candidate.index % layout.classes)};
    const auto drops_it = [&](const Kept& other) { return suppresses(other, next, options.iou); };
    if (std::none_of(kept.begin(), kept.end(), drops_it)) kept.push_back(next);
  }
  return kept;
}

}  // namespace

std::vector<Detection> decode_detections(const Tensor& output, const HeadLayout& layout, const Geometry& geometry,
                                         const NmsOptions& options) {
  const int64_t attributes = layout.first_score + layout.classes;
  if (layout.classes < 1 || output.count() != attributes * layout.candidates)
    throw Error(ErrorKind::input, "output of shape " + shape_text(output.shape()) + " does not hold " +
                                      std::to_string(layout.candidates) + " candidates of " + std::to_string(attributes) +
                                      " numbers");
  const std::vector<float> values = to_floats(output);
  const std::vector<Kept> kept = suppress(values, layout, candidates_above(values, layout, options), options);

  const auto ratio = static_cast<float>(geometry.ratio);
  const auto back = [ratio](float value, double offset, int size) {
    return std::clamp((value - static_cast<float>(offset)) / ratio, 0.F, static_cast<float>(size));
  };
  std::vector<Detection> detections;
  detections.reserve(kept.size());
  for (const Kept& k : kept)
    detections.push_back({.x1 = back(k.box.x1, geometry.left, geometry.image_width),
                          .y1 = back(k.box.y1, geometry.top, geometry.image_height),
                          .x2 = back(k.box.x2, geometry.left, geometry.image_width),
                          .y2 = back(k.box.y2, geometry.top, geometry.image_height),
                          .score = k.score,
                          .cls = k.cls});
  return detections;
}

}  // namespace pare
