#include "passes/resize_input.h"

#include "ir/shapes.h"

namespace pare {

Graph resize_input(Graph graph, const Shape& shape) {
  if (graph.inputs.size() != 1) throw Error(ErrorKind::usage, "the model has more than one input").at("--shape");
  Value& input = graph.inputs.front();
  if (!input.dims || input.dims->size() != shape.size())
    throw Error(ErrorKind::usage, shape_text(shape) + " has another rank than input '" + input.name + "'").at("--shape");
  bool frozen = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    frozen |= (*input.dims)[d].size.value_or(shape[d]) != shape[d];
    if (d > 0 || (*input.dims)[d].size) (*input.dims)[d] = {shape[d], ""};
  }
  if (frozen) throw Error(ErrorKind::unsupported, "the model is exported for another size").at("--shape");
  infer_shapes(graph);
  return graph;
}

}  // namespace pare
