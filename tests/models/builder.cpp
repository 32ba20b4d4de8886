#include "tests/models/builder.h"

#include <random>

#include "ir/save.h"
#include "ir/shapes.h"

namespace pare::models {
namespace {

Value value_of(const std::string& name, DType type, const Shape& shape) {
  Value v{name, type, std::vector<Dim>(), ""};
  for (const int64_t d : shape) v.dims->push_back(d < 0 ? Dim{std::nullopt, "N"} : Dim{d, ""});
  return v;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

Tensor random(Shape shape, uint64_t seed, float low, float high) {
  std::mt19937_64 engine(seed);
  Tensor t(DType::f32, std::move(shape));
  for (float& x : t.write<float>()) x = low + (high - low) * (static_cast<float>(engine() >> 40) * 0x1p-24F);
  return t;
}

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of<float>(std::move(shape), values); }
Tensor ints(const std::vector<int64_t>& values) { return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values); }

Builder::Builder(int64_t opset) {
  graph_.name = "test";
  graph_.opsets[""] = opset;
  graph_.ir_version = ir_version_for(opset);
}

Builder& Builder::input(const std::string& name, Shape shape, DType type) {
  graph_.inputs.push_back(value_of(name, type, shape));
  return *this;
}

Builder& Builder::constant(const std::string& name, Tensor tensor) {
  graph_.initializers[name] = std::move(tensor);
  return *this;
}

Builder& Builder::weights(const std::string& name, Shape shape, float low, float high) {
  uint64_t seed = 1469598103934665603ULL;  // FNV-1a
  for (const char c : name) seed = (seed ^ static_cast<uint64_t>(c)) * 1099511628211ULL;
  return constant(name, random(std::move(shape), seed, low, high));
}

Builder& Builder::node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                       std::map<std::string, Attribute> attributes, const std::string& domain) {
  const std::string name = outputs.front() + "_node";
  graph_.nodes.push_back({op, name, domain, std::move(inputs), std::move(outputs), std::move(attributes), ""});
  if (!domain.empty()) graph_.opsets[domain] = 1;
  return *this;
}

Builder& Builder::output(const std::string& name, DType type) {
  graph_.outputs.push_back({name, type, std::nullopt, ""});
  return *this;
}

Graph Builder::build() const {
  Graph graph = graph_;
  infer_shapes(graph);
  return graph;
}

Attribute Builder::subgraph() const { return std::shared_ptr<const Graph>(std::make_shared<Graph>(graph_)); }

std::string text(const Graph& graph) {
  std::string all;
  for (const Node& node : graph.nodes)
    all += (all.empty() ? "" : "; ") + node.op_type + "(" + joined(node.inputs) + ") -> " + joined(node.outputs);
  return all;
}

std::string ops(const Graph& graph) {
  std::string all;
  for (const Node& node : graph.nodes) all += (all.empty() ? "" : " ") + node.op_type;
  return all;
}

}  // namespace pare::models
