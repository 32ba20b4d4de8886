#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/file.h"
#include "ir/proto.h"

namespace pare {

/// A folder of one test, empty at its start and removed at its end.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name) : path_(std::filesystem::temp_directory_path() / ("pare_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& file) const { return (path_ / file).string(); }

 private:
  std::filesystem::path path_;
};

/// The graph as an ONNX file, after `change` to its protobuf.
inline std::string written(const std::string& path, const Graph& graph,
                           const std::function<void(proto::ModelProto&)>& change = {}) {
  proto::ModelProto model = to_proto(graph);
  if (change) change(model);
  write_file(path, model.SerializeAsString());
  return path;
}

}  // namespace pare
