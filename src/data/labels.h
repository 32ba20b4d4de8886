#pragma once

#include <string>
#include <vector>

namespace pare {

/// One object: class, centre, width and height as shares of the image's width and height, 0..1.
struct Label {
  int cls = 0;
  float x = 0, y = 0, w = 0, h = 0;
};

struct Labels {
  bool found = false;  ///< false: there is no label file, which in YOLO's convention means no objects
  std::vector<Label> objects;
};

/// The label file of an image: the last folder `images` becomes `labels`, the extension .txt.
std::string label_file(const std::string& image_file);
/// Reads the label file of an image, one `class x y w h` per line.
/// Errors: ErrorKind::input placed at "file:line".
Labels read_labels(const std::string& image_file);

}  // namespace pare
