#include "data/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "pare/error.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

Label parse(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> columns;
  for (std::string word; words >> word;) columns.push_back(word);
  if (columns.size() != 5)
    throw Error(ErrorKind::input, "has " + std::to_string(columns.size()) + " columns, allowed are 5: class x y width height");
  std::array<float, 5> values{};
  for (size_t i = 0; i < 5; ++i) {
    const char* end = columns[i].data() + columns[i].size();
    const auto [stop, fault] = std::from_chars(columns[i].data(), end, values[i]);
    if (fault != std::errc() || stop != end) throw Error(ErrorKind::input, "'" + columns[i] + "' is not a number");
    const bool fits =
        i == 0 ? values[0] >= 0 && values[0] < 1e6F && std::floor(values[0]) == values[0] : values[i] >= 0 && values[i] <= 1;
    if (!fits)
      throw Error(ErrorKind::input, (i == 0 ? "class " : "coordinate ") + columns[i] + ", allowed are " +
                                        (i == 0 ? "whole numbers from 0" : "0 to 1"));
  }
  return {static_cast<int>(values[0]), values[1], values[2], values[3], values[4]};
}

}  // namespace

std::string label_file(const std::string& image_file) {
  const fs::path image(image_file);
  std::vector<fs::path> folders;
  for (const fs::path& part : image.parent_path()) folders.push_back(part);
  const auto last = std::find(folders.rbegin(), folders.rend(), "images");
  if (last != folders.rend()) *last = "labels";
  fs::path result;
  for (const fs::path& part : folders) result /= part;
  return (result / image.filename().replace_extension(".txt")).string();
}

Labels read_labels(const std::string& image_file) {
  const std::string file = label_file(image_file);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  std::istringstream in(read_file(file));
  Labels labels{.found = true, .objects = {}};
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      labels.objects.push_back(parse(line));
    } catch (Error& e) {
      throw e.at(file + ":" + std::to_string(number));
    }
  }
  return labels;
}

}  // namespace pare
