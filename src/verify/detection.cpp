#include "verify/detection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace pare {
namespace {

struct Box {  // corners in input pixels
  float x1, y1, x2, y2;
};

struct Candidate {
  float score;
  int64_t box;
  int cls;
};

struct Kept {
  Box box;
  float score;
  int cls;
};

Error misfit(const Tensor& output, int64_t candidates, int64_t numbers) {
  return Error(ErrorKind::input, "output of shape " + shape_text(output.shape()) + " does not hold " +
                                     std::to_string(candidates) + " candidates of " + std::to_string(numbers) + " numbers");
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// The outputs that a layout reads, as floats, with the number of candidates settled.
class Values {
 public:
  Values(std::span<const Tensor> outputs, const HeadLayout& layout) : layout_(layout), floats_(outputs.size()) {
    if (!layout.levels.empty()) {
      gather_levels(outputs);
      return;
    }
    const bool chosen = layout.score_form == ScoreForm::chosen;
    if (layout.classes < 1 && !chosen) throw misfit(output(outputs, layout.boxes.output), layout.candidates, 4);
    if (layout.candidates < 0) {
      const Tensor& boxes = output(outputs, layout.boxes.output);
      layout_.candidates = boxes.count() / layout.boxes.candidate_stride;
    }
    const bool first_counts = layout.score_form == ScoreForm::softmax;  // "no object" is read, too
    require(outputs, layout_.scores, chosen ? 1 : layout.classes + (first_counts ? 1 : 0));
    require(outputs, layout_.boxes, layout.box_form == BoxForm::distances ? 4 * layout.bins : 4);
    if (chosen) require(outputs, layout_.labels, 1);
    if (layout.count) {
      const std::vector<float> count = to_floats(output(outputs, *layout.count));
      if (count.empty() || !(count[0] >= 0)) throw Error(ErrorKind::input, "the output that counts boxes holds no number");
      layout_.candidates = std::min(layout_.candidates, static_cast<int64_t>(count[0]));
    }
  }

  [[nodiscard]] const HeadLayout& layout() const { return layout_; }
  [[nodiscard]] const float* at(const HeadField& field, int64_t attribute) const {
    return floats_[field.output].data() + field.first + attribute * field.attribute_stride;
  }

 private:
  static const Tensor& output(std::span<const Tensor> outputs, size_t which) {
    if (which >= outputs.size())
      throw Error(ErrorKind::input, "the model makes " + std::to_string(outputs.size()) + " outputs, the head is in number " +
                                        std::to_string(which + 1));
    return outputs[which];
  }

  void require(std::span<const Tensor> outputs, const HeadField& field, int64_t numbers) {
    const Tensor& tensor = output(outputs, field.output);
    const int64_t last = field.first + (numbers - 1) * field.attribute_stride + (layout_.candidates - 1) * field.candidate_stride;
    const int64_t row = std::max(field.attribute_stride, field.candidate_stride);
    const bool rows_fit = row == 1 || (!tensor.shape().empty() && tensor.shape().back() == row);
    if (layout_.candidates < 0 || !rows_fit || (layout_.candidates > 0 && last >= tensor.count()))
      throw misfit(tensor, layout_.candidates, numbers + field.first / field.attribute_stride);
    if (floats_[field.output].empty()) floats_[field.output] = to_floats(tensor);
  }

  /// YOLOv5's raw levels as one matrix of decoded boxes, objectness and scores.
  void gather_levels(std::span<const Tensor> outputs) {
    constexpr std::array<std::array<float, 6>, 3> kAnchors{
        {{10, 13, 16, 30, 33, 23}, {30, 61, 62, 45, 59, 119}, {116, 90, 156, 198, 373, 326}}};
    const int64_t numbers = layout_.classes + 5;
    std::vector<float>& all = floats_[layout_.boxes.output];
    for (size_t level = 0; level < layout_.levels.size(); ++level) {
      const Tensor& tensor = output(outputs, layout_.levels[level]);
      const int64_t stride = layout_.strides[level], height = layout_.input_height / stride, width = layout_.input_width / stride;
      if (tensor.count() != 3 * height * width * numbers) throw misfit(tensor, 3 * height * width, numbers);
      const std::vector<float> raw = to_floats(tensor);
      const int64_t step = layout_.channels_first ? height * width : 1;
      for (int64_t anchor = 0; anchor < 3; ++anchor)
        for (int64_t cell = 0; cell < height * width; ++cell) {
          const int64_t start =
              layout_.channels_first ? anchor * numbers * step + cell : (anchor * height * width + cell) * numbers;
          const auto y = [&](int64_t a) { return sigmoid(raw[static_cast<size_t>(start + a * step)]); };
          const auto s = static_cast<float>(stride);
          all.push_back((2 * y(0) - .5F + static_cast<float>(cell % width)) * s);
          all.push_back((2 * y(1) - .5F + static_cast<float>(cell / width)) * s);
          for (int64_t side = 2; side < 4; ++side)
            all.push_back(4 * y(side) * y(side) * kAnchors[level][static_cast<size_t>(2 * anchor + side - 2)]);
          for (int64_t a = 4; a < numbers; ++a) all.push_back(y(a));
        }
    }
  }

  HeadLayout layout_;
  std::vector<std::vector<float>> floats_;  ///< by output; empty for those that are not read
};

/// Calls `add(score, candidate, class)` for every score there is.
template <typename Add>
void each_score(const Values& values, Add add) {
  const HeadLayout& layout = values.layout();
  const int64_t step = layout.scores.candidate_stride;
  if (layout.score_form == ScoreForm::chosen) {
    const float *scores = values.at(layout.scores, 0), *labels = values.at(layout.labels, 0);
    for (int64_t n = 0; n < layout.candidates; ++n) {
      const float label = labels[n * layout.labels.candidate_stride];
      add(scores[n * step], n, std::isfinite(label) ? static_cast<int>(std::lround(label)) - layout.first_label : 0);
    }
    return;
  }
  if (layout.score_form == ScoreForm::softmax) {
    for (int64_t n = 0; n < layout.candidates; ++n) {
      const auto logit = [&](int cls) { return values.at(layout.scores, cls)[n * step]; };
      int best = 0;
      for (int cls = 1; cls < layout.classes; ++cls) best = logit(cls) > logit(best) ? cls : best;
      float sum = 0;
      for (int cls = 0; cls <= layout.classes; ++cls) sum += std::exp(logit(cls) - logit(best));
      add(1 / sum, n, best);
    }
    return;
  }
  for (int cls = 0; cls < layout.classes; ++cls) {
    const float* scores = values.at(layout.scores, cls);
    const float* objectness = layout.score_form == ScoreForm::objectness ? values.at(layout.scores, -1) : nullptr;
    for (int64_t n = 0; n < layout.candidates; ++n) {
      float score = scores[n * step];
      if (objectness != nullptr) score *= objectness[n * step];
      add(layout.score_form == ScoreForm::sigmoid ? sigmoid(score) : score, n, cls);
    }
  }
}

std::vector<Candidate> candidates_above(const Values& values, const NmsOptions& options) {
  const bool chosen = values.layout().score_form == ScoreForm::chosen;
  std::vector<Candidate> found;
  each_score(values, [&](float score, int64_t box, int cls) {
    if (!(score > options.conf) || !std::isfinite(score)) return;
    if (chosen && cls < 0)
      throw Error(ErrorKind::unsupported, "a box has label " + std::to_string(cls + values.layout().first_label) +
                                              ", where labels count from " + std::to_string(values.layout().first_label))
          .at("--head " + std::string(values.layout().head))
          .fix("use --task none: the outputs are compared for any model");
    found.push_back({score, box, cls});
  });
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.box != b.box ? a.box < b.box : a.cls < b.cls;
  };
  const auto limit = static_cast<size_t>(options.max_candidates);
  if (found.size() > limit) {
    std::nth_element(found.begin(), found.begin() + options.max_candidates, found.end(), better);
    found.resize(limit);
  }
  std::sort(found.begin(), found.end(), better);
  return found;
}

/// Boxes of candidates in input pixels.
class Boxes {
 public:
  Boxes(const Values& values, const NmsOptions& options) : values_(values), layout_(values.layout()) {
    const std::optional<bool> normalized = options.normalized ? options.normalized : layout_.normalized;
    if (normalized ? *normalized : within_two()) {
      scale_x_ = static_cast<float>(layout_.input_width);
      scale_y_ = static_cast<float>(layout_.input_height);
    }
  }

