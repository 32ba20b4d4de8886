#include "passes/resize_input.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/shapes.h"
#include "passes/fold_constants.h"

namespace pare {
namespace {

struct Size {
  int64_t height, width;
};

/// Feature maps of a detection head, from fine to coarse: old and new size of each level.
struct Level {
  int64_t stride;
  Size before, after;
};
using Levels = std::vector<Level>;

int64_t positions(const Levels& levels, Size Level::*size) {
  int64_t sum = 0;
  for (const Level& level : levels) sum += (level.*size).height * (level.*size).width;
  return sum;
}

/// Every run of neighbouring strides from 2 to 128 that divides both sizes.
std::vector<Levels> possible_levels(Size before, Size after) {
  std::vector<Levels> all;
  for (int64_t first = 2; first <= 128; first *= 2) {
    Levels levels;
    for (int64_t s = first; s <= 128; s *= 2) {
      if (before.height % s != 0 || before.width % s != 0 || after.height % s != 0 || after.width % s != 0) break;
      levels.push_back({s, {before.height / s, before.width / s}, {after.height / s, after.width / s}});
      all.push_back(levels);
    }
  }
  return all;
}

class Resizer {
 public:
  Resizer(Graph graph, const Shape& shape, Size before, Size after)
      : graph_(std::move(graph)), shape_(shape), levels_(possible_levels(before, after)) {}

  Graph run() {
    graph_ = constant_nodes_to_initializers(std::move(graph_));
    infer_shapes(graph_);
    old_ = graph_;
    set_input();
    for (size_t round = 0; round <= 2 * graph_.nodes.size(); ++round) {
      for (Value& output : graph_.outputs) output.dims.reset();
      infer_shapes(graph_);  // up to the first node that does not fit yet
      if (!mend_first_misfit()) break;
    }
    refuse_leftovers();
    return std::move(graph_);
  }

 private:
  void set_input() {
    auto& dims = *graph_.inputs.front().dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (d > 0 || dims[d].size) dims[d] = {shape_[d], ""};
  }

  /// A free batch counts as 1.
  static std::optional<Shape> shape_of(const Graph& graph, const std::string& tensor) {
    const auto value = graph.value(tensor);
    if (!value || !value->dims) return std::nullopt;
    Shape shape;
    for (const Dim& d : *value->dims) {
      if (!d.size && !shape.empty()) return std::nullopt;
      shape.push_back(d.size.value_or(1));
    }
    return shape;
  }

  bool mend_first_misfit() {
    for (Node& node : graph_.nodes) {
      if (refitted_.contains(node.outputs[0])) continue;
      if (node.is("Reshape") && graph_.constant(node.input(1)) != nullptr && refit(node)) {
        refitted_.insert(node.outputs[0]);
        return true;
      }
      if (is_binary(node) && mend_operand(node)) return true;
    }
    return false;
  }

  static bool is_binary(const Node& node) {
    return node.inputs.size() == 2 && (node.is("Add") || node.is("Sub") || node.is("Mul") || node.is("Div") || node.is("Pow") ||
                                       node.is("Max") || node.is("Min"));
  }

  Error refusal(const std::string& what) const {
    return Error(ErrorKind::unsupported, what).fix("export the model for this size, or with free height and width");
  }

  /// Where a table of the old positions meets a tensor of the new ones, the table is made anew.
  bool mend_operand(const Node& node) {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto table = shape_of(graph_, node.inputs[side]);
      const auto other = shape_of(graph_, node.inputs[1 - side]);
      std::set<std::string> sources;
      if (!table || !other || !constants_behind(node.inputs[side], sources)) continue;
      for (size_t back = 1; back <= std::min(table->size(), other->size()); ++back) {
        const int64_t from = (*table)[table->size() - back];
        const int64_t to = (*other)[other->size() - back];
        if (from == to || from == 1 || to == 1) continue;
        bool remade = false;
        for (const std::string& name : sources) remade = remake_table(name, from, to) || remade;
        if (!remade)
          throw refusal("its constant operand " + shape_text(*table) + " does not fit " + shape_text(*other)).at(node.label());
        return true;
      }
    }
    return false;
  }

