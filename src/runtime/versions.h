#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pare {

/// What a released ONNX Runtime loads; measured by bench/runtimes.
struct RuntimeVersion {
  int minor;      ///< 17 of 1.17
  int64_t opset;  ///< newest of ai.onnx
  int64_t ir;     ///< newest IR version
};

/// The newest row that is not newer than `version` ("1.17" or "1.17.3"). Errors: usage for one before 1.15, or none.
const RuntimeVersion& runtime_version_row(const std::string& version);

}  // namespace pare
