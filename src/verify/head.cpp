#include "verify/head.h"

#include <array>

namespace pare {
namespace {

struct HeadRow {
  std::string_view name;
  size_t attribute_axis;  // of the output's three axes; the other of 1 and 2 counts candidates
  int first_score;        // attributes before the class scores
  bool objectness;
  int64_t anchors;              // candidates per cell of the three grids
  bool any_count_with_classes;  // known classes are evidence enough, whatever the number of candidates
};

constexpr std::array<HeadRow, 3> kHeads{{
    {.name = "yolov8", .attribute_axis = 1, .first_score = 4, .objectness = false, .anchors = 1, .any_count_with_classes = false},
    {.name = "yolov8 transposed",
     .attribute_axis = 2,
     .first_score = 4,
     .objectness = false,
     .anchors = 1,
     .any_count_with_classes = false},
    {.name = "yolov5", .attribute_axis = 2, .first_score = 5, .objectness = true, .anchors = 3, .any_count_with_classes = true},
}};

int64_t grid_cells(int64_t height, int64_t width) {
  int64_t cells = 0;
  for (const int64_t stride : {8, 16, 32}) cells += (height / stride) * (width / stride);
  return cells;
}

bool fits(const HeadRow& row, const Shape& shape, int64_t cells, std::optional<int> classes) {
  if (shape.size() != 3 || shape[0] != 1) return false;
  const int64_t scores = shape[row.attribute_axis] - row.first_score;
  const int64_t candidates = shape[3 - row.attribute_axis];
  if (scores < 1 || candidates < 1 || (classes && scores != *classes)) return false;
  return candidates == row.anchors * cells || (classes && row.any_count_with_classes);
}

}  // namespace

std::optional<HeadLayout> recognise_head(std::span<const Shape> outputs, int64_t input_height, int64_t input_width,
                                         std::optional<int> classes) {
  if (!classes && outputs.size() != 1) return std::nullopt;
  const int64_t cells = grid_cells(input_height, input_width);
  std::optional<HeadLayout> found;
  for (size_t output = 0; output < outputs.size(); ++output) {
    for (const HeadRow& row : kHeads) {
      const Shape& shape = outputs[output];
      if (!fits(row, shape, cells, classes)) continue;
      if (found) return std::nullopt;
      const bool attributes_first = row.attribute_axis == 1;
      found = HeadLayout{.name = row.name,
                         .output = output,
                         .candidates = shape[3 - row.attribute_axis],
                         .classes = static_cast<int>(shape[row.attribute_axis]) - row.first_score,
                         .attribute_stride = attributes_first ? shape[2] : 1,
                         .candidate_stride = attributes_first ? 1 : shape[2],
                         .first_score = row.first_score,
                         .objectness = row.objectness,
                         .input_height = input_height,
                         .input_width = input_width};
    }
  }
  return found;
}

}  // namespace pare
