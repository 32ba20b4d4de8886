#include "ir/load.h"

#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "ir/proto.h"
#include "ir/shapes.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

void read_external(proto::TensorProto& tensor, const fs::path& folder) {
  if (tensor.data_location() != proto::TensorProto::EXTERNAL) return;
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::stoull(entry.value());
    if (entry.key() == "length") length = std::stoull(entry.value());
  }
  const std::string place = "tensor '" + tensor.name() + "'";
  const fs::path relative = fs::path(location).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..")
    throw Error(ErrorKind::input, "its external data '" + location + "' lies outside the model's folder").at(place);
  const fs::path path = folder / relative;
  std::error_code error;
  const uint64_t found = fs::file_size(path, error);
  if (error) throw Error(ErrorKind::input, "its external data file '" + path.string() + "' is missing").at(place);
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  const uint64_t wanted =
      length.value_or(static_cast<uint64_t>(element_count(shape)) * dtype_size(static_cast<DType>(tensor.data_type())));
  if (offset + wanted > found)
    throw Error(ErrorKind::input, "its external data file '" + path.string() + "' has " + std::to_string(found) + " bytes, needs " +
                                      std::to_string(offset + wanted))
        .at(place);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(wanted, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(wanted)))
    throw Error(ErrorKind::system, "its external data file '" + path.string() + "' cannot be read").at(place);
  tensor.set_raw_data(std::move(bytes));
  tensor.clear_external_data();
  tensor.clear_data_location();
}

proto::ModelProto parse(const std::string& bytes) {
  proto::ModelProto model;
  constexpr char kIrVersionField = 0x08;  // ModelProto writers put ir_version first
  if (!model.ParseFromString(bytes)) {
    const bool looks_like_onnx = !bytes.empty() && bytes.front() == kIrVersionField;
    throw Error(ErrorKind::input, looks_like_onnx ? "truncated or damaged ONNX file" : "not an ONNX file")
        .fix(looks_like_onnx ? "copy or export it again" : "give a model exported to ONNX");
  }
  if (!model.has_graph() || model.ir_version() == 0) throw Error(ErrorKind::input, "not an ONNX model: it holds no graph");
  return model;
}

/// The checker accepts nodes of unknown domains and old runtimes choke on missing imports, so both are looked at here.
void check_domains(const proto::ModelProto& model) {
  std::map<std::string, int64_t> imports;
  for (const auto& o : model.opset_import()) imports[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  const auto& known = proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& node : model.graph().node()) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const auto import = imports.find(domain);
    const std::string place = "node '" + node.name() + "' (" + node.op_type() + ")";
    if (import == imports.end())
      throw Error(ErrorKind::input, "the model imports no opset for its domain '" + domain + "'").at(place);
    const auto range = known.find(domain);
    if (range != known.end() && import->second > range->second.second)
      throw Error(ErrorKind::unsupported, "opset " + std::to_string(import->second) + " is newer than " +
                                              std::to_string(range->second.second) + ", the newest known here")
          .fix("export the model with an older opset");
  }
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

Graph load_model(const std::string& path) {
  try {
    proto::ModelProto model = parse(read_file(path));
    const fs::path folder = fs::path(path).parent_path();
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) read_external(tensor, folder);
    check_domains(model);
    try {
      proto::checker::check_model(model);
    } catch (const std::exception& e) {
      throw Error(ErrorKind::input, "ONNX's checker refuses it: " + one_line(e.what()));
    }
    Graph graph = from_proto(model);
    infer_shapes(graph);
    return graph;
  } catch (Error& e) {
    throw e.place().rfind(path, 0) == 0 ? e : e.at(path);
  }
}

}  // namespace pare
