#include "verify/head.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pare {
namespace {

using Layouts = std::vector<HeadLayout>;
using Strides = std::vector<int64_t>;

constexpr int64_t kMaxSelected = 1000;  // boxes that a model selects, and queries of a transformer
constexpr int64_t kMinQueries = 10;
constexpr int64_t kMaxClasses = 1000;  // more are no classes: candidates and attributes have been mixed up
constexpr int64_t kMaskCoefficients = 32;
constexpr int64_t kDefaultBins = 8;  // NanoDet's reg_max is 7 in all of its configurations

struct HeadRow {
  std::string_view head;
  std::string_view name;
  /// The layouts of this row that the outputs fit, one for each choice of outputs.
  Layouts (*find)(const HeadRow&, const HeadQuestion&, bool asked);
  BoxForm box_form;
  ScoreForm score_form;
  size_t attribute_axis = 2;       // of a single output's three axes; the other of 1 and 2 counts candidates
  int64_t boxes_per_cell = 1;      // of the grids
  bool any_count = false;          // of candidates, when asked for and the classes are known or the output is the only one
  bool extras = false;             // mask coefficients or keypoints may stand behind the scores
  bool selected = false;           // holds a selection already
  bool asked_only = false;         // shapes alone never prove it
  std::optional<bool> normalized;  // unset: told by the values
};

bool is_batch(int64_t dim) { return dim == 1 || dim == -1; }

const std::vector<Strides>& stride_sets() {
  static const std::vector<Strides> kSets{{8, 16, 32}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32}};
  return kSets;
}

int64_t cells(const Strides& strides, const HeadQuestion& q) {
  int64_t sum = 0;
  for (const int64_t s : strides) sum += ((q.height + s - 1) / s) * ((q.width + s - 1) / s);
  return sum;
}

/// The strides whose grids hold `count` boxes; empty for none.
Strides strides_of(int64_t count, int64_t boxes_per_cell, const HeadQuestion& q) {
  for (const Strides& strides : stride_sets())
    if (count > 0 && count == boxes_per_cell * cells(strides, q)) return strides;
  return {};
}

HeadLayout start(const HeadRow& row, const HeadQuestion& q) {
  HeadLayout layout{.name = row.name,
                    .head = row.head,
                    .selected = row.selected,
                    .box_form = row.box_form,
                    .score_form = row.score_form,
                    .normalized = row.normalized};
  layout.input_height = q.height;
  layout.input_width = q.width;
  return layout;
}

bool plausible(int64_t classes, const HeadQuestion& q) {
  return q.classes ? classes == *q.classes : classes >= 1 && classes <= kMaxClasses;
}

/// Whether `extra` numbers may stand behind the scores.
bool explained(int64_t extra, const HeadQuestion& q) {
  const auto holds_masks = [](const HeadOutput& o) { return o.shape.size() == 4 && o.shape[1] == kMaskCoefficients; };
  if (extra == kMaskCoefficients && std::any_of(q.outputs.begin(), q.outputs.end(), holds_masks)) return true;
  return extra > 0 && extra == q.keypoints;
}

/// Classes among `numbers`, which scores and perhaps extras share; 0 where that is not known.
int64_t classes_among(int64_t numbers, const HeadRow& row, const HeadQuestion& q, bool asked) {
  if (q.classes) {
    const int64_t extra = numbers - *q.classes;
    return extra == 0 || (row.extras && explained(extra, q)) ? *q.classes : 0;
  }
  if (q.outputs.size() == 1) return numbers;
  if (!asked) return 0;
  return row.extras && explained(kMaskCoefficients, q) ? numbers - kMaskCoefficients : numbers;
}

/// A head in one output of three axes.
template <typename Fill>
Layouts in_one_output(const HeadRow& row, const HeadQuestion& q, Fill fill) {
  Layouts found;
  for (size_t o = 0; o < q.outputs.size(); ++o) {
    const Shape& shape = q.outputs[o].shape;
    if (shape.size() != 3 || !is_batch(shape[0]) || shape[row.attribute_axis] < 5) continue;
    HeadLayout layout = start(row, q);
    layout.candidates = shape[3 - row.attribute_axis];
    const bool attributes_first = row.attribute_axis == 1;
    layout.boxes = {o, 0, attributes_first ? shape[2] : 1, attributes_first ? 1 : shape[2]};
    layout.scores = layout.labels = layout.boxes;
    if (fill(layout, shape[row.attribute_axis])) found.push_back(std::move(layout));
  }
  return found;
}

