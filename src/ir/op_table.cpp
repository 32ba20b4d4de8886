#include "ir/op_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pare {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hyperbolic_tangent(double x) { return std::tanh(x); }

constexpr auto kRows = std::to_array<OpRow>({
    {.op = "Conv", .flow = Flow::weighted, .weight_input = 1, .bias_input = 2, .ort_integer_kernel = "QLinearConv"},
    {.op = "ConvTranspose", .flow = Flow::weighted, .weight_input = 1, .bias_input = 2},
    {.op = "Gemm", .flow = Flow::weighted, .weight_input = 1, .bias_input = 2, .ort_integer_kernel = "QGemm"},
    {.op = "MatMul", .flow = Flow::weighted, .weight_input = 1, .ort_integer_kernel = "QLinearMatMul"},

    {.op = "Reshape", .flow = Flow::move, .ort_integer_kernel = "Reshape"},
    {.op = "Flatten", .flow = Flow::move, .ort_integer_kernel = "Flatten", .ort_since = 20},
    {.op = "Transpose", .flow = Flow::move, .ort_integer_kernel = "Transpose"},
    {.op = "Squeeze", .flow = Flow::move, .ort_integer_kernel = "Squeeze"},
    {.op = "Unsqueeze", .flow = Flow::move, .ort_integer_kernel = "Unsqueeze"},
    {.op = "Split", .flow = Flow::move, .ort_integer_kernel = "Split", .ort_since = 17},
    {.op = "Slice", .flow = Flow::move, .ort_integer_kernel = "Slice", .ort_since = 20},
    {.op = "Gather", .flow = Flow::move, .ort_integer_kernel = "Gather"},
    {.op = "MaxPool", .flow = Flow::move, .ort_integer_kernel = "MaxPool"},
    {.op = "Resize", .flow = Flow::move, .ort_integer_kernel = "Resize"},
    {.op = "DepthToSpace", .flow = Flow::move, .ort_integer_kernel = "DepthToSpace", .ort_since = 21},
    {.op = "SpaceToDepth", .flow = Flow::move},
    {.op = "Expand", .flow = Flow::move},
    {.op = "Tile", .flow = Flow::move},
    {.op = "Identity", .flow = Flow::move},
    {.op = "Pad", .flow = Flow::mix},  // its fill value is not among the input's

    {.op = "Concat", .flow = Flow::join, .ort_integer_kernel = "QLinearConcat"},

    {.op = "Relu", .flow = Flow::clamp, .ort_integer_kernel = "Relu"},
    {.op = "Clip", .flow = Flow::clamp, .ort_integer_kernel = "Clip"},

    {.op = "Sigmoid", .flow = Flow::curve, .ort_integer_kernel = "QLinearSigmoid", .curve = sigmoid},
    {.op = "Tanh", .flow = Flow::curve, .curve = hyperbolic_tangent},

    {.op = "LeakyRelu", .flow = Flow::mix, .ort_integer_kernel = "QLinearLeakyRelu"},
    {.op = "Add", .flow = Flow::mix, .ort_integer_kernel = "QLinearAdd"},
    {.op = "Mul", .flow = Flow::mix, .ort_integer_kernel = "QLinearMul"},
    {.op = "AveragePool", .flow = Flow::mix, .ort_integer_kernel = "QLinearAveragePool"},
    {.op = "GlobalAveragePool", .flow = Flow::mix, .ort_integer_kernel = "QLinearGlobalAveragePool"},
    {.op = "Softmax", .flow = Flow::mix},  // QLinearSoftmax exists; its 1/256 steps lose what small probabilities hold
    {.op = "Sub", .flow = Flow::mix},
    {.op = "Div", .flow = Flow::mix},
    {.op = "HardSigmoid", .flow = Flow::mix},
    {.op = "HardSwish", .flow = Flow::mix},
    {.op = "Gelu", .flow = Flow::mix},
    {.op = "PRelu", .flow = Flow::mix},
    {.op = "ReduceMean", .flow = Flow::mix},
    {.op = "LayerNormalization", .flow = Flow::mix},
    {.op = "BatchNormalization", .flow = Flow::mix},
    {.op = "InstanceNormalization", .flow = Flow::mix},
});

}  // namespace

std::span<const OpRow> op_rows() { return kRows; }

const OpRow* op_row(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const OpRow& r) { return r.op == node.op_type; });
  return row == kRows.end() ? nullptr : &*row;
}

int64_t weight_channel_axis(const Node& node, const Tensor& weight) {
  if (node.is("ConvTranspose")) return 1;
  if (node.is("Gemm")) return node.attribute<int64_t>("transB", 0) != 0 ? 0 : 1;
  if (node.is("MatMul")) return static_cast<int64_t>(weight.shape().size()) - 1;
  return 0;
}

int64_t multiply_adds(const Graph& graph, const Node& node) {
  const OpRow* row = op_row(node);
  if (row == nullptr || row->flow != Flow::weighted) return 0;
  const auto output = graph.value(node.outputs.front());
  const auto input = graph.value(node.inputs.front());
  const auto weight = graph.value(node.input(1));
  if (!output || !input || !weight || !weight->shape() || weight->shape()->empty()) return 0;
  const Shape w = *weight->shape();
  const int64_t filter = element_count(w) / std::max<int64_t>(w[0], 1);
  if (node.is("ConvTranspose")) return input->elements() * filter;
  if (node.is("Conv")) return output->elements() * filter;
  const int64_t inner =
      node.is("Gemm") ? w[node.attribute<int64_t>("transB", 0) != 0 ? 1 : 0] : w[w.size() > 1 ? w.size() - 2 : 0];
  return output->elements() * inner;
}

std::optional<Interval> clamp_bounds(const Graph& graph, const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.is("Relu")) return Interval{0, kInfinity};
  if (!node.is("Clip")) return std::nullopt;
  Interval bounds{node.attribute<float>("min", -std::numeric_limits<float>::infinity()),
                  node.attribute<float>("max", std::numeric_limits<float>::infinity())};
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (node.input(i).empty()) continue;
    const Tensor* bound = graph.constant(node.input(i));
    if (bound == nullptr || bound->count() != 1) return std::nullopt;
    (i == 1 ? bounds.low : bounds.high) = to_floats(*bound).front();
  }
  return bounds;
}

}  // namespace pare