  /// Collects the initializers that `tensor` is computed from; false where it depends on the input.
  bool constants_behind(const std::string& tensor, std::set<std::string>& sources) const {
    if (tensor.empty()) return true;
    if (graph_.constant(tensor) != nullptr) {
      sources.insert(tensor);
      return true;
    }
    const auto maker = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), tensor) != node.outputs.end();
    });
    return maker != graph_.nodes.end() && !maker->is("Shape") &&
           std::all_of(maker->inputs.begin(), maker->inputs.end(),
                       [&](const auto& name) { return constants_behind(name, sources); });
  }

  bool remake_table(const std::string& name, int64_t from, int64_t to) {
    Tensor& tensor = graph_.initializers.at(name);
    const Shape shape = tensor.shape();
    const auto axis = std::find(shape.begin(), shape.end(), from);
    if ((tensor.type() != DType::f32 && !is_half(tensor.type())) || axis == shape.end()) return false;
    for (const Levels& levels : levels_) {
      if (positions(levels, &Level::before) != from || positions(levels, &Level::after) != to) continue;
      if (auto table = evaluate(converted(tensor, DType::f32), levels, static_cast<size_t>(axis - shape.begin()))) {
        tensor = converted(*table, tensor.type());
        return true;
      }
    }
    throw refusal("holds a value for each of the " + std::to_string(from) +
                  " positions of the exported size, by no formula that is known here")
        .at("tensor '" + name + "'");
  }

  /// The table on the new grid; nullopt where it is not affine in column and row.
  static std::optional<Tensor> evaluate(const Tensor& tensor, const Levels& levels, size_t axis) {
    Shape shape = tensor.shape();
    size_t outer = 1;
    size_t inner = 1;
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != axis) (d < axis ? outer : inner) *= static_cast<size_t>(shape[d]);
    const auto old_count = static_cast<size_t>(shape[axis]);
    shape[axis] = positions(levels, &Level::after);
    Tensor table(DType::f32, shape);
    const auto from = tensor.as<float>();
    const auto to = table.write<float>();
    const auto new_count = static_cast<size_t>(shape[axis]);
    for (size_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < inner; ++i) {
        size_t read = 0;
        size_t write = 0;
        for (const Level& level : levels) {
          if ((level.before.width == 1 && level.after.width > 1) || (level.before.height == 1 && level.after.height > 1))
            return std::nullopt;  // the step cannot be seen
          const auto at = [&](int64_t row, int64_t column) {
            return from[(o * old_count + read + static_cast<size_t>(row * level.before.width + column)) * inner + i];
          };
          const float origin = at(0, 0);
          const float step_x = level.before.width > 1 ? at(0, 1) - origin : 0;
          const float step_y = level.before.height > 1 ? at(1, 0) - origin : 0;
          for (const float step : {step_x, step_y})
            if (step != 0 && step != 1 && step != static_cast<float>(level.stride)) return std::nullopt;
          const auto value = [&](int64_t row, int64_t column) {
            return origin + step_x * static_cast<float>(column) + step_y * static_cast<float>(row);
          };
          for (int64_t row = 0; row < level.before.height; ++row)
            for (int64_t column = 0; column < level.before.width; ++column)
              if (!(std::abs(at(row, column) - value(row, column)) <= 1e-3F)) return std::nullopt;
          read += static_cast<size_t>(level.before.height * level.before.width);
          for (int64_t row = 0; row < level.after.height; ++row)
            for (int64_t column = 0; column < level.after.width; ++column)
              to[(o * new_count + write++) * inner + i] = value(row, column);
        }
      }
    }
    return table;
  }

  /// What a Reshape makes of `input`; nullopt where the numbers of elements differ.
  static std::optional<Shape> result(const Shape& input, const Shape& target) {
    Shape made = target;
    int64_t known = 1;
    std::optional<size_t> open;
    for (size_t d = 0; d < made.size(); ++d) {
      if (made[d] == 0 && d < input.size()) made[d] = input[d];
      if (made[d] == -1)
        open = d;
      else
        known *= made[d];
    }
    const int64_t count = element_count(input);
    if (!open) return known == count ? std::optional(made) : std::nullopt;
    if (known <= 0 || count % known != 0) return std::nullopt;
    made[*open] = count / known;
    return made;
  }

  /// Targets in which numbers of the old size are replaced: all positions of a head, or of one level (times anchors), in one
  /// number, or height and width of one level side by side.
  std::vector<Shape> candidates(const Shape& target) const {
    constexpr int64_t kMostAnchors = 16;
    std::vector<Shape> all{target};
    for (const Levels& levels : levels_) {
      const int64_t before = positions(levels, &Level::before);
      for (size_t d = 0; d < target.size(); ++d) {
        if (target[d] <= 0 || target[d] % before != 0 || target[d] / before > kMostAnchors) continue;
        all.push_back(target);
        all.back()[d] = target[d] / before * positions(levels, &Level::after);
      }
      for (size_t d = 0; levels.size() == 1 && d + 1 < target.size(); ++d) {
        if (target[d] != levels[0].before.height || target[d + 1] != levels[0].before.width) continue;
        all.push_back(target);
        all.back()[d] = levels[0].after.height;
        all.back()[d + 1] = levels[0].after.width;
      }
    }
    return all;
  }

  /// Gives a Reshape that no longer fits a new target. Of those that fit, the one that leaves most axes at either end as they
  /// arrive: -1 must not swallow what the old size left in the other numbers.
  bool refit(Node& reshape) {
    const auto input = shape_of(graph_, reshape.inputs[0]);
    if (!input) return false;
    const Shape target = to_ints(*graph_.constant(reshape.inputs[1]));
    std::optional<Shape> best;
    std::ptrdiff_t most = -1;
    for (const Shape& candidate : candidates(target)) {
      const auto made = result(*input, candidate);
      if (!made) continue;
      const auto same = (std::mismatch(made->begin(), made->end(), input->begin(), input->end()).first - made->begin()) +
                        (std::mismatch(made->rbegin(), made->rend(), input->rbegin(), input->rend()).first - made->rbegin());
      if (same > most) best = candidate, most = same;
    }
    if (!best)
      throw refusal("its target " + shape_text(target) + " was made for another input size and what arrives is now " +
                    shape_text(*input))
          .at(reshape.label());
    if (*best == target) return false;
    const std::string name = reshape.outputs[0] + "_" + shape_text(shape_) + "_shape";  // others may share the old one
    graph_.initializers[name] = Tensor::of<int64_t>({static_cast<int64_t>(best->size())}, *best);
    reshape.inputs[1] = name;
    return true;
  }

  /// What would run and silently undo the new size, or not run.
  void refuse_leftovers() const {
    for (const Node& node : graph_.nodes) {
      const auto old = shape_of(old_, node.outputs[0]);
      const auto now = shape_of(graph_, node.outputs[0]);
      const auto input = shape_of(graph_, node.input(0));
      const auto old_input = shape_of(old_, node.input(0));
      if (node.is("Resize") && graph_.constant(node.input(3)) != nullptr && old && old->size() == 4 && (*old)[2] != 1)
        throw refusal("it resizes to a size that was fixed at export").at(node.label());
      if (node.is("Slice") && old && now && input && old_input && old->size() == input->size() && now->size() == old->size())
        for (size_t d = 0; d < input->size(); ++d)
          if ((*input)[d] != (*old_input)[d] && (*now)[d] == (*old)[d])
            throw refusal("it cuts at a size that was fixed at export").at(node.label());
      const Tensor* weight = graph_.constant(node.input(1));
      if ((node.is("Gemm") || node.is("MatMul")) && weight != nullptr && weight->shape().size() == 2 && input &&
          !input->empty()) {
        const bool transposed = node.attribute<int64_t>("transB", 0) != 0;
        const size_t axis = node.attribute<int64_t>("transA", 0) != 0 ? 0 : input->size() - 1;
        if ((*input)[axis] != weight->shape()[transposed ? 1 : 0])
          throw refusal("its weight " + shape_text(weight->shape()) + " does not fit " + shape_text(*input)).at(node.label());
      }
      const bool arrives = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) {
        return name.empty() || graph_.constant(name) != nullptr || shape_of(graph_, name).has_value();
      });
      if (old && !now && arrives) throw refusal("it does not fit the new size").at(node.label());
    }
  }

  Graph graph_, old_;
  const Shape& shape_;
  std::vector<Levels> levels_;
  std::set<std::string> refitted_;  ///< Reshapes, by output
};

}  // namespace

