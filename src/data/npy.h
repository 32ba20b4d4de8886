#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tensor.h"

namespace pare {

/// A NumPy array file (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), versions 1 to 3, little-endian
/// numbers and booleans; Fortran order is turned into row-major. Errors: ErrorKind::input, placed at `file`, when it is missing,
/// no .npy, ends early, or holds another type (which is named).
Tensor read_npy(const std::string& file);
/// The same from the bytes of such a file.
Tensor parse_npy(std::string_view bytes);
/// The arrays of an .npz, stored or deflated, by name and in the file's order. Errors: as read_npy, the array named too.
std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& file);
/// read_npz for names in .npz; else the one array, with an empty name.
std::vector<std::pair<std::string, Tensor>> read_arrays(const std::string& file);
/// Whole or not at all. Errors: ErrorKind::system if the file cannot be written; ErrorKind::unsupported for a type without NumPy
/// name.
void write_npy(const std::string& file, const Tensor& tensor);

}  // namespace pare
