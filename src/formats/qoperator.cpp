#include "formats/qoperator.h"

#include <algorithm>
#include <array>

#include "ir/edit.h"
#include "ir/op_table.h"
#include "numeric/quantization.h"

namespace pare {
namespace {

/// How a kernel takes its inputs; "x" stands for numbers, scale and zero point.
enum class Form {
  bias,      ///< x, w, y scale, y zero point, bias
  gemm,      ///< x, w, bias, y scale, y zero point
  operands,  ///< x, w, y scale, y zero point
  unary,     ///< x, y scale, y zero point
  list,      ///< y scale, y zero point, x, x, ...
};

struct Kernel {
  std::string_view name, domain;
  Form form;
};

constexpr auto kKernels = std::to_array<Kernel>({
    {"QLinearConv", "", Form::bias},
    {"QLinearMatMul", "", Form::operands},
    {"QGemm", "com.microsoft", Form::gemm},
    {"QLinearAdd", "com.microsoft", Form::operands},
    {"QLinearMul", "com.microsoft", Form::operands},
    {"QLinearSigmoid", "com.microsoft", Form::unary},
    {"QLinearLeakyRelu", "com.microsoft", Form::unary},
    {"QLinearAveragePool", "com.microsoft", Form::unary},
    {"QLinearGlobalAveragePool", "com.microsoft", Form::unary},
    {"QLinearConcat", "com.microsoft", Form::list},
});

class Fuser {
 public:
  Fuser(Graph graph, Log& log) : graph_(std::move(graph)), index_(graph_), log_(log) {}

  Graph run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) fuse(i);
    remove_nodes(graph_, gone_);
    graph_.values.clear();
    remove_unused(graph_);
    sort_nodes(graph_);
    return std::move(graph_);
  }

 private:
  /// Numbers, scale and zero point; the names of a Q's or DQ's inputs and output.
  using Triple = std::array<std::string, 3>;

  std::optional<Triple> dequantized(const std::string& tensor) const {
    const auto p = index_.producer(tensor);
    if (!p || !graph_.nodes[*p].is("DequantizeLinear")) return std::nullopt;
    const Node& node = graph_.nodes[*p];
    return Triple{node.inputs[0], node.inputs[1], node.input(2)};
  }

  struct End {
    size_t quantize;
    std::optional<size_t> clamp;
  };

  /// The only reader of `tensor` where that is a Q, perhaps behind a clamp that it absorbs.
  std::optional<End> end_of(const std::string& tensor, bool may_clamp = true) const {
    if (!index_.used_once(tensor)) return std::nullopt;
    const size_t reader = index_.consumers(tensor).front();
    const Node& node = graph_.nodes[reader];
    if (node.is("QuantizeLinear")) return End{reader, std::nullopt};
    const auto bounds = clamp_bounds(graph_, node);
    if (!may_clamp || !bounds) return std::nullopt;
    auto end = end_of(node.outputs[0], false);
    if (!end) return std::nullopt;
    const Node& q = graph_.nodes[end->quantize];
    const Tensor* scale = graph_.constant(q.inputs[1]);
    const Tensor* zero_point = graph_.constant(q.input(2));
    if (scale == nullptr || zero_point == nullptr || scale->count() != 1) return std::nullopt;
    const QParams params{scale->as<float>()[0], static_cast<int32_t>(to_ints(*zero_point)[0])};
    const Range covered = representable(params, zero_point->type());
    const double slack = 1e-6 * (covered.high - covered.low);
    if (bounds->low > covered.low + slack || bounds->high < covered.high - slack) return std::nullopt;
    end->clamp = reader;
    return end;
  }

  void fuse(size_t i) {
    const OpRow* row = op_row(graph_.nodes[i]);
    if (row == nullptr || row->ort_integer_kernel.empty() || row->flow == Flow::clamp) return;
    if (row->flow == Flow::move)
      move(i);
    else if (const auto* k = std::find_if(kKernels.begin(), kKernels.end(),
                                          [&](const Kernel& x) { return x.name == row->ort_integer_kernel; });
             k != kKernels.end())
      replace(i, *k);
  }

  void move(size_t i) {
    Node& node = graph_.nodes[i];
    const auto x = dequantized(node.inputs[0]);
    if (!x) return;
    std::vector<size_t> ends;
    for (const std::string& output : node.outputs) {
      const auto end = end_of(output, false);
      if (!end || graph_.nodes[end->quantize].inputs[1] != (*x)[1] || graph_.nodes[end->quantize].input(2) != (*x)[2]) return;
      ends.push_back(end->quantize);
    }
    node.inputs[0] = (*x)[0];
    for (size_t o = 0; o < ends.size(); ++o) node.outputs[o] = graph_.nodes[ends[o]].outputs[0];
    gone_.insert(ends.begin(), ends.end());
  }

  void replace(size_t i, const Kernel& kernel) {
    Node& node = graph_.nodes[i];
    const auto end = end_of(node.outputs[0]);
    if (!end) return;
    const bool biased = kernel.form == Form::bias || kernel.form == Form::gemm;
    std::vector<std::string> operands, output{graph_.nodes[end->quantize].inputs[1], graph_.nodes[end->quantize].input(2)};
    for (size_t k = 0; k < node.inputs.size() && !(biased && k == 2); ++k) {
      const auto x = dequantized(node.inputs[k]);
      if (!x) return;
      operands.insert(operands.end(), x->begin(), x->end());
    }
    std::string bias;
    if (biased && !node.input(2).empty()) {
      const auto x = dequantized(node.input(2));
      if (!x) return;
      bias = (*x)[0];
    }
    std::vector<std::string> inputs = operands;
    if (kernel.form == Form::list) {
      inputs = output;
      inputs.insert(inputs.end(), operands.begin(), operands.end());
    } else if (kernel.form == Form::gemm) {
      inputs.push_back(bias);
      inputs.insert(inputs.end(), output.begin(), output.end());
    } else {
      inputs.insert(inputs.end(), output.begin(), output.end());
      if (!bias.empty()) inputs.push_back(bias);
    }
    node.op_type = kernel.name;
    node.domain = kernel.domain;
    node.inputs = std::move(inputs);
    node.outputs = {graph_.nodes[end->quantize].outputs[0]};
    node.attributes.erase("beta");  // 1, and unknown to QGemm
    if (!node.domain.empty()) graph_.opsets[node.domain] = 1;
    gone_.insert(end->quantize);
    if (end->clamp) gone_.insert(*end->clamp);
    log_.push_back({"to_qoperator", node.label(), "fused", ""});
  }

  Graph graph_;
  const GraphIndex index_;
  Log& log_;
  std::set<size_t> gone_;
};

}  // namespace

Graph to_qoperator(Graph graph, Log& log) { return Fuser(std::move(graph), log).run(); }

}  // namespace pare
