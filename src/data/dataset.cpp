#include "data/dataset.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <tuple>

#include "base/file.h"
#include "base/fnv1a.h"
#include "pare/error.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kImageExtensions{".jpg", ".jpeg", ".png", ".webp", ".bmp"};

// Without the exceptions that names too long and folders without permission raise.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string extension(const fs::path& file) {
  std::string text = file.extension().string();
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool is_image(const fs::path& file) {
  return std::find(kImageExtensions.begin(), kImageExtensions.end(), extension(file)) != kImageExtensions.end();
}

struct Files {
  std::vector<std::string> images;
  size_t ignored = 0;
};

Files list_folder(const fs::path& folder) {
  Files files;
  std::error_code fault;
  for (fs::recursive_directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    if (!at->is_regular_file(fault)) {
      fault.clear();  // a dangling link is no file
      continue;
    }
    if (is_image(at->path()))
      files.images.push_back(at->path().string());
    else
      ++files.ignored;
  }
  if (fault) throw Error(ErrorKind::system, "cannot be listed: " + fault.message()).at(folder.string());
  std::sort(files.images.begin(), files.images.end());
  return files;
}

Files read_list(const fs::path& list) {
  std::istringstream in(read_file(list.string()));
  Files files;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const fs::path beside = list.parent_path() / line;
    files.images.push_back(is_there(line) && !is_there(beside) ? line : beside.lexically_normal().string());
  }
  return files;
}

Files list_images(const fs::path& path) {
  if (!is_there(path)) throw Error(ErrorKind::input, "no such file or folder").at(path.string());
  if (fs::is_directory(path)) return list_folder(path);
  if (extension(path) == ".txt") return read_list(path);
  throw Error(ErrorKind::input, "is neither a folder nor a .txt list of images").at(path.string());
}

Files list_yaml_entry(const YAML::Node& entry, const fs::path& root) {
  Files files;
  if (entry.IsSequence()) {
    for (const YAML::Node& part : entry) {
      const Files more = list_yaml_entry(part, root);
      files.images.insert(files.images.end(), more.images.begin(), more.images.end());
      files.ignored += more.ignored;
    }
    return files;
  }
  const auto text = entry.as<std::string>();
  fs::path path = (root / text).lexically_normal();
  // Roboflow's exports say ../train/images for a folder beside the YAML; Ultralytics reads them so.
  if (!is_there(path) && text.starts_with("../")) path = (root / text.substr(3)).lexically_normal();
  return list_images(path);
}

std::vector<std::string> yaml_names(const YAML::Node& node) {
  std::vector<std::string> names;
  if (node.IsSequence()) return node.as<std::vector<std::string>>();
  for (const auto& entry : node) {
    const auto index = entry.first.as<uint16_t>();
    names.resize(std::max(names.size(), size_t{index} + 1));
    names[index] = entry.second.as<std::string>();
  }
  return names;
}

Dataset read_yaml(const std::string& file) {
  try {
    const YAML::Node yaml = YAML::LoadFile(file);
    if (!yaml.IsMap() || !yaml["train"] || yaml["train"].IsNull()) throw Error(ErrorKind::input, "names no 'train' images");
    const fs::path beside = fs::path(file).parent_path();
    const fs::path root = yaml["path"] && !yaml["path"].IsNull() ? beside / yaml["path"].as<std::string>() : beside;
    Dataset dataset;
    Files train = list_yaml_entry(yaml["train"], root);
    dataset.files = std::move(train.images);
    dataset.ignored = train.ignored;
    if (yaml["val"] && !yaml["val"].IsNull()) dataset.held_out = list_yaml_entry(yaml["val"], root).images;
    if (yaml["names"]) dataset.names = yaml_names(yaml["names"]);
    return dataset;
  } catch (const YAML::Exception& e) {
    throw Error(ErrorKind::input, "line " + std::to_string(e.mark.line + 1) + ": " + e.msg).at(file);
  } catch (Error& e) {
    throw e.at(file);
  }
}

}  // namespace

Dataset open_dataset(const std::string& argument, std::string_view use) {
  if (!is_there(argument)) throw Error(ErrorKind::input, "no such file or folder").at(argument);
  const std::string kind = fs::is_directory(argument) ? "" : extension(argument);
  Dataset dataset;
  if (kind == ".npy" || kind == ".npz") {
    dataset.kind = Dataset::Kind::arrays;
    dataset.files = {argument};
  } else if (kind == ".yaml" || kind == ".yml") {
    dataset = read_yaml(argument);
  } else if (kind.empty() || kind == ".txt") {
    Files files = list_images(argument);
    dataset.files = std::move(files.images);
    dataset.ignored = files.ignored;
  } else {
    throw Error(ErrorKind::input, "is no data set")
        .at(argument)
        .fix("give a folder of images, a .txt list, a YOLO .yaml, .npy or .npz");
  }
  dataset.source = argument;
  if (dataset.files.empty()) throw Error(ErrorKind::input, std::string(use) + " set is empty").at(argument);
  return dataset;
}

Split split_held_out(const std::vector<std::string>& files) {
  struct Hashed {
    uint64_t hash;
    std::string_view file;
    bool held_out;
  };
  std::vector<Hashed> rows;
  for (const std::string& file : files) {
    const uint64_t hash = fnv1a(fs::path(file).filename().string());
    rows.push_back({hash, file, hash % 5 == 0});
  }
  const auto held_out =
      static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const Hashed& row) { return row.held_out; }));
  if (held_out < 2 || rows.size() - held_out < 2) {
    const size_t wanted = rows.size() < 2 ? 0 : std::max<size_t>(1, rows.size() / 5);
    std::vector<Hashed*> order;
    order.reserve(rows.size());
    for (Hashed& row : rows) order.push_back(&row);
    std::sort(order.begin(), order.end(),
              [](const Hashed* a, const Hashed* b) { return std::tie(a->hash, a->file) < std::tie(b->hash, b->file); });
    for (size_t i = 0; i < order.size(); ++i) order[i]->held_out = i < wanted;
  }
  Split split;
  for (const Hashed& row : rows) (row.held_out ? split.held_out : split.calibration).emplace_back(row.file);
  return split;
}

}  // namespace pare
