#include "verify/coco_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "pare/error.h"

namespace pare {
namespace {

constexpr size_t kMaxDetections = 100;
constexpr int kRecalls = 101;

/// numpy's linspace(.5, .95, 10), to the last bit.
double iou_threshold(size_t t) { return t == 9 ? .95 : .5 + static_cast<double>(t) * ((.95 - .5) / 9); }

/// bbIou of pycocotools' maskApi.c.
double box_iou(const Scored& d, const GroundTruth& g) {
  const double wide = std::min(d.x + d.w, g.x + g.w) - std::max(d.x, g.x);
  const double high = std::min(d.y + d.h, g.y + g.h) - std::max(d.y, g.y);
  if (wide <= 0 || high <= 0) return 0;
  return wide * high / (d.w * d.h + g.w * g.h - wide * high);
}

/// COCOeval.evaluateImg for one image, class and threshold: `detections` best first, each takes the free ground truth it covers
/// best, the later one of equals. Sets `bit` in `matched` for each detection that finds one.
void match(const std::vector<double>& ious, size_t labels, double threshold, uint16_t bit, std::vector<uint16_t>& matched) {
  std::vector<bool> taken(labels, false);
  for (size_t d = 0; d < matched.size(); ++d) {
    double best = std::min(threshold, 1 - 1e-10);
    size_t found = labels;
    for (size_t g = 0; g < labels; ++g) {
      const double iou = ious[d * labels + g];
      if (taken[g] || iou < best) continue;
      best = iou;
      found = g;
    }
    if (found == labels) continue;
    taken[found] = true;
    matched[d] = static_cast<uint16_t>(matched[d] | bit);
  }
}

template <typename Boxes>
void require_usable(const Boxes& boxes, int images, const char* what) {
  for (const auto& box : boxes) {
    if (box.image < 0 || box.image >= images)
      throw Error(ErrorKind::input, std::string(what) + " of image " + std::to_string(box.image) + ", allowed is 0 to " +
                                        std::to_string(images - 1));
    if (!std::isfinite(box.x) || !std::isfinite(box.y) || !std::isfinite(box.w) || !std::isfinite(box.h))
      throw Error(ErrorKind::input,
                  std::string(what) + " of image " + std::to_string(box.image) + " has a coordinate that is not finite");
  }
}

using ImageClass = std::pair<int, int>;  // class, image

template <typename Box>
std::map<ImageClass, std::vector<Box>> grouped(std::span<const Box> boxes) {
  std::map<ImageClass, std::vector<Box>> groups;
  for (const Box& box : boxes) groups[{box.cls, box.image}].push_back(box);
  return groups;
}

}  // namespace

CocoMap::CocoMap(std::span<const GroundTruth> labels, std::span<const Scored> detections, int images) : images_(images) {
  require_usable(labels, images, "a label");
  require_usable(detections, images, "a detection");
  for (const Scored& d : detections)
    if (!std::isfinite(d.score))
      throw Error(ErrorKind::input, "a detection of image " + std::to_string(d.image) + " has a score that is not finite");
  if (labels.empty()) throw Error(ErrorKind::input, "no ground truth: the mean average precision is not defined");

  const auto truths = grouped(labels);
  for (const auto& [key, boxes] : truths) {
    if (classes_.empty() || classes_.back().cls != key.first) classes_.push_back({key.first, {}, {}});
    classes_.back().labelled.emplace_back(key.second, static_cast<int>(boxes.size()));
  }

  for (auto& [key, found] : grouped(detections)) {
    const auto c =
        std::lower_bound(classes_.begin(), classes_.end(), key.first, [](const Class& a, int cls) { return a.cls < cls; });
    if (c == classes_.end() || c->cls != key.first) continue;
    std::stable_sort(found.begin(), found.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
    found.resize(std::min(found.size(), kMaxDetections));
    std::vector<uint16_t> matched(found.size(), 0);
    if (const auto wanted = truths.find(key); wanted != truths.end()) {
      std::vector<double> ious;
      ious.reserve(found.size() * wanted->second.size());
      for (const Scored& d : found)
        for (const GroundTruth& g : wanted->second) ious.push_back(box_iou(d, g));
      for (size_t t = 0; t < kThresholds; ++t)
        match(ious, wanted->second.size(), iou_threshold(t), static_cast<uint16_t>(1U << t), matched);
    }
    for (size_t d = 0; d < found.size(); ++d) c->ranked.push_back({found[d].score, key.second, matched[d]});
  }

  for (Class& c : classes_) {
    std::stable_sort(c.ranked.begin(), c.ranked.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    while (!c.ranked.empty() && c.ranked.back().matched == 0) c.ranked.pop_back();
  }
}

bool CocoMap::average_precision(const Class& c, std::span<const uint32_t> drawn, std::array<double, kThresholds>& ap) {
  double labels = 0;
  for (const auto& [image, count] : c.labelled) labels += static_cast<double>(count) * drawn[static_cast<size_t>(image)];
  if (labels == 0) return false;

  struct Point {
    double recall, precision;
  };
  std::vector<Point> points;  // after each true positive: elsewhere recall stands still and precision falls
  points.reserve(c.ranked.size());
  for (size_t t = 0; t < kThresholds; ++t) {
    points.clear();
    double hits = 0, misses = 0;
    for (const Ranked& r : c.ranked) {
      const double weight = drawn[static_cast<size_t>(r.image)];
      if (weight == 0) continue;
      if ((r.matched >> t & 1U) == 0) {
        misses += weight;
        continue;
      }
      hits += weight;
      points.push_back({hits / labels, hits / (hits + misses + std::numeric_limits<double>::epsilon())});
    }
    for (size_t i = points.size(); i-- > 1;) points[i - 1].precision = std::max(points[i - 1].precision, points[i].precision);
    double sum = 0;
    size_t at = 0;
    for (int r = 0; r < kRecalls; ++r) {
      const double recall = r == kRecalls - 1 ? 1 : r * .01;
      while (at < points.size() && points[at].recall < recall) ++at;
      if (at == points.size()) break;
      sum += points[at].precision;
    }
    ap[t] = sum / kRecalls;
  }
  return true;
}

MapResult CocoMap::result() const {
  const std::vector<uint32_t> once(static_cast<size_t>(images_), 1);
  MapResult result;
  result.images = images_;
  for (const Class& c : classes_) {
    std::array<double, kThresholds> ap{};
    average_precision(c, once, ap);
    ClassPrecision row{.cls = c.cls, .ap50 = ap[0]};
    for (const double value : ap) row.ap += value / kThresholds;
    for (const auto& [image, count] : c.labelled) row.ground_truths += count;
    result.map += row.ap / static_cast<double>(classes_.size());
    result.map50 += row.ap50 / static_cast<double>(classes_.size());
    result.per_class.push_back(row);
  }
  return result;
}

double CocoMap::map_of(std::span<const uint32_t> drawn) const {
  double sum = 0;
  int present = 0;
  for (const Class& c : classes_) {
    std::array<double, kThresholds> ap{};
    if (!average_precision(c, drawn, ap)) continue;
    ++present;
    for (const double value : ap) sum += value / kThresholds;
  }
  return present == 0 ? 0 : sum / present;
}

Interval CocoMap::map_interval(int resamples, uint64_t seed, int threads) const {
  const std::vector<double> values = bootstrap(static_cast<size_t>(images_), resamples, seed, threads,
                                               [this](std::span<const uint32_t> drawn) { return map_of(drawn); });
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = 1.959963984540054 * std::sqrt(squares / std::max(1.0, count - 1));
  const double map = result().map;
  return {std::max(0.0, map - half), std::min(1.0, map + half)};
}

}  // namespace pare
