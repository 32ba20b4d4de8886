#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "pare/error.h"

namespace pare {

inline const std::string kGolden = PARE_GOLDEN "/";

/// A folder that lives as long as its test.
class Scratch {
 public:
  Scratch() : path_("/tmp/pare_data.XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", std::error_code());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string path(std::string_view name = "") const {
    return name.empty() ? path_ : path_ + "/" + std::string(name);
  }
  /// Writes a file, and its folders; returns its path.
  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::string path_;
};

/// what() of the Error that `call` throws, with the number of its kind in front: "3 a.jpg: empty file"; "" if it throws none.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return std::to_string(static_cast<int>(e.kind())) + " " + e.what();
  }
  return "";
}

}  // namespace pare
