#pragma once

#include <string>

#include "pare/verify.h"

namespace pare::cli {

/// The table of a verification: a row per model, then agreement, outputs, ranges and warnings.
std::string table(const VerifyReport& report);

}  // namespace pare::cli
