#include "passes/set_batch.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ir/edit.h"
#include "ir/shapes.h"
#include "passes/fold_constants.h"

namespace pare {
namespace {

std::optional<Shape> shape_of(const Graph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  return value ? value->shape() : std::nullopt;
}

class Rebatcher {
 public:
  Rebatcher(Graph graph, int64_t before, int64_t after)
      : graph_(constant_nodes_to_initializers(std::move(graph))), before_(before), after_(after), fresh_(graph_) {}

  Graph run() {
    infer_shapes(graph_);
    old_ = graph_;
    for (Value& input : graph_.inputs) input.dims->front() = {after_, ""};
    for (size_t round = 0; round <= graph_.nodes.size(); ++round) {
      for (Value& output : graph_.outputs) output.dims.reset();
      infer_shapes(graph_);  // up to the first node that does not fit yet
      if (!mend_next()) break;
    }
    refuse_leftovers();
    return std::move(graph_);
  }

 private:
  Error refusal(const Node& node, const std::string& what) const {
    return Error(ErrorKind::unsupported, what + " " + std::to_string(before_))
        .at(node.label())
        .fix("export the model with a free batch");
  }

  /// The axis of a tensor that counts samples: where its shape has changed.
  std::optional<size_t> batch_axis(const std::string& tensor) const {
    const auto was = shape_of(old_, tensor);
    const auto now = shape_of(graph_, tensor);
    if (!was || !now || was->size() != now->size()) return std::nullopt;
    for (size_t d = 0; d < was->size(); ++d)
      if ((*was)[d] != (*now)[d]) return d;
    return std::nullopt;
  }

  /// Where inference cannot follow to a Reshape: 0, if it was made for as many rows as there were samples.
  std::optional<size_t> assumed_axis(const Node& node, const std::string& input) const {
    const auto made = shape_of(old_, node.outputs[0]);
    const bool rows = made && !made->empty() && made->front() == before_ && before_ > 1;
    if (rows && node.is("Reshape") && input == node.inputs[0] && !shape_of(graph_, input)) return 0;
    return std::nullopt;
  }

  bool mend_next() {
    for (Node& node : graph_.nodes) {
      if (mended_.contains(node.outputs[0])) continue;
      for (const std::string& input : node.inputs) {
        const auto axis = batch_axis(input) ? batch_axis(input) : assumed_axis(node, input);
        if (!axis) continue;
        mended_.insert(node.outputs[0]);
        if (mend(node, *axis)) return true;
        break;
      }
    }
    return false;
  }

  bool mend(Node& node, size_t axis) {
    if (node.is("Reshape")) return refit(node, 1, axis);
    if (node.is("Expand")) return refit(node, 1, axis);
    if (node.is("Resize")) return refit(node, 3, axis);
    if (node.is("LSTM") || node.is("GRU") || node.is("RNN")) {
      for (const size_t state : {size_t{5}, size_t{6}}) repeat(node, state, 1);
      return true;
    }
    bool changed = false;
    const auto made = shape_of(old_, node.outputs[0]);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Tensor* constant = graph_.constant(node.inputs[k]);
      if (constant == nullptr || !made || constant->shape().size() != made->size() || !takes_rows(node)) continue;
      if (constant->shape()[axis] != before_ || (before_ == 1 && !node.is("Concat"))) continue;
      if (node.is("Concat") && node.attribute<int64_t>("axis", 0) == static_cast<int64_t>(axis)) continue;
      changed = repeat(node, k, axis) || changed;
    }
    return changed;
  }

  static bool takes_rows(const Node& node) {
    static const std::set<std::string> kinds{"Add", "Sub", "Mul",   "Div",     "Pow",  "Max",   "Min",
                                             "And", "Or",  "Where", "Greater", "Less", "Equal", "Concat"};
    return kinds.contains(node.op_type);
  }

