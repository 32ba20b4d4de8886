#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace pare {

/// Called by long commands from the thread that runs them: `stage` in words, `done` of `total` steps.
using Progress = std::function<void(std::string_view stage, size_t done, size_t total)>;

}  // namespace pare
