#include "passes/resize_input.h"

#include <algorithm>
#include <cmath>

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

int64_t positions(const Levels& levels, Size Level::* size) {
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
      : graph_(std::move(graph)), shape_(shape), before_(before), after_(after), levels_(possible_levels(before, after)) {}

  Graph run() {
    graph_ = constant_nodes_to_initializers(std::move(graph_));
    const Graph old = graph_;
    for (auto& [name, tensor] : graph_.initializers)
      if (tensor.type() == DType::f32) remake_table(name, tensor);
    set_input();
    refit_reshapes();
    infer_shapes(graph_);
    refuse_leftovers(old);
    return std::move(graph_);
  }

 private:
  void set_input() {
    auto& dims = *graph_.inputs.front().dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (d > 0 || dims[d].size) dims[d] = {shape_[d], ""};
    for (Value& output : graph_.outputs) output.dims.reset();
  }

  void remake_table(const std::string& name, Tensor& tensor) {
    for (const Levels& levels : levels_) {
      const int64_t count = positions(levels, &Level::before);
      const Shape& shape = tensor.shape();
      const auto axis = std::find(shape.begin(), shape.end(), count);
      if (count < 16 || axis == shape.end()) continue;
      if (auto table = evaluate(tensor, levels, static_cast<size_t>(axis - shape.begin()))) {
        tensor = std::move(*table);
        return;
      }
      if (levels.size() > 1)
        throw Error(ErrorKind::unsupported, "holds a value for each of the " + std::to_string(count) +
                                                " positions of the exported size, by no formula that is known here")
            .at("tensor '" + name + "'")
            .fix("export the model for this size, or with free height and width");
    }
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
          const auto at = [&](int64_t row, int64_t column) {
            return from[(o * old_count + read + static_cast<size_t>(row * level.before.width + column)) * inner + i];
          };
          const float origin = at(0, 0);
          const float step_x = level.before.width > 1 ? at(0, 1) - origin : 0;
          const float step_y = level.before.height > 1 ? at(1, 0) - origin : 0;
          for (const float step : {step_x, step_y})
            if (step != 0 && step != 1 && step != static_cast<float>(level.stride)) return std::nullopt;
          for (int64_t row = 0; row < level.before.height; ++row)
            for (int64_t column = 0; column < level.before.width; ++column)
              if (std::abs(at(row, column) - (origin + step_x * static_cast<float>(column) + step_y * static_cast<float>(row))) > 1e-3F)
                return std::nullopt;
          read += static_cast<size_t>(level.before.height * level.before.width);
          for (int64_t row = 0; row < level.after.height; ++row)
            for (int64_t column = 0; column < level.after.width; ++column)
              to[(o * new_count + write++) * inner + i] = origin + step_x * static_cast<float>(column) + step_y * static_cast<float>(row);
        }
      }
    }
    return table;
  }

  /// Follows the graph from the input on: where a Reshape's constant target no longer fits what arrives, its numbers that stand for the
  /// old size are replaced.
  void refit_reshapes() {
    for (size_t round = 0; round <= graph_.nodes.size(); ++round) {
      try {
        infer_shapes(graph_);
      } catch (const Error&) {  // a Reshape further on does not fit yet; what was inferred up to it suffices to go on
      }
      const Node* misfit = nullptr;
      for (const Node& node : graph_.nodes) {
        if (!node.is("Reshape") || graph_.constant(node.input(1)) == nullptr || fits(node)) continue;
        misfit = &node;
        break;
      }
      if (misfit == nullptr) return;
      refit(*misfit);
    }
  }

  std::optional<Shape> arriving(const Node& reshape) const {
    const auto value = graph_.value(reshape.inputs[0]);
    return value ? value->shape() : std::nullopt;
  }

  bool fits(const Node& reshape) const {
    const auto input = arriving(reshape);
    return !input || fits(*input, to_ints(*graph_.constant(reshape.inputs[1])));
  }

  static bool fits(const Shape& input, const Shape& target) {
    int64_t known = 1;
    bool open = false;
    for (size_t d = 0; d < target.size(); ++d) {
      if (target[d] == -1) open = true;
      else known *= target[d] == 0 && d < input.size() ? input[d] : target[d];
    }
    const int64_t count = element_count(input);
    return open ? known > 0 && count % known == 0 : known == count;
  }

  void refit(const Node& reshape) {
    const Shape input = *arriving(reshape);
    const Shape target = to_ints(*graph_.constant(reshape.inputs[1]));
    const auto accept = [&](const Shape& candidate) {
      if (!fits(input, candidate)) return false;
      const std::string name = reshape.inputs[1] + "_" + shape_text(shape_) + "_" + reshape.outputs[0];  // others may share the old one
      graph_.initializers[name] = Tensor::of<int64_t>({static_cast<int64_t>(candidate.size())}, candidate);
      for (Node& node : graph_.nodes)
        if (node.outputs[0] == reshape.outputs[0]) node.inputs[1] = name;
      return true;
    };
    for (const Levels& levels : levels_) {  // all positions of a head, or of one level, in one number
      Shape candidate = target;
      std::replace(candidate.begin(), candidate.end(), positions(levels, &Level::before), positions(levels, &Level::after));
      if (candidate != target && accept(candidate)) return;
    }
    for (const Levels& levels : levels_) {  // height and width of one level side by side
      for (size_t d = 0; levels.size() == 1 && d + 1 < target.size(); ++d) {
        if (target[d] != levels[0].before.height || target[d + 1] != levels[0].before.width) continue;
        Shape candidate = target;
        candidate[d] = levels[0].after.height;
        candidate[d + 1] = levels[0].after.width;
        if (accept(candidate)) return;
      }
    }
    throw Error(ErrorKind::unsupported, "its target " + shape_text(target) + " was made for another input size and what arrives is now " +
                                            shape_text(input))
        .at(reshape.label())
        .fix("export the model for this size, or with free height and width");
  }

  /// Resize to fixed sizes would run, and silently undo the new size.
  void refuse_leftovers(const Graph& old) const {
    for (const Node& node : graph_.nodes) {
      if (!node.is("Resize") || node.input(3).empty() || graph_.constant(node.input(3)) == nullptr) continue;
      const auto value = old.value(node.outputs[0]);
      const auto shape = value ? value->shape() : std::nullopt;
      if (shape && shape->size() == 4 && (*shape)[2] != 1)
        throw Error(ErrorKind::unsupported, "it resizes to a size that was fixed at export").at(node.label()).fix("export the model with free height and width");
    }
  }

  Graph graph_;
  const Shape& shape_;
  Size before_, after_;
  std::vector<Levels> levels_;
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
      throw Error(ErrorKind::usage, shape_text(shape) + " differs from the model's " + std::to_string(*dims[d].size) + " in axis " +
                                        std::to_string(d) + ", which is not height or width")
          .at("--shape");
    frozen = true;
  }
  if (frozen && (!dims[h].size || !dims[h + 1].size)) frozen = false;
  if (frozen) return Resizer(std::move(graph), shape, {*dims[h].size, *dims[h + 1].size}, {shape[h], shape[h + 1]}).run();
  for (size_t d = 0; d < shape.size(); ++d)
    if (d > 0 || dims[d].size) dims[d] = {shape[d], ""};
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
