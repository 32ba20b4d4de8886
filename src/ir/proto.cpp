#include "ir/proto.h"

#include <bit>

namespace pare {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

template <typename T, typename Field>
std::vector<std::byte> narrow(const Field& field) {
  std::vector<std::byte> bytes(static_cast<size_t>(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const T value = static_cast<T>(field[i]);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> typed_bytes(const proto::TensorProto& t) {
  switch (static_cast<DType>(t.data_type())) {
    case DType::f32: return narrow<float>(t.float_data());
    case DType::f64: return narrow<double>(t.double_data());
    case DType::i64: return narrow<int64_t>(t.int64_data());
    case DType::u64: return narrow<uint64_t>(t.uint64_data());
    case DType::u32: return narrow<uint32_t>(t.uint64_data());
    case DType::i32: return narrow<int32_t>(t.int32_data());
    case DType::u8:
    case DType::boolean: return narrow<uint8_t>(t.int32_data());
    case DType::i8: return narrow<int8_t>(t.int32_data());
    case DType::i16: return narrow<int16_t>(t.int32_data());
    case DType::u16:
    case DType::f16:
    case DType::bf16: return narrow<uint16_t>(t.int32_data());
    default: return {};
  }
}

Tensor tensor_from(const proto::TensorProto& t) {
  try {
    const auto type = static_cast<DType>(t.data_type());
    Shape shape(t.dims().begin(), t.dims().end());
    if (dtype_size(type) == 0) {  // strings and exotic types are carried along as they are
      const std::string bytes = t.SerializeAsString();
      const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
      return Tensor(type, std::move(shape), {begin, begin + bytes.size()});
    }
    if (t.has_raw_data()) {
      const auto* begin = reinterpret_cast<const std::byte*>(t.raw_data().data());
      return Tensor(type, std::move(shape), {begin, begin + t.raw_data().size()});
    }
    return Tensor(type, std::move(shape), typed_bytes(t));
  } catch (Error& e) {
    throw e.at("tensor '" + t.name() + "'");
  }
}

Value value_from(const proto::ValueInfoProto& v) {
  Value value;
  value.name = v.name();
  if (!v.has_type()) return value;
  if (!v.type().has_tensor_type()) {
    value.opaque = v.type().SerializeAsString();
    return value;
  }
  const auto& tensor = v.type().tensor_type();
  value.type = static_cast<DType>(tensor.elem_type());
  if (tensor.has_shape()) {
    value.dims.emplace();
    for (const auto& d : tensor.shape().dim())
      value.dims->push_back(d.has_dim_value() && d.dim_value() >= 0 ? Dim{d.dim_value(), ""} : Dim{std::nullopt, d.dim_param()});
  }
  return value;
}

void read_graph(const proto::GraphProto& from, Graph& graph);

Attribute attribute_from(const proto::AttributeProto& a) {
  switch (a.type()) {
    case proto::AttributeProto::INT: return a.i();
    case proto::AttributeProto::FLOAT: return a.f();
    case proto::AttributeProto::STRING: return a.s();
    case proto::AttributeProto::TENSOR: return tensor_from(a.t());
    case proto::AttributeProto::INTS: return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case proto::AttributeProto::FLOATS: return std::vector<float>(a.floats().begin(), a.floats().end());
    case proto::AttributeProto::STRINGS: return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case proto::AttributeProto::GRAPH: {
      auto inner = std::make_shared<Graph>();
      read_graph(a.g(), *inner);
      return std::shared_ptr<const Graph>(std::move(inner));
    }
    default: return OpaqueAttribute{a.SerializeAsString()};
  }
}

void read_graph(const proto::GraphProto& from, Graph& graph) {
  graph.name = from.name();
  graph.doc = from.doc_string();
  for (const auto& t : from.initializer()) graph.initializers[t.name()] = tensor_from(t);
  for (const auto& n : from.node()) {
    Node node{n.op_type(), n.name(), n.domain() == "ai.onnx" ? "" : n.domain(), {}, {}, {}, n.doc_string(), n.overload()};
    for (const auto& p : n.metadata_props()) node.metadata.emplace_back(p.key(), p.value());
    node.inputs.assign(n.input().begin(), n.input().end());
    node.outputs.assign(n.output().begin(), n.output().end());
    for (const auto& a : n.attribute()) node.attributes[a.name()] = attribute_from(a);
    graph.nodes.push_back(std::move(node));
  }
  for (const auto& v : from.input())
    if (graph.initializers.contains(v.name()))
      graph.defaults.push_back(v.name());
    else
      graph.inputs.push_back(value_from(v));
  for (const auto& v : from.output()) graph.outputs.push_back(value_from(v));
  for (const auto& v : from.value_info())
    if (!graph.initializers.contains(v.name())) graph.values[v.name()] = value_from(v);
}

void write_value(const Value& value, proto::ValueInfoProto& v) {
  v.set_name(value.name);
  if (!value.opaque.empty()) {
    v.mutable_type()->ParseFromString(value.opaque);
    return;
  }
  if (value.type == DType::undefined) return;
  auto* tensor = v.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(value.type));
  if (!value.dims) return;
  auto* shape = tensor->mutable_shape();
  for (const Dim& d : *value.dims) {
    auto* dim = shape->add_dim();
    if (d.size)
      dim->set_dim_value(*d.size);
    else if (!d.symbol.empty())
      dim->set_dim_param(d.symbol);
  }
}

void write_graph(const Graph& graph, const ToProtoOptions& options, proto::GraphProto& to);

struct AttributeWriter {
  proto::AttributeProto& a;

  void operator()(int64_t v) const { a.set_type(proto::AttributeProto::INT), a.set_i(v); }
  void operator()(float v) const { a.set_type(proto::AttributeProto::FLOAT), a.set_f(v); }
  void operator()(const std::string& v) const { a.set_type(proto::AttributeProto::STRING), a.set_s(v); }
  void operator()(const Tensor& v) const { a.set_type(proto::AttributeProto::TENSOR), *a.mutable_t() = to_proto("", v); }
  void operator()(const std::shared_ptr<const Graph>& v) const {
    a.set_type(proto::AttributeProto::GRAPH);
    write_graph(*v, {}, *a.mutable_g());
  }
  void operator()(const std::vector<int64_t>& v) const {
    a.set_type(proto::AttributeProto::INTS);
    a.mutable_ints()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<float>& v) const {
    a.set_type(proto::AttributeProto::FLOATS);
    a.mutable_floats()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<std::string>& v) const {
    a.set_type(proto::AttributeProto::STRINGS);
    a.mutable_strings()->Assign(v.begin(), v.end());
  }
  void operator()(const OpaqueAttribute& v) const { a.ParseFromString(v.bytes); }
};

void write_graph(const Graph& graph, const ToProtoOptions& options, proto::GraphProto& to) {
  to.set_name(graph.name);
  if (!graph.doc.empty()) to.set_doc_string(graph.doc);
  for (const Value& v : graph.inputs) write_value(v, *to.add_input());
  for (const Value& v : graph.outputs) write_value(v, *to.add_output());
  for (const auto& [name, v] : graph.values) write_value(v, *to.add_value_info());
  for (const auto& [name, tensor] : graph.initializers) {
    const bool strip =
        options.max_float_elements >= 0 && tensor.type() == DType::f32 && tensor.count() > options.max_float_elements;
    if (!strip) *to.add_initializer() = to_proto(name, tensor);
    if (strip || options.initializers_as_inputs) write_value(*graph.value(name), *to.add_input());
  }
  for (const Node& node : graph.nodes) {
    auto* n = to.add_node();
    n->set_op_type(node.op_type);
    n->set_name(node.name);
    if (!node.domain.empty()) n->set_domain(node.domain);
    if (!node.doc.empty()) n->set_doc_string(node.doc);
    if (!node.overload.empty()) n->set_overload(node.overload);
    for (const auto& [key, value] : node.metadata) {
      auto* p = n->add_metadata_props();
      p->set_key(key);
      p->set_value(value);
    }
    for (const std::string& name : node.inputs) n->add_input(name);
    for (const std::string& name : node.outputs) n->add_output(name);
    for (const auto& [key, value] : node.attributes) {
      auto* a = n->add_attribute();
      std::visit(AttributeWriter{*a}, value);
      a->set_name(key);
    }
  }
}

}  // namespace

proto::TensorProto to_proto(const std::string& name, const Tensor& tensor) {
  proto::TensorProto t;
  const auto raw = tensor.raw();
  if (dtype_size(tensor.type()) == 0) {
    t.ParseFromArray(raw.data(), static_cast<int>(raw.size()));
  } else {
    t.set_data_type(static_cast<int>(tensor.type()));
    for (const int64_t d : tensor.shape()) t.add_dims(d);
    t.set_raw_data(raw.data(), raw.size());
  }
  t.set_name(name);
  return t;
}

Graph from_proto(const proto::ModelProto& model) {
  Graph graph;
  read_graph(model.graph(), graph);
  graph.ir_version = model.ir_version();
  for (const auto& o : model.opset_import()) graph.opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  for (const auto& p : model.metadata_props()) graph.metadata.emplace_back(p.key(), p.value());
  graph.producer = model.producer_name();
  graph.producer_version = model.producer_version();
  graph.domain = model.domain();
  graph.model_version = model.model_version();
  graph.model_doc = model.doc_string();
  if (model.functions_size() > 0) {
    proto::ModelProto functions;
    *functions.mutable_functions() = model.functions();
    graph.functions = functions.SerializeAsString();
  }
  return graph;
}

proto::ModelProto to_proto(const Graph& graph, const ToProtoOptions& options) {
  proto::ModelProto model;
  if (!graph.functions.empty()) model.ParseFromString(graph.functions);
  model.set_ir_version(graph.ir_version);
  for (const auto& [domain, version] : graph.opsets) {
    auto* o = model.add_opset_import();
    o->set_domain(domain);
    o->set_version(version);
  }
  for (const auto& [key, value] : graph.metadata) {
    auto* p = model.add_metadata_props();
    p->set_key(key);
    p->set_value(value);
  }
  model.set_producer_name(graph.producer);
  model.set_producer_version(graph.producer_version);
  if (!graph.domain.empty()) model.set_domain(graph.domain);
  if (graph.model_version != 0) model.set_model_version(graph.model_version);
  if (!graph.model_doc.empty()) model.set_doc_string(graph.model_doc);
  ToProtoOptions adapted = options;
  adapted.initializers_as_inputs |= graph.ir_version < 4;  // IR 3 lists every initializer among the inputs
  write_graph(graph, adapted, *model.mutable_graph());
  return model;
}

}  // namespace pare
