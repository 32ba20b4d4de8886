#pragma once

#include <string>

#include "pare/quantize.h"

namespace pare {

/// The whole run as JSON: decisions, plan, verification.
std::string to_json(const QuantizeResult& result);

}  // namespace pare
