#include <pare/error.h>
#include <pare/quantize.h>

#include <cstdio>

int main() {
  try {
    pare::quantize({.model = "nowhere.onnx", .output = "out.onnx", .data = {.data = "images"}});
  } catch (const pare::Error& e) {
    std::puts(e.what());
  }
}
