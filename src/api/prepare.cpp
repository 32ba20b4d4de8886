#include "api/prepare.h"

#include <algorithm>
#include <cmath>

#include "ir/load.h"
#include "passes/pipeline.h"
#include "passes/set_batch.h"
#include "runtime/session.h"
#include "verify/signal.h"

namespace pare {

namespace {

void refuse_nan(const Graph& graph) {
  for (const auto& [name, tensor] : graph.initializers) {
    if (tensor.type() != DType::f32 && !is_half(tensor.type())) continue;
    const Tensor wide = converted(tensor, DType::f32);
    const auto values = wide.as<float>();
    const auto count = std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
    if (count > 0) throw Error(ErrorKind::input, "holds " + std::to_string(count) + " NaN values").at("weight '" + name + "'");
  }
}

/// Local functions are expanded by the runtime, whatever their domain.
void refuse_unknown_domains(const Graph& graph) {
  if (!graph.functions.empty()) return;
  for (const Node& node : graph.nodes) {
    const std::string& d = node.domain;
    if (d.empty() || d.starts_with("ai.onnx") || d.starts_with("com.microsoft") || d == "org.pytorch.aten") continue;
    throw Error(ErrorKind::unsupported, "the runtime has no operators of the domain '" + d + "'")
        .at(node.label())
        .fix("export the model with operators of ONNX");
  }
}

/// The runtime's Q and DQ come later than ONNX's.
void refuse_opset_without_quantization(const Graph& graph) {
  Graph probe;
  probe.name = "probe";
  probe.opsets[""] = graph.opset();
  probe.ir_version = graph.ir_version;
  probe.initializers = {{"x", Tensor::scalar(1.F)}, {"scale", Tensor::scalar(1.F)}};
  probe.nodes = {{"QuantizeLinear", "q", "", {"x", "scale"}, {"y"}, {}, ""}};
  probe.outputs = {{"y", DType::u8, std::vector<Dim>(), ""}};
  try {
    const Session session(probe);
  } catch (const Error&) {
    throw Error(ErrorKind::unsupported, "ONNX Runtime " + runtime_version() + " has no QuantizeLinear of the model's opset " +
                                            std::to_string(graph.opset()))
        .fix("export the model with an older opset");
  }
}

/// `count` copies along the first axis.
Tensor repeated(const Tensor& tensor, int64_t count) {
  Shape shape = tensor.shape();
  shape.front() *= count;
  Tensor result(tensor.type(), shape);
  const auto from = tensor.raw();
  const auto to = result.raw_write();
  for (size_t at = 0; at < to.size(); at += from.size())
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
  return result;
}

constexpr double kSameDb = 40;
constexpr double kSameHalfDb = 20;  // half precision rounds each layer's output, the prepared model does not

bool computes_in_half(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const auto& entry) { return is_half(entry.second.type); });
}

bool is_real(DType type) { return type == DType::f32 || is_half(type); }

}  // namespace

int64_t quantized_nodes(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.is("QuantizeLinear") || node.is("DequantizeLinear") || node.op_type.starts_with("QLinear") ||
           node.op_type.starts_with("QGemm") || node.op_type.ends_with("Integer") || node.is("DynamicQuantizeLinear");
  });
}

Prepared prepare_model(const std::string& model, const DataOptions& data, const std::vector<std::string>& disabled_passes,
                       std::optional<Dataset::Kind> fed) {
  Prepared p;
  p.original = load_model(model);
  const auto concerns_model = [&data](const Error& e) {
    const auto of = [&e](const std::string& file) { return !file.empty() && e.place().starts_with(file); };
    return e.kind() != ErrorKind::usage && !of(data.data) && !of(data.preprocess);
  };
  try {
    refuse_unknown_domains(p.original);
    refuse_nan(p.original);
    if (const int64_t n = quantized_nodes(p.original); n > 0)
      throw Error(ErrorKind::unsupported, "is quantized already (" + std::to_string(n) + " quantization nodes)")
          .fix("give the float model it was made from");
    p.input = settle_input(p.original, data, fed);
    const PassContext context{[](const Graph& graph) { return Session(graph).run({}); },
                              {disabled_passes.begin(), disabled_passes.end()}};
    if (!p.original.defaults.empty())
      p.log.push_back({"load", "", "noted",
                       std::to_string(p.original.defaults.size()) + " initializers are inputs too; they count as constants"});
    p.graph = run_passes(p.original, prepare_passes(), context, p.log);
    refuse_opset_without_quantization(p.graph);
  } catch (Error& e) {
    throw concerns_model(e) ? e.at(model) : e;
  }
  return p;
}

void check_same_function(const Prepared& model, const NamedTensors& sample, int threads, Log& log) {
  const std::vector<Tensor> before = Session(model.original, {.threads = threads}).run(sample);
  const std::vector<Tensor> after = Session(model.graph, {.threads = threads}).run(sample);
  const double limit = computes_in_half(model.original) ? kSameHalfDb : kSameDb;
  for (size_t o = 0; o < before.size(); ++o) {
    if (!is_real(before[o].type())) continue;
    SignalError error;
    error.add(before[o], after[o]);
    const double db = error.total().sqnr_db();
    const std::string place = "output '" + model.original.outputs[o].name + "'";
    const std::string figure = std::isinf(db) ? "equal" : std::to_string(std::lround(db)) + " dB";
    if (db < limit)
      throw Error(ErrorKind::internal, "the prepare passes changed it: " + figure + " against the original")
          .at(place)
          .fix("leave passes out with --disable-pass until it agrees, and report the model");
    log.push_back({"prepare", place, "checked", figure + " against the original"});
  }
}

Graph with_batch(const Graph& graph, int64_t batch, const NamedTensors& sample, int threads) {
  Graph result = set_batch(graph, batch);
  for (auto& [key, value] : result.metadata)
    if (key == "batch") value = std::to_string(batch);
  if (sample.empty()) return result;
  NamedTensors samples = sample;
  for (auto& [name, tensor] : samples) tensor = repeated(tensor, batch);
  const std::vector<Tensor> one = Session(graph, {.threads = threads}).run(sample);
  const std::vector<Tensor> many = Session(result, {.threads = threads}).run(samples);
  for (size_t o = 0; o < one.size(); ++o) {
    if (!is_real(one[o].type()) || one[o].shape().empty() || one[o].shape().front() != 1) continue;
    const std::string place = "output '" + graph.outputs[o].name + "'";
    const Tensor expected = repeated(one[o], batch);
    if (many[o].shape() != expected.shape())
      throw Error(ErrorKind::unsupported, "is " + shape_text(many[o].shape()) + " for a batch of " + std::to_string(batch))
          .at(place);
    SignalError error;
    error.add(expected, many[o]);
    if (error.total().sqnr_db() < kSameDb)
      throw Error(ErrorKind::internal, "differs between one sample and a batch of " + std::to_string(batch)).at(place);
  }
  return result;
}

}  // namespace pare