  /// A target that names the shape made: the axis that counts samples (or holds a multiple of them) follows their number.
  bool refit(Node& node, size_t input, size_t axis) {
    const auto made = shape_of(old_, node.outputs[0]);
    if (graph_.constant(node.input(input)) == nullptr || !made) return false;
    std::optional<size_t> at;
    if (axis < made->size() && (*made)[axis] % before_ == 0) at = axis;
    for (size_t d = 0; d < made->size() && !at; ++d)
      if ((*made)[d] % before_ == 0) at = d;
    if (!at) throw refusal(node, "its target " + shape_text(*made) + " hides the batch of");
    Shape target = *made;
    target[*at] = target[*at] / before_ * after_;
    const std::string name = fresh_(node.outputs[0] + "_shape");
    graph_.initializers[name] = Tensor::of<int64_t>({static_cast<int64_t>(target.size())}, target);
    node.inputs[input] = name;
    node.attributes.erase("allowzero");
    return true;
  }

  /// A constant with a row for each sample gets as many as there are samples now.
  bool repeat(Node& node, size_t input, size_t axis) {
    const Tensor* rows = graph_.constant(node.input(input));
    if (rows == nullptr || rows->shape().size() <= axis || rows->shape()[axis] != before_) return false;
    Shape shape = rows->shape();
    size_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(shape[d]);
    const auto bytes = rows->raw();
    const size_t row = bytes.size() / outer / static_cast<size_t>(before_);
    shape[axis] = after_;
    Tensor made(rows->type(), shape);
    for (size_t o = 0; o < outer; ++o) {
      const std::byte* first = bytes.data() + o * row * static_cast<size_t>(before_);
      for (int64_t i = 1; i < before_; ++i)
        if (std::memcmp(first, first + static_cast<size_t>(i) * row, row) != 0)
          throw refusal(node, "its constant input '" + node.inputs[input] + "' differs between the samples of a batch of");
      for (int64_t i = 0; i < after_; ++i)
        std::memcpy(made.raw_write().data() + (o * static_cast<size_t>(after_) + static_cast<size_t>(i)) * row, first, row);
    }
    const std::string name = fresh_(node.inputs[input] + "_rows");
    graph_.initializers[name] = std::move(made);
    node.inputs[input] = name;
    return true;
  }

  /// What would not run, or would still make the old number of samples.
  void refuse_leftovers() const {
    for (const Node& node : graph_.nodes) {
      const auto was = shape_of(old_, node.outputs[0]);
      const auto now = shape_of(graph_, node.outputs[0]);
      if (!was || was->empty()) continue;
      const bool arrives = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& i) { return batch_axis(i); });
      if (arrives && !now) throw refusal(node, "it was made for a batch of");
    }
    for (const Value& output : graph_.outputs) {
      const auto was = shape_of(old_, output.name);
      const auto now = shape_of(graph_, output.name);
      if (was && now && !was->empty() && was->front() == before_ && *was == *now)
        throw Error(ErrorKind::unsupported, "keeps a batch of " + std::to_string(before_))
            .at("output '" + output.name + "'")
            .fix("export the model with a free batch");
    }
  }

  Graph graph_, old_;
  int64_t before_, after_;
  FreshNames fresh_;
  std::set<std::string> mended_;  ///< nodes, by first output
};

}  // namespace

std::optional<int64_t> fixed_batch(const Graph& graph) {
  std::optional<int64_t> batch;
  for (const Value& input : graph.inputs) {
    if (!input.dims || input.dims->empty() || !input.dims->front().size) return std::nullopt;
    if (batch && batch != input.dims->front().size) return std::nullopt;
    batch = input.dims->front().size;
  }
  return batch;
}

Graph set_batch(Graph graph, int64_t batch) {
  if (const auto before = fixed_batch(graph)) return *before == batch ? graph : Rebatcher(std::move(graph), *before, batch).run();
  for (Value& input : graph.inputs)
    if (input.dims && !input.dims->empty() && !input.dims->front().size) input.dims->front() = {batch, ""};
  for (Value& output : graph.outputs) output.dims.reset();
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