  [[nodiscard]] Box operator()(int64_t n) const {
    switch (layout_.box_form) {
      case BoxForm::corners:
        return {attribute(n, 0) * scale_x_, attribute(n, 1) * scale_y_, attribute(n, 2) * scale_x_, attribute(n, 3) * scale_y_};
      case BoxForm::corners_yx:
        return {attribute(n, 1) * scale_x_, attribute(n, 0) * scale_y_, attribute(n, 3) * scale_x_, attribute(n, 2) * scale_y_};
      case BoxForm::grid_offsets: return on_grid(n);
      case BoxForm::distances: return around(n);
      case BoxForm::centre:
      case BoxForm::anchors: break;
    }
    return centred(attribute(n, 0) * scale_x_, attribute(n, 1) * scale_y_, attribute(n, 2) * scale_x_,
                   attribute(n, 3) * scale_y_);
  }

 private:
  struct Cell {
    float x, y, stride;
  };

  [[nodiscard]] float attribute(int64_t n, int64_t a) const {
    return values_.at(layout_.boxes, a)[n * layout_.boxes.candidate_stride];
  }

  [[nodiscard]] bool within_two() const {
    for (int64_t a = 0; a < 4; ++a)
      for (int64_t n = 0; n < layout_.candidates; ++n)
        if (attribute(n, a) > 2) return false;
    return true;
  }