/// Four numbers of a box, perhaps objectness, scores: a candidate for each cell of the grids.
Layouts find_dense(const HeadRow& row, const HeadQuestion& q, bool asked) {
  return in_one_output(row, q, [&](HeadLayout& layout, int64_t attributes) {
    const int64_t first = row.score_form == ScoreForm::objectness ? 5 : 4;
    const int64_t classes = classes_among(attributes - first, row, q, asked);
    layout.strides = strides_of(layout.candidates, row.boxes_per_cell, q);
    const bool any_count = row.any_count && asked && layout.candidates > 0 && (q.classes || q.outputs.size() == 1);
    if (layout.strides.empty() && !any_count) return false;
    layout.classes = static_cast<int>(classes);
    layout.scores.first = first * layout.boxes.attribute_stride;
    return plausible(classes, q);
  });
}

/// x1 y1 x2 y2 score class.
Layouts find_end_to_end(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  return in_one_output(row, q, [&](HeadLayout& layout, int64_t attributes) {
    if (layout.candidates == 0 || layout.candidates > kMaxSelected) return false;
    if (attributes != 6 && !(attributes > 6 && explained(attributes - 6, q))) return false;
    layout.scores.first = 4;
    layout.labels.first = 5;
    return true;
  });
}

Layouts find_nanodet(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  return in_one_output(row, q, [&](HeadLayout& layout, int64_t attributes) {
    const int64_t distances = q.classes ? attributes - *q.classes : 4 * kDefaultBins;
    layout.strides = strides_of(layout.candidates, 1, q);
    if (layout.strides.empty() || layout.strides.front() != 8 || distances < 8 || distances % 4 != 0) return false;
    layout.classes = static_cast<int>(attributes - distances);
    layout.bins = distances / 4;
    layout.boxes.first = layout.classes;
    return plausible(layout.classes, q);
  });
}

/// Box and probabilities for each query of a transformer.
Layouts find_queries(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  return in_one_output(row, q, [&](HeadLayout& layout, int64_t attributes) {
    if (layout.candidates < kMinQueries || layout.candidates > kMaxSelected) return false;
    const int64_t classes = classes_among(attributes - 4, row, q, false);
    layout.classes = static_cast<int>(classes);
    layout.scores.first = 4;
    return plausible(classes, q);
  });
}

/// 1 x 3 x H/s x W/s x (5+C) or 1 x 3(5+C) x H/s x W/s for each stride.
Layouts find_levels(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  HeadLayout layout = start(row, q);
  layout.strides = {8, 16, 32};
  layout.channels_first = row.attribute_axis == 1;
  const size_t rank = layout.channels_first ? 4 : 5;
  int64_t attributes = 0;
  for (const int64_t s : layout.strides) {
    size_t found = 0;
    for (size_t o = 0; o < q.outputs.size(); ++o) {
      const Shape& shape = q.outputs[o].shape;
      if (shape.size() != rank || !is_batch(shape[0]) || shape[2] * s != q.height || shape[3] * s != q.width) continue;
      const int64_t wide = layout.channels_first ? (shape[1] % 3 == 0 ? shape[1] / 3 : 0) : (shape[1] == 3 ? shape[4] : 0);
      if (wide < 6 || (attributes != 0 && wide != attributes)) continue;
      attributes = wide;
      layout.levels.push_back(o);
      layout.candidates += 3 * shape[2] * shape[3];
      ++found;
    }
    if (found != 1) return {};
  }
  layout.classes = static_cast<int>(attributes - 5);
  layout.boxes = {layout.levels.front(), 0, 1, attributes};  // of the matrix that the levels are gathered in
  layout.scores = {layout.levels.front(), 5, 1, attributes};
  if (!plausible(layout.classes, q)) return {};
  return {layout};
}

bool names(const HeadOutput& output, std::string_view what) {
  std::string lower = output.name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find(what) != std::string::npos;
}

