#include "ir/inline_functions.h"

#include <onnx/inliner/inliner.h>

#include <set>

#include "ir/one_line.h"
#include "ir/proto.h"

namespace pare {
namespace {

void collect_domains(const proto::GraphProto& graph, std::set<std::string>& domains) {
  for (const auto& node : graph.node()) {
    domains.insert(node.domain());
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) collect_domains(attribute.g(), domains);
  }
}

}  // namespace

Graph with_functions_inlined(Graph graph) {
  if (graph.functions.empty()) return graph;
  const proto::ModelProto given = to_proto(graph, {.initializers_as_inputs = true});  // a conversion wants to know their types
  proto::ModelProto model = given;
  try {
    try {
      proto::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
    } catch (const std::exception&) {  // one function that cannot be converted; the others need no conversion
      model = given;
      proto::inliner::InlineLocalFunctions(model, /*convert_version=*/false);
    }
  } catch (const std::exception& e) {
    throw Error(ErrorKind::unsupported, "ONNX cannot inline the model's functions: " + one_line(e.what()));
  }
  std::set<std::string> local, used;
  for (const auto& function : given.functions()) local.insert(function.domain());
  collect_domains(model.graph(), used);
  for (const auto& function : model.functions()) used.insert(function.domain());
  Graph inlined = from_proto(model);
  inlined.files = std::move(graph.files);
  inlined.defaults = std::move(graph.defaults);
  std::erase_if(inlined.opsets, [&](const auto& entry) { return local.contains(entry.first) && !used.contains(entry.first); });
  return inlined;
}

}  // namespace pare