  static Box centred(float x, float y, float w, float h) { return {x - w / 2, y - h / 2, x + w / 2, y + h / 2}; }

  [[nodiscard]] Cell cell(int64_t n) const {
    for (const int64_t stride : layout_.strides) {
      const int64_t width = (layout_.input_width + stride - 1) / stride;
      const int64_t count = width * ((layout_.input_height + stride - 1) / stride);
      if (n < count) return {static_cast<float>(n % width), static_cast<float>(n / width), static_cast<float>(stride)};
      n -= count;
    }
    throw Error(ErrorKind::internal, "a candidate outside the grids");
  }

  [[nodiscard]] Box on_grid(int64_t n) const {
    constexpr float kLargest = 20;  // exp(20) strides are no box
    const float w = attribute(n, 2), h = attribute(n, 3);
    if (std::isfinite(w) && std::isfinite(h) && std::max(w, h) > kLargest)
      throw Error(ErrorKind::unsupported,
                  "the boxes are decoded: a size of " + std::to_string(std::max(w, h)) + " is no logarithm of strides")
          .at("--head yolox")
          .fix("use --head yolox-decoded");
    const Cell c = cell(n);
    return centred((attribute(n, 0) + c.x) * c.stride, (attribute(n, 1) + c.y) * c.stride, std::exp(w) * c.stride,
                   std::exp(h) * c.stride);
  }

  [[nodiscard]] Box around(int64_t n) const {
    std::array<float, 4> distance{};
    const Cell c = cell(n);
    for (int64_t side = 0; side < 4; ++side) {
      const auto logit = [&](int64_t bin) { return attribute(n, side * layout_.bins + bin); };
      float largest = logit(0), sum = 0, mean = 0;
      for (int64_t bin = 1; bin < layout_.bins; ++bin) largest = std::max(largest, logit(bin));
      for (int64_t bin = 0; bin < layout_.bins; ++bin) {
        const float weight = std::exp(logit(bin) - largest);
        sum += weight;
        mean += weight * static_cast<float>(bin);
      }
      distance[static_cast<size_t>(side)] = mean / sum * c.stride;
    }
    const float offset = layout_.strides.size() == 4 ? 0.F : .5F;
    const float x = (c.x + offset) * c.stride, y = (c.y + offset) * c.stride;
    return {x - distance[0], y - distance[1], x + distance[2], y + distance[3]};
  }

  const Values& values_;
  const HeadLayout& layout_;
  float scale_x_ = 1, scale_y_ = 1;
};

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

std::vector<Kept> select(const Values& values, const std::vector<Candidate>& candidates, const NmsOptions& options) {
  const HeadLayout& layout = values.layout();
  const Boxes box_of(values, options);
  const size_t limit =
      layout.score_form == ScoreForm::chosen ? candidates.size() : static_cast<size_t>(std::max(0, options.keep));
  std::vector<Kept> kept;
  for (const Candidate& candidate : candidates) {
    if (kept.size() >= limit) break;
    const Box box = box_of(candidate.box);
    if (!std::isfinite(box.x1) || !std::isfinite(box.y1) || !std::isfinite(box.x2) || !std::isfinite(box.y2)) continue;
    const Kept next{box, candidate.score, candidate.cls};
    const auto drops_it = [&](const Kept& other) { return suppresses(other, next, options.iou); };
    if (layout.selected || std::none_of(kept.begin(), kept.end(), drops_it)) kept.push_back(next);
  }
  return kept;
}

}  // namespace

std::vector<Detection> decode_detections(std::span<const Tensor> outputs, const HeadLayout& layout, const Geometry& geometry,
                                         const NmsOptions& options) {
  const Values values(outputs, layout);
  const std::vector<Kept> kept = select(values, candidates_above(values, options), options);

  const auto ratio_x = static_cast<float>(geometry.ratio),
             ratio_y = static_cast<float>(geometry.ratio_y.value_or(geometry.ratio));
  const auto back = [](float value, double offset, float ratio, int size) {
    return std::clamp((value - static_cast<float>(offset)) / ratio, 0.F, static_cast<float>(size));
  };
  std::vector<Detection> detections;
  detections.reserve(kept.size());
  for (const Kept& k : kept)
    detections.push_back({.x1 = back(k.box.x1, geometry.left, ratio_x, geometry.image_width),
                          .y1 = back(k.box.y1, geometry.top, ratio_y, geometry.image_height),
                          .x2 = back(k.box.x2, geometry.left, ratio_x, geometry.image_width),
                          .y2 = back(k.box.y2, geometry.top, ratio_y, geometry.image_height),
                          .score = k.score,
                          .cls = k.cls});
  return detections;
}

}  // namespace pare
