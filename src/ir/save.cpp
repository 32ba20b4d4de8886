#include "ir/save.h"

#include <array>

#include "base/file.h"
#include "ir/one_line.h"
#include "ir/onnx_checker.h"
#include "ir/proto.h"

namespace pare {

std::string serialize(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : graph.initializers) bytes += tensor.raw().size();
  constexpr size_t kProtobufLimit = (size_t{1} << 31) - (size_t{1} << 20);
  const auto too_large = [] { return Error(ErrorKind::unsupported, "the model's tensors exceed the 2 GB of one ONNX file"); };
  if (bytes > kProtobufLimit) throw too_large();
  const proto::ModelProto model = to_proto(graph);
  if (model.ByteSizeLong() > kProtobufLimit) throw too_large();  // tensors in attributes
  return model.SerializeAsString();
}

void save_model(const Graph& graph, const std::string& path) {
  const std::string bytes = serialize(graph);
  try {
    proto::ModelProto model;
    model.ParseFromString(bytes);
    check_with_onnx(model);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::internal, "ONNX's checker refuses what pare made: " + one_line(e.what())).at(path);
  }
  write_file(path, bytes);
}

int64_t ir_version_for(int64_t opset) {
  struct Row {
    int64_t opset, ir;
  };
  constexpr std::array<Row, 10> kReleases{
      {{8, 3}, {9, 4}, {10, 5}, {11, 6}, {14, 7}, {18, 8}, {20, 9}, {22, 10}, {23, 11}, {24, 12}}};
  for (const Row& row : kReleases)
    if (opset <= row.opset) return row.ir;
  return 13;
}

}  // namespace pare
