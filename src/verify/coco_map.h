#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "verify/interval.h"

namespace pare {

/// A labelled box: top left corner and size, in pixels. No crowd regions.
struct GroundTruth {
  int image = 0;
  int cls = 0;
  double x = 0, y = 0, w = 0, h = 0;
};

/// A detected box, in the same units.
struct Scored {
  int image = 0;
  int cls = 0;
  double x = 0, y = 0, w = 0, h = 0;
  double score = 0;
};

struct ClassPrecision {
  int cls = 0;
  int ground_truths = 0;
  double ap = 0;    ///< mean over the IoU thresholds .50, .55, ... .95
  double ap50 = 0;  ///< at IoU .50
};

struct MapResult {
  double map = 0, map50 = 0;              ///< mean over the classes that have ground truth, 0..1
  std::vector<ClassPrecision> per_class;  ///< those classes, ascending
  int images = 0;
};

/// COCO's box evaluation as pycocotools' COCOeval defines it (area "all", at most 100 detections per image and class, precision
/// at 101 recalls). Matches are found once; the figures can then be computed for any multiset of the images.
class CocoMap {
 public:
  /// `images`: number of images judged, those without boxes included; image ids are 0 to images - 1. Boxes of equal score rank in
  /// the order of the image, then of `detections`. Errors: ErrorKind::input for an image id outside that range, for no ground
  /// truth, and for a score or a coordinate that is not finite.
  CocoMap(std::span<const GroundTruth> labels, std::span<const Scored> detections, int images);

  [[nodiscard]] MapResult result() const;
  /// `map` of a data set that holds image i `drawn[i]` times; 0 when it holds no ground truth.
  [[nodiscard]] double map_of(std::span<const uint32_t> drawn) const;
  /// `map` +- 1.96 standard errors by bootstrap over the images. Not the percentile interval: copied images raise the
  /// interpolated precision, so that it may lie above the figure itself.
  [[nodiscard]] Interval map_interval(int resamples = 200, uint64_t seed = 0, int threads = 1) const;

 private:
  static constexpr size_t kThresholds = 10;

  struct Ranked {
    double score;
    int image;
    uint16_t matched;  // bit t: a true positive at threshold t
  };
  struct Class {
    int cls;
    std::vector<Ranked> ranked;                 // best first, up to the last true positive
    std::vector<std::pair<int, int>> labelled;  // image, number of ground truths
  };

  /// Average precision at each threshold, every image counted `drawn` times; false when those images hold no ground truth.
  static bool average_precision(const Class& c, std::span<const uint32_t> drawn, std::array<double, kThresholds>& ap);

  int images_;
  std::vector<Class> classes_;
};

}  // namespace pare
