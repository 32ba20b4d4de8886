#pragma once

#include <string>

#include "command.h"
#include "pare/quantize.h"

namespace pare::cli {

/// The table of a verification: a row per model, then agreement, outputs, ranges and warnings.
std::string table(const VerifyReport& report);

/// A finished quantization on standard output, as --json, -q and -v ask for it.
void print(const QuantizeResult& result, const std::string& output, const Common& common);

}  // namespace pare::cli