Graph resize_input(Graph graph, const Shape& shape) {
  if (graph.inputs.size() != 1) throw Error(ErrorKind::usage, "the model has more than one input").at("--shape");
  Value& input = graph.inputs.front();
  if (!input.dims || input.dims->size() != shape.size())
    throw Error(ErrorKind::usage, shape_text(shape) + " has another rank than input '" + input.name + "'").at("--shape");
  auto& dims = *input.dims;
  const bool channels_last = shape.size() == 4 && dims[1].size != 3 && dims[3].size == 3;
  const size_t h = channels_last ? 1 : 2;
  bool frozen = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!dims[d].size || dims[d].size == shape[d]) continue;
    if (shape.size() != 4 || (d != h && d != h + 1))
      throw Error(ErrorKind::usage, shape_text(shape) + " differs from the model's " + std::to_string(*dims[d].size) +
                                        " in axis " + std::to_string(d) + ", which is not height or width")
          .at("--shape");
    frozen = true;
  }
  if (frozen && (!dims[h].size || !dims[h + 1].size)) frozen = false;
  if (frozen) {
    const Size before{*dims[h].size, *dims[h + 1].size};
    const Size after{shape[h], shape[h + 1]};
    if (before.height * before.width != after.height * after.width) return Resizer(std::move(graph), shape, before, after).run();
    Shape between = shape;  // of another area, since what holds the old size is known by its number of positions
    between[h] = 2 * before.height;
    between[h + 1] = 3 * before.width;
    return resize_input(resize_input(std::move(graph), between), shape);
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (d > 0 || dims[d].size) dims[d] = {shape[d], ""};
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
