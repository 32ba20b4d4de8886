#pragma once

#include <cstdint>
#include <string>

namespace pare {

/// What images a command sees and how they become the network's input.
struct DataOptions {
  std::string data;        ///< folder, list file, YOLO dataset YAML, .npz or .npy
  std::string val;         ///< held-out images, same forms; "" = the YAML's val, else every 5th file by a hash of its name
  std::string preprocess;  ///< preset or JSON file; "" = from the model's metadata
  std::string shape;       ///< "1x3x544x960"; "" = the model's own
  int64_t batch = 0;       ///< samples that the written model takes at a time; 0 = the model's own
};

}  // namespace pare
