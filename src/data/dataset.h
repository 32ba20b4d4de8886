#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pare {

/// What a `--data` argument stands for.
struct Dataset {
  enum class Kind { images, arrays };

  Kind kind = Kind::images;
  std::string source;                 ///< the argument
  std::vector<std::string> files;     ///< images to calibrate on; for arrays the one .npy or .npz
  std::vector<std::string> held_out;  ///< a YAML's val; empty: split_held_out decides
  std::vector<std::string> names;     ///< a YAML's class names
  size_t ignored = 0;                 ///< files of a folder that are no images by their extension (jpg, jpeg, png, webp, bmp)
};

/// `argument` is
///   a folder: its images, subfolders included, in the order of their names as bytes;
///   a .txt list: one path per line, relative to the list's folder, else to the working directory; blank lines and # comments
///   allowed; a .yaml or .yml of a YOLO dataset: path, train, val, names; train and val are a folder, a .txt list or a list of
///   these; a .npy or .npz: arrays with a leading sample axis.
/// Errors: ErrorKind::input if the path is missing, of no such kind, malformed, or "`use` set is empty".
Dataset open_dataset(const std::string& argument, std::string_view use = "calibration");

struct Split {
  std::vector<std::string> calibration;
  std::vector<std::string> held_out;
};

/// Holds out the files with fnv1a(name without folders) % 5 == 0: the same on each machine and in each order. If that leaves
/// fewer than 2 files in a part, the max(1, n / 5) files of smallest hash are held out; of a single file none. Both parts keep
/// the order of `files`.
Split split_held_out(const std::vector<std::string>& files);

}  // namespace pare