/// Pairs of outputs: 1 x N x 4 and 1 x N x scores.
template <typename Fill>
Layouts in_two_outputs(const HeadRow& row, const HeadQuestion& q, Fill fill) {
  Layouts found;
  for (size_t b = 0; b < q.outputs.size(); ++b)
    for (size_t s = 0; s < q.outputs.size(); ++s) {
      const Shape &boxes = q.outputs[b].shape, &scores = q.outputs[s].shape;
      if (b == s || boxes.size() != 3 || scores.size() != 3 || !is_batch(boxes[0]) || !is_batch(scores[0])) continue;
      if (boxes[2] != 4 || boxes[1] != scores[1] || boxes[1] < 1 || scores[2] < 2) continue;
      if (scores[2] == 4 && (!names(q.outputs[b], "box") || names(q.outputs[s], "box"))) continue;  // either could be the boxes
      HeadLayout layout = start(row, q);
      layout.candidates = boxes[1];
      layout.boxes = {b, 0, 1, 4};
      layout.scores = {s, 0, 1, scores[2]};
      if (fill(layout, scores[2], q.outputs[s].name)) found.push_back(std::move(layout));
    }
  return found;
}

Layouts find_ssd(const HeadRow& row, const HeadQuestion& q, bool asked) {
  return in_two_outputs(row, q, [&](HeadLayout& layout, int64_t wide, const std::string& name) {
    // Whether class 0 is the background only the number of classes tells.
    if ((!q.classes && !asked) || names({name, {}, {}}, "logit")) return false;
    layout.classes = static_cast<int>(wide - 1);
    layout.scores.first = 1;
    return plausible(layout.classes, q);
  });
}

Layouts find_detr(const HeadRow& row, const HeadQuestion& q, bool asked) {
  return in_two_outputs(row, q, [&](HeadLayout& layout, int64_t wide, const std::string& /*name*/) {
    if (layout.candidates < kMinQueries || layout.candidates > kMaxSelected) return false;
    const bool none = row.score_form == ScoreForm::softmax;
    if (!q.classes && (!asked || (!none && !row.asked_only))) return false;  // only C tells whether "no object" is there
    layout.classes = static_cast<int>(none ? wide - 1 : wide);
    return plausible(layout.classes, q);
  });
}

/// The one output for which `is` holds; nothing for none or several.
template <typename Is>
std::optional<size_t> only(const HeadQuestion& q, Is is) {
  std::optional<size_t> found;
  for (size_t o = 0; o < q.outputs.size(); ++o) {
    if (!is(q.outputs[o])) continue;
    if (found) return std::nullopt;
    found = o;
  }
  return found;
}

HeadLayout chosen(const HeadRow& row, const HeadQuestion& q, size_t boxes, size_t scores, size_t labels, int64_t candidates) {
  HeadLayout layout = start(row, q);
  layout.candidates = candidates;
  layout.boxes = {boxes, 0, 1, 4};
  layout.scores = {scores, 0, 1, 1};
  layout.labels = {labels, 0, 1, 1};
  layout.first_label = 1;
  return layout;
}

/// The four outputs of TensorFlow's Object Detection API, told apart by name.
Layouts find_tensorflow(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  if (q.outputs.size() != 4) return {};
  const auto lists = [](const HeadOutput& o) { return o.shape.size() == 2 && is_batch(o.shape[0]); };
  const auto boxes = only(q, [](const HeadOutput& o) { return o.shape.size() == 3 && is_batch(o.shape[0]) && o.shape[2] == 4; });
  const auto scores = only(q, [&](const HeadOutput& o) { return lists(o) && names(o, "score"); });
  const auto labels = only(q, [&](const HeadOutput& o) { return lists(o) && (names(o, "class") || names(o, "label")); });
  const auto count = only(q, [](const HeadOutput& o) { return names(o, "num") && o.shape.size() <= 2; });
  if (!boxes || !scores || !labels || !count || scores == labels) return {};
  HeadLayout layout = chosen(row, q, *boxes, *scores, *labels, q.outputs[*boxes].shape[1]);
  layout.count = count;
  return {layout};
}

/// torchvision's detection models: the labels are the integers.
Layouts find_torchvision(const HeadRow& row, const HeadQuestion& q, bool /*asked*/) {
  const auto lists = [](const HeadOutput& o, DType type) { return o.shape.size() == 1 && o.type == type; };
  const auto boxes = only(q, [](const HeadOutput& o) { return o.shape.size() == 2 && o.shape[1] == 4; });
  const auto scores = only(q, [&](const HeadOutput& o) { return lists(o, DType::f32); });
  const auto labels = only(q, [&](const HeadOutput& o) { return lists(o, DType::i64); });
  if (!boxes || !scores || !labels) return {};
  return {chosen(row, q, *boxes, *scores, *labels, -1)};
}

