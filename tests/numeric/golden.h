#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace pare {

/// Lines of tests/golden/numeric/`file` split at blanks, without the first, which names the columns.
std::vector<std::vector<std::string>> golden_rows(const std::string& file);
double number(const std::string& text);
DType quantized_type(const std::string& text);

/// The samples of tools/golden/numeric.py: uniform, normal, relu, sparse, heavy, outlier, skewed.
std::vector<float> samples(const std::string& name, size_t count = 20000);

}  // namespace pare
