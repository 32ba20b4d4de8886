#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace pare {

/// Where a detector's output tensor keeps its numbers: attribute a of candidate n is element a * attribute_stride + n *
/// candidate_stride. Attributes 0 to 3 are centre x, centre y, width and height in input pixels (or in 0..1 of the input).
struct HeadLayout {
  std::string_view name = {};  ///< "yolov8", ...; the row of the table
  size_t output = 0;           ///< which of the model's outputs
  int64_t candidates = 0;      ///< N
  int classes = 0;             ///< C
  int64_t attribute_stride = 0;
  int64_t candidate_stride = 0;
  int first_score = 4;      ///< attribute of class 0's score
  bool objectness = false;  ///< attribute 4 is multiplied into every class score
  int64_t input_height = 0, input_width = 0;
};

/// Finds the detection head among the shapes of a model's outputs at batch 1, for an input of `input_height` x `input_width`
/// pixels.
///
///   yolov8             1 x (4+C) x N    N = sum of (H/s)(W/s) over the strides s = 8, 16, 32
///   yolov8 transposed  1 x N x (4+C)
///   yolov5             1 x N x (5+C)    three anchors: 3 times that N; any N when `classes` is known
///
/// `classes`: C from the model's metadata. Without it a model with several outputs is declined, because mask coefficients and
/// keypoints would be taken for classes. nullopt: no output fits, or more than one does.
std::optional<HeadLayout> recognise_head(std::span<const Shape> outputs, int64_t input_height, int64_t input_width,
                                         std::optional<int> classes);

}  // namespace pare
