#include "runtime/session.h"

#include <onnxruntime_cxx_api.h>

#include <algorithm>

#include "ir/save.h"

namespace pare {
namespace {

Ort::Env& environment() {
  static Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "pare");  // errors come back as exceptions; the library prints nothing
  return env;
}

Port port_of(std::string name, const Ort::TypeInfo& info) {
  Port port{std::move(name), DType::undefined, {}, false};
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) return port;
  const auto tensor = info.GetTensorTypeAndShapeInfo();
  port.type = static_cast<DType>(tensor.GetElementType());  // the runtime numbers its types as ONNX does
  port.shape = tensor.GetShape();
  return port;
}

}  // namespace

struct Session::Impl {
  Ort::Session session{nullptr};
  std::vector<Port> inputs, outputs;
  std::vector<const char*> output_names;

  Impl(const std::string& bytes, const SessionOptions& options) {
    try {
      Ort::SessionOptions o;
      o.SetIntraOpNumThreads(options.threads);
      o.SetInterOpNumThreads(1);
      o.SetGraphOptimizationLevel(options.optimize ? GraphOptimizationLevel::ORT_ENABLE_ALL
                                                   : GraphOptimizationLevel::ORT_DISABLE_ALL);
      if (!options.spin) o.AddConfigEntry("session.intra_op.allow_spinning", "0");
      if (!options.profile_prefix.empty()) o.EnableProfiling(options.profile_prefix.c_str());
      session = Ort::Session(environment(), bytes.data(), bytes.size(), o);
    } catch (const Ort::Exception& e) {
      throw Error(ErrorKind::unsupported, std::string("ONNX Runtime ") + runtime_version() + " refuses the model: " + e.what());
    }
    const Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < session.GetInputCount(); ++i)
      inputs.push_back(port_of(session.GetInputNameAllocated(i, allocator).get(), session.GetInputTypeInfo(i)));
    for (size_t i = 0; i < session.GetOutputCount(); ++i)
      outputs.push_back(port_of(session.GetOutputNameAllocated(i, allocator).get(), session.GetOutputTypeInfo(i)));
    for (const Port& port : outputs) output_names.push_back(port.name.c_str());
  }

  const Port& port_for(const std::string& name) const {
    const auto port = std::find_if(inputs.begin(), inputs.end(), [&](const Port& p) { return p.name == name; });
    if (port == inputs.end()) throw Error(ErrorKind::input, "the model has no input of this name").at("input '" + name + "'");
    return *port;
  }

  static void check(const Port& port, const Tensor& tensor) {
    bool fits = port.type == tensor.type() && (port.any_rank || port.shape.size() == tensor.shape().size());
    for (size_t d = 0; fits && d < port.shape.size(); ++d) fits = port.shape[d] < 0 || port.shape[d] == tensor.shape()[d];
    if (fits) return;
    throw Error(ErrorKind::input, "the data is " + dtype_name(tensor.type()) + " " + shape_text(tensor.shape()) +
                                      ", the model takes " + dtype_name(port.type) + " " + shape_text(port.shape))
        .at("input '" + port.name + "'")
        .fix("check --shape and --preprocess");
  }

  std::vector<Ort::Value> run(const Feeds& feeds) {
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    std::vector<const char*> names;
    std::vector<Ort::Value> values;
    std::vector<Tensor> kept;  // the values below only point to them
    for (const auto& [given, fed] : feeds) {
      const Port& port = port_for(given.empty() && inputs.size() == 1 ? inputs.front().name : given);
      const bool rounds = is_half(port.type) && fed.type() == DType::f32;
      const Tensor& tensor = kept.emplace_back(rounds ? converted(fed, port.type) : fed);
      check(port, tensor);
      names.push_back(port.name.c_str());
      // The runtime does not write to its inputs; its interface lacks the const.
      if (dtype_size(tensor.type()) == 0)
        throw Error(ErrorKind::unsupported, "a tensor of " + dtype_name(tensor.type()) + " cannot be fed")
            .at("input '" + port.name + "'");
      values.push_back(Ort::Value::CreateTensor(memory, const_cast<std::byte*>(tensor.raw().data()), tensor.raw().size(),
                                                tensor.shape().data(), tensor.shape().size(),
                                                static_cast<ONNXTensorElementDataType>(tensor.type())));
    }
    try {
      return session.Run(Ort::RunOptions{nullptr}, names.data(), values.data(), names.size(), output_names.data(),
                         output_names.size());
    } catch (const Ort::Exception& e) {
      throw Error(ErrorKind::input, std::string("ONNX Runtime ") + runtime_version() + " stops: " + e.what());
    }
  }
};

Session::Session(const Graph& graph, const SessionOptions& options) : Session(serialize(graph), options) {
  for (const Value& input : graph.inputs)
    for (Port& port : impl_->inputs)
      if (port.name == input.name && input.opaque.empty()) port.any_rank = !input.dims;
}
Session::Session(const std::string& bytes, const SessionOptions& options) : impl_(std::make_unique<Impl>(bytes, options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<Port>& Session::inputs() const { return impl_->inputs; }
const std::vector<Port>& Session::outputs() const { return impl_->outputs; }

void Session::run(const Feeds& feeds, const std::function<void(std::span<const OutputView>)>& visit) {
  const std::vector<Ort::Value> values = impl_->run(feeds);
  std::vector<OutputView> views;
  for (const Ort::Value& value : values) {
    const std::string place = "output '" + impl_->outputs[views.size()].name + "'";
    if (!value.IsTensor()) throw Error(ErrorKind::unsupported, "is no tensor").at(place);
    const auto info = value.GetTensorTypeAndShapeInfo();
    const auto type = static_cast<DType>(info.GetElementType());
    if (dtype_size(type) == 0) throw Error(ErrorKind::unsupported, "is a tensor of " + dtype_name(type)).at(place);
    views.push_back({type, info.GetShape(), value.GetTensorRawData()});
  }
  visit(views);
}

std::vector<Tensor> Session::run(const Feeds& feeds) {
  std::vector<Tensor> tensors;
  run(feeds, [&](std::span<const OutputView> views) {
    for (const OutputView& view : views) {
      const auto* begin = static_cast<const std::byte*>(view.data);
      const size_t bytes = static_cast<size_t>(element_count(view.shape)) * dtype_size(view.type);
      tensors.emplace_back(view.type, view.shape, std::vector<std::byte>{begin, begin + bytes});
    }
  });
  return tensors;
}

std::string Session::end_profiling() {
  const Ort::AllocatorWithDefaultOptions allocator;
  return impl_->session.EndProfilingAllocated(allocator).get();
}

std::string runtime_version() { return OrtGetApiBase()->GetVersionString(); }

}  // namespace pare