constexpr std::array<HeadRow, 17> kHeads{{
    {.head = "yolov8",
     .name = "yolov8",
     .find = find_dense,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::plain,
     .attribute_axis = 1,
     .extras = true,
     .normalized = {}},
    {.head = "yolov8",
     .name = "yolov8 transposed",
     .find = find_dense,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::plain,
     .extras = true,
     .normalized = {}},
    {.head = "yolov5",
     .name = "yolov5",
     .find = find_dense,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::objectness,
     .boxes_per_cell = 3,
     .any_count = true,
     .extras = true,
     .normalized = {}},
    {.head = "yolov5",
     .name = "yolov5 levels",
     .find = find_levels,
     .box_form = BoxForm::anchors,
     .score_form = ScoreForm::objectness,
     .asked_only = true,
     .normalized = false},
    {.head = "yolov5",
     .name = "yolov5 levels, channels first",
     .find = find_levels,
     .box_form = BoxForm::anchors,
     .score_form = ScoreForm::objectness,
     .attribute_axis = 1,
     .asked_only = true,
     .normalized = false},
    {.head = "yolov10",
     .name = "yolov10",
     .find = find_end_to_end,
     .box_form = BoxForm::corners,
     .score_form = ScoreForm::chosen,
     .selected = true,
     .normalized = {}},
    {.head = "yolox",
     .name = "yolox",
     .find = find_dense,
     .box_form = BoxForm::grid_offsets,
     .score_form = ScoreForm::objectness,
     .normalized = false},
    {.head = "yolox-decoded",
     .name = "yolox-decoded",
     .find = find_dense,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::objectness,
     .normalized = {}},
    {.head = "nanodet",
     .name = "nanodet",
     .find = find_nanodet,
     .box_form = BoxForm::distances,
     .score_form = ScoreForm::plain,
     .normalized = false},
    {.head = "ssd",
     .name = "ssd",
     .find = find_ssd,
     .box_form = BoxForm::corners,
     .score_form = ScoreForm::plain,
     .normalized = true},
    {.head = "ssd",
     .name = "ssd, TensorFlow's selection",
     .find = find_tensorflow,
     .box_form = BoxForm::corners_yx,
     .score_form = ScoreForm::chosen,
     .selected = true,
     .normalized = true},
    {.head = "ssd",
     .name = "ssd, torchvision's selection",
     .find = find_torchvision,
     .box_form = BoxForm::corners,
     .score_form = ScoreForm::chosen,
     .selected = true,
     .normalized = false},
    {.head = "detr",
     .name = "detr",
     .find = find_detr,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::softmax,
     .selected = true,
     .normalized = true},
    {.head = "detr",
     .name = "detr, sigmoid",
     .find = find_detr,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::sigmoid,
     .selected = true,
     .normalized = true},
    {.head = "detr",
     .name = "detr, one output",
     .find = find_queries,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::plain,
     .selected = true,
     .normalized = true},
    {.head = "rtdetr",
     .name = "rtdetr",
     .find = find_detr,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::sigmoid,
     .selected = true,
     .asked_only = true,
     .normalized = true},
    {.head = "rtdetr",
     .name = "rtdetr, one output",
     .find = find_queries,
     .box_form = BoxForm::centre,
     .score_form = ScoreForm::plain,
     .selected = true,
     .asked_only = true,
     .normalized = true},
}};

}  // namespace

std::optional<HeadLayout> recognise_head(const HeadQuestion& question, std::string_view asked) {
  std::optional<HeadLayout> found;
  for (const HeadRow& row : kHeads) {
    if (asked.empty() ? row.asked_only : row.head != asked) continue;
    const Layouts layouts = row.find(row, question, !asked.empty());
    if (layouts.empty()) continue;
    if (layouts.size() > 1) return std::nullopt;
    const bool raw_too = found && found->head == row.head && row.box_form == BoxForm::anchors;  // the same before decoding
    if (found && !raw_too) return std::nullopt;
    if (!found) found = layouts.front();
  }
  return found;
}

std::vector<std::string_view> fitting_heads(const HeadQuestion& question) {
  std::vector<std::string_view> fitting;
  for (const std::string_view head : head_names())
    if (recognise_head(question, head)) fitting.push_back(head);
  return fitting;
}

std::vector<std::string_view> head_names() {
  std::vector<std::string_view> all;
  for (const HeadRow& row : kHeads)
    if (all.empty() || all.back() != row.head) all.push_back(row.head);
  return all;
}

}  // namespace pare
