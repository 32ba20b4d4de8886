#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace pare {

/// How the numbers of a candidate become a box in input pixels. Each names the source of its formula.
enum class BoxForm {
  centre,      ///< centre x, y, width, height, in pixels or in 0..1 of the input
  corners,     ///< x1, y1, x2, y2, in pixels or in 0..1
  corners_yx,  ///< y1, x1, y2, x2 (TensorFlow Object Detection API, detection_boxes)
  /// Offsets on the grid of a stride s: centre = (xy + cell) s, size = exp(wh) s (YOLOX, arXiv 2107.08430, and its
  /// demo_postprocess). Cells row by row, strides ascending.
  grid_offsets,
  /// Left, top, right and bottom distance from the cell, each the mean of `bins` softmax'ed logits over 0, 1, ... bins - 1, times
  /// the stride (Generalized Focal Loss, arXiv 2006.04388; NanoDet). The cell's point is cell s with four strides (nanodet-plus'
  /// get_single_level_center_priors) and (cell + .5) s with three (its gfl_head).
  distances,
  /// One output a level; with y = sigmoid(raw): centre = (2 y - .5 + cell) s, size = (2 y)^2 anchor (YOLOv5 release 4.0 on, issue
  /// ultralytics/yolov5#471), anchors in pixels: 10x13 16x30 33x23, 30x61 62x45 59x119, 116x90 156x198 373x326 (yolov5*.yaml).
  anchors,
};

/// How they become scores of classes.
enum class ScoreForm {
  plain,       ///< a probability for each class
  objectness,  ///< the same, times the number before the first of them
  sigmoid,     ///< a logit for each class (RT-DETR, arXiv 2304.08069: the best of all pairs of query and class)
  softmax,     ///< a logit for each class and one for "no object" at the end: the best class (DETR, arXiv 2005.12872)
  chosen,      ///< one score, and the class is a number of its own
};

/// Numbers of candidates in one output: number a of candidate n is element first + a * attribute_stride + n * candidate_stride.
struct HeadField {
  size_t output = 0;
  int64_t first = 0;
  int64_t attribute_stride = 1;
  int64_t candidate_stride = 1;
};

/// Where a detector keeps its candidates, and how to read them.
struct HeadLayout {
  std::string_view name = {};  ///< the row of the table: "yolov8 transposed"
  std::string_view head = {};  ///< the value of --head that it belongs to: "yolov8"
  bool selected = false;       ///< the boxes are a selection already: no suppression
  BoxForm box_form = BoxForm::centre;
  ScoreForm score_form = ScoreForm::plain;
  std::optional<bool> normalized = {};  ///< boxes are in 0..1 of the input; unset: when no coordinate of any candidate exceeds 2
  int64_t candidates = 0;               ///< N; -1: as many as the output holds
  int classes = 0;                      ///< C; 0 for chosen classes
  HeadField boxes = {}, scores = {};
  HeadField labels = {};              ///< labels: of chosen classes
  int first_label = 0;                ///< the number of class 0: 1 where 0 is the background
  std::optional<size_t> count = {};   ///< output that says how many of the candidates are used
  std::vector<size_t> levels = {};    ///< outputs of BoxForm::anchors, strides ascending
  bool channels_first = false;        ///< levels are 1 x 3(5+C) x H/s x W/s
  std::vector<int64_t> strides = {};  ///< of grids and levels
  int64_t bins = 0;                   ///< of BoxForm::distances
  int64_t input_height = 0, input_width = 0;
};

/// One output of a model at batch 1; -1 is a free dimension.
struct HeadOutput {
  std::string name;
  Shape shape;
  DType type = DType::f32;
};

/// What is known of a model before it runs.
struct HeadQuestion {
  std::vector<HeadOutput> outputs;
  int64_t height = 0, width = 0;    ///< of the input, pixels
  std::optional<int> classes = {};  ///< C from the metadata
  int64_t keypoints = 0;            ///< numbers that the metadata says stand behind the scores
};

/// The layouts, a row each; cells = sum of ceil(H/s) ceil(W/s) over strides 8 16 32, 8 16 32 64, 4 8 16 32 or 16 32.
///
///   --head         outputs                                     reading
///   yolov8         1 x (4+C+E) x N, or 1 x N x (4+C+E)         N = cells; E: 32 mask coefficients, keypoints
///   yolov5         1 x N x (5+C+E)                             N = 3 cells; any N when asked for
///                  1 x 3 x H/s x W/s x (5+C) for s 8 16 32     raw, when asked for: other families have other anchors
///                  1 x 3(5+C) x H/s x W/s                      the same
///   yolov10        1 x K x (6+E)                               selected: x1 y1 x2 y2 score class; K <= 1000 (also YOLO26)
///   yolox          1 x N x (5+C)                               N = cells, raw offsets
///   yolox-decoded  1 x N x (5+C)                               N = cells, boxes in pixels (also YOLOv6)
///   nanodet        1 x N x (C+4 bins)                          N = cells; bins = 8 where C is not known
///   ssd            1 x N x (1+C) and 1 x N x 4                 class 0 is the background; corners in 0..1
///                  1 x K x 4, 1 x K, 1 x K, 1                  selected: boxes y1 x1 y2 x2, scores, classes from 1, count
///                  K x 4, K, K                                 selected: boxes, scores, int64 labels from 1 (torchvision)
///   detr           1 x Q x (C+1) and 1 x Q x 4                 softmax; 1 x Q x C: sigmoid, when C is known
///                  1 x Q x (4+C)                               probabilities; Q from 10 to 1000
///   rtdetr         1 x Q x C and 1 x Q x 4                     sigmoid, when asked for and C is not known
///
/// `asked`: only rows of that --head. Without it a layout is found where the rows of one --head alone fit; a model with several
/// outputs of which one may hold mask coefficients or keypoints needs `classes`. nullopt: none fits, or more than one does.
std::optional<HeadLayout> recognise_head(const HeadQuestion& question, std::string_view asked = {});

/// The values of --head under which `recognise_head` finds a layout.
std::vector<std::string_view> fitting_heads(const HeadQuestion& question);

/// All values of --head, in the order of the table.
std::vector<std::string_view> head_names();

}  // namespace pare
