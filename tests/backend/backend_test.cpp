#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"
#include "calib/collect.h"
#include "data/npy.h"
#include "data/samples.h"
#include "ir/edit.h"
#include "ir/load.h"
#include "ir/op_table.h"
#include "ir/save.h"
#include "ir/shapes.h"
#include "passes/pipeline.h"
#include "quantize/insert_qdq.h"
#include "quantize/make_plan.h"
#include "runtime/cpu.h"
#include "runtime/session.h"
#include "verify/kernels.h"

namespace pare {
namespace {

const std::string kFolder = PARE_BACKEND_CASES;

struct Case {
  std::string name;
  Graph graph;
  Feeds inputs;
  std::vector<Tensor> outputs;  ///< ONNX's own; empty where the case has no data
};

/// Each node test with data, or each one.
void for_each_case(bool all, const std::function<void(const Case&)>& visit) {
  std::istringstream lines(read_file(kFolder + "/cases.txt"));
  for (std::string name, data; std::getline(lines, name, '\t') && std::getline(lines, data);) {
    if (!all && data != "run") continue;
    SCOPED_TRACE(name);
    Case c{name, {}, {}, {}};
    try {
      c.graph = load_model(kFolder + "/" + name + ".onnx");
      if (data == "run") {
        size_t i = 0;
        for (auto& [array, tensor] : read_npz(kFolder + "/" + name + ".npz"))
          if (array[0] == 'o')
            c.outputs.push_back(tensor);
          else
            c.inputs.emplace_back(c.graph.inputs.at(i++).name, tensor);
      }
      visit(c);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

/// Case -> its first outputs in the runtime, or nothing where the runtime cannot run it.
std::optional<std::vector<Tensor>> run(const std::string& bytes, const Feeds& feeds) {
  try {
    return Session(bytes).run(feeds);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Their results differ from run to run.
bool is_random(const Graph& graph) {
  const std::set<std::string> kinds{"Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
                                    "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return kinds.contains(n.op_type); });
}

std::vector<double> numbers(const Tensor& t) {
  if (t.type() == DType::f32) return {t.as<float>().begin(), t.as<float>().end()};
  if (t.type() == DType::f64) return {t.as<double>().begin(), t.as<double>().end()};
  if (t.type() == DType::u64) return {t.as<uint64_t>().begin(), t.as<uint64_t>().end()};
  if (t.type() == DType::f16) {
    const auto halves = to_floats(t);
    return {halves.begin(), halves.end()};
  }
  const auto whole = to_ints(t);
  return {whole.begin(), whole.end()};
}

/// Where two outputs differ by more than `bound` allows (by element); "" where nowhere.
std::string difference(const Tensor& wanted, const Tensor& found, const std::function<double(size_t, double)>& bound) {
  if (wanted.type() != found.type()) return dtype_name(found.type()) + " instead of " + dtype_name(wanted.type());
  if (wanted.shape() != found.shape()) return shape_text(found.shape()) + " instead of " + shape_text(wanted.shape());
  const auto a = numbers(wanted), b = numbers(found);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= bound(i, a[i]))) {
      std::ostringstream text;
      text << b[i] << " instead of " << a[i] << " at " << i << ", allowed " << bound(i, a[i]);
      return text.str();
    }
  }
  return "";
}

/// The suite's own tolerance.
double close(size_t /*at*/, double wanted) { return 1e-7 + 1e-3 * std::abs(wanted); }
double same(size_t /*at*/, double /*wanted*/) { return 0; }

/// The same network with the values of all inputs but the first as initializers: shapes, weights, bounds.
Case with_constants(Case c) {
  for (size_t i = 1; i < c.inputs.size(); ++i) c.graph.initializers[c.inputs[i].first] = c.inputs[i].second;
  if (c.inputs.size() > 1) c.inputs.resize(1), c.graph.inputs.resize(1);
  infer_shapes(c.graph);
  return c;
}

std::string joined(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [what, count] : counts) text += "\n  " + std::to_string(count) + " " + what;
  return text;
}

TEST(Backend, LoadAndSaveKeepTheModel) {
  std::map<std::string, int> counts;
  for_each_case(true, [&](const Case& c) {
    ++counts["loaded"];
    const std::string file = testing::TempDir() + "pare_backend.onnx";
    std::ofstream(file, std::ios::binary) << serialize(c.graph);  // save_model would wait for the disk each time
    EXPECT_EQ(serialize(load_model(file)), serialize(c.graph));
    if (c.outputs.empty() || is_random(c.graph)) return;
    const auto original = run(read_file(kFolder + "/" + c.name + ".onnx"), c.inputs);
    if (!original) {
      ++counts["not run by the runtime"];
      return;
    }
    const auto ours = run(serialize(c.graph), c.inputs);
    ASSERT_TRUE(ours.has_value());
    ++counts["run before and after"];
    for (size_t o = 0; o < original->size(); ++o) EXPECT_EQ(difference((*original)[o], (*ours)[o], same), "");
  });
  std::cout << joined(counts) << '\n';
  EXPECT_GT(counts["loaded"], 1800);
  EXPECT_GT(counts["run before and after"], 1000);
}

TEST(Backend, InferredShapesAgreeWithTheDeclared) {
  std::map<std::string, int> counts;
  for_each_case(true, [&](const Case& c) {
    for (const bool constants : {false, true}) {
      if (constants && c.inputs.size() < 2) continue;
      Graph graph = constants ? with_constants(c).graph : c.graph;
      const std::vector<Value> declared = graph.outputs;
      for (Value& output : graph.outputs) output.dims.reset();
      infer_shapes(graph);
      for (size_t o = 0; o < declared.size(); ++o) {
        EXPECT_EQ(graph.outputs[o].type, declared[o].type);
        const auto wanted = declared[o].shape(), found = graph.outputs[o].shape();
        ++counts[!wanted ? "declared open" : !found ? "inferred open" : "both known"];
        if (!wanted || !found) continue;
        if (constants && graph.nodes[0].is("STFT")) continue;  // ONNX infers all frequencies where onesided halves them
        EXPECT_EQ(*found, *wanted) << (constants ? "with constants" : "");
      }
    }
  });
  std::cout << joined(counts) << '\n';
  EXPECT_GT(counts["both known"], 2000);
}

TEST(Backend, PreparePassesKeepTheOutputs) {
  const PassContext context{[](const Graph& graph) { return Session(graph).run({}); }, {}};
  std::map<std::string, int> counts;
  for_each_case(false, [&](const Case& given) {
    if (is_random(given.graph)) return;
    // Their Range takes tensors of one element for scalars, which the runtime refuses as soon as it knows the values.
    if (given.name.starts_with("test_affine_grid_2d") && given.name.ends_with("expanded")) return;
    for (const bool constants : {false, true}) {
      SCOPED_TRACE(constants ? "with constants" : "as it is");
      if (constants && given.inputs.size() < 2) continue;
      const Case c = constants ? with_constants(given) : given;
      const auto before = run(serialize(c.graph), c.inputs);
      if (!before) {
        ++counts["not run by the runtime"];
        continue;
      }
      Log log;
      Graph prepared;
      try {
        prepared = run_passes(c.graph, prepare_passes(), context, log);
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::unsupported) << e.what();
        ++counts["refused: " + std::string(e.what())];
        continue;
      }
      const auto after = Session(prepared).run(c.inputs);
      ++counts["compared"];
      for (size_t o = 0; o < after.size(); ++o) EXPECT_EQ(difference((*before)[o], after[o], close), "");
    }
  });
  std::cout << joined(counts) << '\n';
  EXPECT_GT(counts["compared"], 1500);
}

class OneSample : public SampleSource {
 public:
  explicit OneSample(Feeds inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] size_t size() const override { return 1; }
  [[nodiscard]] std::optional<Sample> load(size_t /*index*/) override { return Sample{inputs_, {}, "the case's inputs"}; }
  [[nodiscard]] std::vector<Skipped> skipped() const override { return {}; }

 private:
  Feeds inputs_;
};

/// |x| + half a step, where `steps` gives the step of each element.
Tensor widened(const Tensor& x, const std::function<double(size_t)>& steps) {
  Tensor result = x;
  auto values = result.write<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::abs(values[i]) + steps(i) / 2);
  return result;
}

/// The step of each element of a constant of `node` in the quantized graph: that of the DequantizeLinear that replaced it.
std::function<double(size_t)> constant_steps(const Graph& quantized, const Node& node, size_t input, const Tensor& constant) {
  const Node* found = nullptr;
  for (const Node& n : quantized.nodes)
    if (n.op_type == node.op_type) found = &n;  // the only one
  const auto dequantize = std::find_if(quantized.nodes.begin(), quantized.nodes.end(),
                                       [&](const Node& n) { return n.outputs[0] == found->input(input); });
  if (dequantize == quantized.nodes.end() || !dequantize->is("DequantizeLinear")) return [](size_t) { return 0.0; };
  const Tensor scales = *quantized.constant(dequantize->inputs[1]);
  if (scales.shape().empty()) return [=](size_t) { return scales.as<float>()[0]; };
  const auto axis = static_cast<size_t>(dequantize->attribute<int64_t>("axis", 1));
  size_t inner = 1;
  for (size_t d = axis + 1; d < constant.shape().size(); ++d) inner *= static_cast<size_t>(constant.shape()[d]);
  return [=](size_t i) { return scales.as<float>()[i / inner % scales.as<float>().size()]; };
}

/// How far each element of the output may stray, from the half steps of what the node reads and one step of what it writes (half
/// a step for its own Q, as much for the fixed-point arithmetic of the kernel). Products, sums and moves of magnitudes are
/// monotone, so the float operator itself tells: f(|x| + half a step, |w| + half a step) - f(|x|, |w|).
std::vector<double> bounds(const Case& c, const Node& node, const Plan& plan, const Graph& quantized) {
  const double out = plan.tensors.at(node.outputs[0]).params.scale;
  const OpRow* row = op_row(node);
  const auto step = [&](const std::string& name) {
    const auto it = plan.tensors.find(name);
    return it != plan.tensors.end() && it->second.quantized ? static_cast<double>(it->second.params.scale) : 0;
  };
  const auto size = static_cast<size_t>(c.outputs[0].count());
  if (row->flow == Flow::clamp) return std::vector<double>(size, out);
  if (row->flow == Flow::curve) return std::vector<double>(size, out + step(node.inputs[0]) / 2);
  if (node.is("LeakyRelu"))
    return std::vector<double>(size,
                               out + step(node.inputs[0]) / 2 * std::max(1.F, std::abs(node.attribute<float>("alpha", .01F))));
  Graph wide = c.graph;
  Graph magnitudes = c.graph;
  Feeds wide_inputs = c.inputs;
  Feeds inputs = c.inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const auto& [name, tensor] = c.inputs[i];
    if (tensor.type() != DType::f32) continue;
    wide_inputs[i].second = widened(tensor, [&](size_t) { return step(name); });
    inputs[i].second = widened(tensor, [](size_t) { return 0.0; });
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* constant = c.graph.constant(node.inputs[i]);
    if (constant == nullptr || constant->type() != DType::f32) continue;
    wide.initializers[node.inputs[i]] = widened(*constant, constant_steps(quantized, node, i, *constant));
    if (node.is("Resize"))
      wide.initializers[node.inputs[i]] = *constant;  // scales and corners
    else
      magnitudes.initializers[node.inputs[i]] = widened(*constant, [](size_t) { return 0.0; });
  }
  const auto high = numbers(Session(wide).run(wide_inputs).at(0)), low = numbers(Session(magnitudes).run(inputs).at(0));
  std::vector<double> result;
  for (size_t i = 0; i < high.size(); ++i) result.push_back(high[i] - low[i] + out + 1e-6 * high[i]);
  return result;
}

/// Kernels that ran.
std::set<std::string> kernels(const Graph& graph, const Feeds& feeds) {
  Session session(graph, {.threads = 1, .profile_prefix = testing::TempDir() + "pare_backend"});
  session.run(feeds);
  const std::string file = session.end_profiling();
  std::set<std::string> names;
  for (const KernelRow& row : read_profile(read_file(file), 1).rows) names.insert(row.op);
  std::filesystem::remove(file);
  return names;
}

/// The runtime has Q and DQ for this opset.
bool runs_quantized(int64_t opset) {
  Graph probe;
  probe.name = "probe";
  probe.opsets[""] = opset;
  probe.ir_version = ir_version_for(opset);
  probe.initializers = {{"x", Tensor::scalar(1.F)}, {"scale", Tensor::scalar(1.F)}};
  probe.nodes = {{"QuantizeLinear", "q", "", {"x", "scale"}, {"y"}, {}, ""}};
  probe.outputs = {{"y", DType::u8, std::vector<Dim>(), ""}};
  return run(serialize(probe), {}).has_value();
}

TEST(Backend, IntegerKernelsStayWithinTheirSteps) {
  const PassContext context{[](const Graph& graph) { return Session(graph).run({}); }, {}};
  std::map<std::string, int> counts, ran, not_ran, float_reasons;
  const int bits = this_cpu().weight_bits();
  const std::vector<Scheme> schemes{{.weight_bits = bits, .range = RangeMethod::minmax, .follow_activation = false},
                                    {.activation = DType::i8,
                                     .symmetric = true,
                                     .per_channel = false,
                                     .weight_bits = bits,
                                     .range = RangeMethod::minmax,
                                     .follow_activation = false}};
  for_each_case(false, [&](const Case& given) {
    if (given.graph.nodes.size() != 1 || op_row(given.graph.nodes[0]) == nullptr ||
        op_row(given.graph.nodes[0])->ort_integer_kernel.empty())
      return;
    for (const bool constants : {false, true}) {
      if (constants && given.inputs.size() < 2) continue;
      Case c = constants ? with_constants(given) : given;
      const auto before = run(serialize(c.graph), c.inputs);
      if (!before) {
        ++counts["not run by the runtime"];
        continue;
      }
      Log log;
      c.graph = run_passes(c.graph, prepare_passes(), context, log);
      if (c.graph.nodes.size() != 1) {
        ++counts["no longer one node after the passes"];
        continue;
      }
      const Node& node = c.graph.nodes[0];
      if (!runs_quantized(c.graph.opset())) {
        ++counts["the runtime has no QuantizeLinear for its opset"];
        continue;
      }
      const Region region = possible_region(c.graph, {});
      if (!region.integer[0]) {
        ++float_reasons[node.op_type + ": " + region.reasons[0]];
        continue;
      }
      for (const Scheme& scheme : schemes) {
        SCOPED_TRACE((constants ? "constants " : "inputs ") + dtype_name(scheme.activation));
        OneSample sample(c.inputs);
        const Plan plan = make_plan(c.graph, region, collect(c.graph, tensors_to_measure(c.graph, region), sample, {}), scheme);
        const Graph quantized = insert_qdq(c.graph, plan, log);
        const auto after = Session(quantized).run(c.inputs);
        const auto bound = bounds(c, node, plan, quantized);
        EXPECT_EQ(difference(before->at(0), after.at(0), [&](size_t i, double) { return bound.at(i); }), "");
        const auto names = kernels(quantized, c.inputs);
        const std::string kernel(op_row(node)->ort_integer_kernel);
        const bool integer = std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n.ends_with(kernel); });
        ++(integer ? ran : not_ran)[node.op_type + " " + dtype_name(scheme.activation) + (constants ? " constants" : "")];
        const Flow flow = op_row(node)->flow;
        // The runtime turns int8 activations into uint8 on x86, but not int8 constants, and mixes no types.
        const bool mixed = constants && scheme.activation == DType::i8 && (flow == Flow::mix || flow == Flow::join);
        if (flow == Flow::clamp || mixed) continue;  // a clamp's kernel is the Q behind it
        EXPECT_TRUE(integer) << testing::PrintToString(names);
      }
      ++counts["quantized"];
    }
  });
  std::cout << joined(counts) << "\nran:" << joined(ran) << "\nnot ran:" << joined(not_ran) << "\nfloat:" << joined(float_reasons)
            << '\n';
  EXPECT_GT(counts["quantized"], 100);
}

}  // namespace
}  // namespace pare
