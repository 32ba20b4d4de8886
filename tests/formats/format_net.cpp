#include "tests/formats/format_net.h"

#include <algorithm>
#include <cmath>

#include "calib/collect.h"
#include "quantize/insert_qdq.h"
#include "quantize/make_plan.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;

class RandomImages : public SampleSource {
 public:
  explicit RandomImages(const Graph& graph) : input_(graph.inputs.front()) {}
  [[nodiscard]] size_t size() const override { return 8; }
  [[nodiscard]] std::optional<Sample> load(size_t index) override {
    return Sample{{{input_.name, models::random(*input_.shape(), index + 1, 0, 1)}}, {}, std::to_string(index)};
  }
  [[nodiscard]] std::vector<Skipped> skipped() const override { return {}; }

 private:
  Value input_;
};

}  // namespace

Graph all_kinds() {
  const std::map<std::string, Attribute> same{{"pads", std::vector<int64_t>{1, 1, 1, 1}}}, axis{{"axis", int64_t{1}}};
  const std::map<std::string, Attribute> pool{{"kernel_shape", std::vector<int64_t>{2, 2}},
                                              {"strides", std::vector<int64_t>{2, 2}}};
  Builder b = Builder(13).input("x", {1, 3, 16, 16}).weights("w1", {12, 3, 3, 3}, -.5, .5).weights("b1", {12});
  b.weights("w2", {12, 1, 3, 3}).weights("w3", {12, 12, 1, 1}, -.4F, .4F).weights("w4", {12, 24, 1, 1}, -.3F, .3F);
  b.constant("six", Tensor::scalar(6.F)).constant("zero", Tensor::scalar(0.F)).constant("k", floats({1, 1, 1, 1}, {.7F}));
  b.constant("roi", Tensor(DType::f32, {0})).constant("up", floats({4}, {1, 1, 2, 2})).constant("flat", ints({1, 12}));
  b.node("Conv", {"x", "w1", "b1"}, {"c1"}, same).node("Relu", {"c1"}, {"r1"}).node("MaxPool", {"r1"}, {"m1"}, pool);
  b.node("Conv", {"m1", "w2"}, {"c2"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"group", int64_t{12}}});
  b.node("Clip", {"c2", "zero", "six"}, {"r2"}).node("Conv", {"r2", "w3"}, {"c3"}).node("Sigmoid", {"c3"}, {"s3"});
  b.node("Mul", {"c3", "s3"}, {"silu"}).node("Add", {"silu", "m1"}, {"sum"}).node("Resize", {"sum", "roi", "up"}, {"big"});
  b.node("AveragePool", {"big"}, {"small"}, pool)
      .node("LeakyRelu", {"small"}, {"leaky"})
      .node("Concat", {"leaky", "sum"}, {"cat"}, axis);
  b.node("Conv", {"cat", "w4"}, {"side"}).node("Mul", {"side", "k"}, {"scaled"}).node("GlobalAveragePool", {"scaled"}, {"mean"});
  b.node("Reshape", {"mean", "flat"}, {"row"}).weights("w5", {20, 12}).weights("b5", {20}).weights("w6", {20, 10});
  b.node("Gemm", {"row", "w5", "b5"}, {"g"}, {{"transB", int64_t{1}}}).node("MatMul", {"g", "w6"}, {"y"});
  return b.output("y").output("side").build();
}

Graph quantized_form(const Graph& graph, const Scheme& scheme) {
  const Region region = integer_region(graph, {});
  RandomImages images(graph);
  Log log;
  return insert_qdq(graph, make_plan(graph, region, collect(graph, tensors_to_measure(graph, region), images, {}), scheme), log);
}

double sqnr_db(const Graph& graph, const Graph& other, size_t output) {
  Session a(graph), b(other);
  double signal = 0, noise = 1e-300;
  for (uint64_t s = 0; s < 4; ++s) {
    const Tensor x = models::random(*graph.inputs.front().shape(), 100 + s, 0, 1);
    const Tensor wanted = a.run({{"", x}}).at(output), found = b.run({{"", x}}).at(output);
    for (size_t i = 0; i < wanted.as<float>().size(); ++i) {
      signal += std::pow(static_cast<double>(wanted.as<float>()[i]), 2);
      noise += std::pow(static_cast<double>(wanted.as<float>()[i]) - found.as<float>()[i], 2);
    }
  }
  return 10 * std::log10(signal / noise);
}

int64_t count(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op_type == op; });
}

}  // namespace pare
