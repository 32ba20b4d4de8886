#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace pare {

/// Before any work is done for it. Errors: usage where `output` is one of the files that are read; system where it cannot be
/// made.
void check_output(const std::string& output, const std::vector<std::string>& inputs);
/// Errors: usage where `output` is one of the files that are read.
void refuse_input_as_output(const std::string& output, const std::vector<std::string>& inputs);
/// The same for the files of a data set.
void refuse_input_as_output(const std::string& output, const Dataset& data);

}  // namespace pare
