#include "demo/detector.h"

// The file becomes part of the program's read-only data.
asm(".section .rodata\n"
    ".global pare_demo_detector_begin\n"
    ".global pare_demo_detector_end\n"
    "pare_demo_detector_begin:\n"
    ".incbin \"" PARE_DEMO_DETECTOR
    "\"\n"
    "pare_demo_detector_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char pare_demo_detector_begin[];
extern const char pare_demo_detector_end[];
}

namespace pare {

std::string_view demo_detector() {
  return {pare_demo_detector_begin, static_cast<size_t>(pare_demo_detector_end - pare_demo_detector_begin)};
}

}  // namespace pare
