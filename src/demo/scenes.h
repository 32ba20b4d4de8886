#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace pare {

/// Class names of the drawn scenes; a label's class is the index into this list.
inline constexpr std::array<std::string_view, 5> kSceneClasses{"disc", "square", "triangle", "ring", "cross"};

struct SceneOptions {
  uint64_t seed = 0;      ///< the pixels and labels follow from it, on every machine: all arithmetic is on integers
  int width = 0;          ///< pixels, at least 64; 0 draws 192..384 from the seed
  int height = 0;         ///< pixels, at least 64; 0 draws 160..320 from the seed
  int object_limit = -1;  ///< draw and label only the first so many objects, all else unchanged; -1: all
};

/// One labelled object; the box of its whole outline in pixels, also where a later object covers a part.
struct SceneLabel {
  int label = 0;
  double left = 0, top = 0, right = 0, bottom = 0;
};

struct Scene {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  ///< height x width x 3
  std::vector<SceneLabel> labels;
};

/// Draws up to 8 shapes, 18 to 110 px across, in any colour, all but disc and ring turned by any angle, no two with boxes that
/// share more than a fifth of the smaller. Below them a gradient, clouds, stripes or a checkerboard and up to 7 things without a
/// label (lines, bars, soft spots); above them a brightness of .5 to 1.1 and noise. Errors: ErrorKind::usage for a side below 64.
Scene draw_scene(const SceneOptions& options);

/// Writes a YOLO dataset into `folder`: images/{train,val}/*.png, labels/{train,val}/*.txt and data.yaml. Image i of a split
/// depends on `seed`, the split and i alone. Errors: ErrorKind::system if a file cannot be written.
void write_scenes(const std::filesystem::path& folder, int train, int val, uint64_t seed);

}  // namespace pare
