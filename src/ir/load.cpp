#include "ir/load.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.h"
#include "ir/one_line.h"
#include "ir/onnx_checker.h"
#include "ir/proto.h"
#include "ir/shapes.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestModel = uint64_t{1} << 31;  // bytes of one ONNX file, protobuf's limit

uint64_t byte_count(const std::string& text, const std::string& place) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorKind::input, "its external data has the offset or length '" + text + "'").at(place);
  return value;
}

/// What was read beside the model file so far.
struct External {
  uint64_t total = 0;  ///< bytes
  std::set<std::string> files;
};

void read_external(proto::TensorProto& tensor, const fs::path& folder, External& external) {
  if (tensor.data_location() != proto::TensorProto::EXTERNAL) return;
  const std::string place = "tensor '" + tensor.name() + "'";
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = byte_count(entry.value(), place);
    if (entry.key() == "length") length = byte_count(entry.value(), place);
  }
  const fs::path relative = fs::path(location).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..")
    throw Error(ErrorKind::input, "its external data '" + location + "' lies outside the model's folder").at(place);
  const fs::path path = folder / relative;
  std::error_code error;
  const uint64_t found = fs::file_size(path, error);
  if (error) throw Error(ErrorKind::input, "its external data file '" + path.string() + "' is missing").at(place);
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  const size_t size = dtype_size(static_cast<DType>(tensor.data_type()));
  if (size == 0 && !length) length = found - std::min(offset, found);
  const uint64_t wanted = length.value_or(static_cast<uint64_t>(element_count(shape)) * size);
  if (offset > found || wanted > found - offset)
    throw Error(ErrorKind::input, "its external data file '" + path.string() + "' has " + std::to_string(found) +
                                      " bytes, needs " + std::to_string(wanted) + " from byte " + std::to_string(offset))
        .at(place);
  external.files.insert(path.string());
  external.total += wanted;
  if (external.total > kLargestModel)
    throw Error(ErrorKind::unsupported, "the model's tensors exceed the 2 GB of one ONNX file").at(place);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(wanted, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(wanted)))
    throw Error(ErrorKind::system, "its external data file '" + path.string() + "' cannot be read").at(place);
  tensor.set_raw_data(std::move(bytes));
  tensor.clear_external_data();
  tensor.clear_data_location();
}

/// Initializers and tensors in attributes, subgraphs included.
void read_external(proto::GraphProto& graph, const fs::path& folder, External& external) {
  for (auto& tensor : *graph.mutable_initializer()) read_external(tensor, folder, external);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) read_external(*attribute.mutable_t(), folder, external);
      if (attribute.has_g()) read_external(*attribute.mutable_g(), folder, external);
    }
  }
}

proto::ModelProto parse(const std::string& bytes) {
  proto::ModelProto model;
  if (bytes.empty()) throw Error(ErrorKind::input, "empty file, not an ONNX model").fix("copy or export it again");
  constexpr char kIrVersionField = 0x08;  // ModelProto writers put ir_version first
  if (!model.ParseFromString(bytes)) {
    const bool looks_like_onnx = bytes.front() == kIrVersionField;
    throw Error(ErrorKind::input, looks_like_onnx ? "truncated or damaged ONNX file" : "not an ONNX file")
        .fix(looks_like_onnx ? "copy or export it again" : "give a model exported to ONNX");
  }
  if (!model.has_graph() || model.ir_version() == 0) throw Error(ErrorKind::input, "not an ONNX model: it holds no graph");
  return model;
}

/// The checker accepts nodes of unknown domains and old runtimes choke on missing imports, so both are looked at here.
void check_domains(const proto::GraphProto& graph, const std::map<std::string, int64_t>& imports) {
  if (graph.sparse_initializer_size() > 0)
    throw Error(ErrorKind::unsupported, "sparse initializers are not read")
        .at("tensor '" + graph.sparse_initializer(0).values().name() + "'");
  const auto& known = proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) check_domains(attribute.g(), imports);
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const auto import = imports.find(domain);
    const std::string& shown = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    const std::string place = "node '" + shown + "' (" + node.op_type() + ")";
    if (import == imports.end())
      throw Error(ErrorKind::input, "the model imports no opset for its domain '" + domain + "'")
          .at(place)
          .fix("add the import to the model's opset_import");
    const auto range = known.find(domain);
    if (range != known.end() && import->second > range->second.second)
      throw Error(ErrorKind::unsupported, "opset " + std::to_string(import->second) + " is newer than " +
                                              std::to_string(range->second.second) + ", the newest known here")
          .fix("export the model with an older opset");
  }
}

}  // namespace

Graph load_model(const std::string& path) {
  try {
    std::error_code error;
    if (const auto bytes = fs::file_size(path, error); !error && bytes >= kLargestModel)
      throw Error(ErrorKind::unsupported, "has " + std::to_string(bytes) + " bytes, allowed are less than " +
                                              std::to_string(kLargestModel) + ", the limit of one ONNX file");
    proto::ModelProto model = parse(read_file(path));
    const fs::path folder = fs::path(path).parent_path();
    External external;
    read_external(*model.mutable_graph(), folder, external);
    std::map<std::string, int64_t> imports;
    for (const auto& o : model.opset_import()) imports[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
    check_domains(model.graph(), imports);
    try {
      check_with_onnx(model);
    } catch (const std::exception& e) {
      throw Error(ErrorKind::input, "ONNX's checker refuses it: " + one_line(e.what())).fix("export the model again, or mend it");
    }
    Graph graph = from_proto(model);
    graph.files = {path};
    graph.files.insert(graph.files.end(), external.files.begin(), external.files.end());
    infer_shapes(graph);
    return graph;
  } catch (Error& e) {
    throw e.place().rfind(path, 0) == 0 ? e : e.at(path);
  }
}

}  // namespace pare
