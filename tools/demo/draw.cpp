// draw FOLDER TRAIN VAL SEED: the scenes of src/demo as a YOLO dataset, before pare itself is built.
#include <cstdio>
#include <cstdlib>

#include "demo/scenes.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: draw FOLDER TRAIN VAL SEED\n");
    return 2;
  }
  try {
    pare::write_scenes(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
