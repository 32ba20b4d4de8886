#include "passes/inline_functions.h"

#include <gmock/gmock.h>

#include "ir/proto.h"
#include "ir/shapes.h"
#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

const Pass kPass{"inline_functions", inline_functions};

/// A function of the domain "local" whose body is that of `body`: inputs, outputs, nodes, opsets.
proto::FunctionProto function(const std::string& name, const Graph& body) {
  const proto::ModelProto model = to_proto(body);
  proto::FunctionProto f;
  f.set_name(name), f.set_domain("local");
  for (const Value& v : body.inputs) f.add_input(v.name);
  for (const Value& v : body.outputs) f.add_output(v.name);
  *f.mutable_node() = model.graph().node();
  *f.mutable_opset_import() = model.opset_import();
  return f;
}

Graph with_functions(Graph graph, const std::vector<proto::FunctionProto>& functions) {
  proto::ModelProto model;
  for (const auto& f : functions) *model.add_functions() = f;
  graph.functions = model.SerializeAsString();
  graph.ir_version = std::max<int64_t>(graph.ir_version, 8);
  graph.opsets["local"] = 1;
  infer_shapes(graph);
  return graph;
}

/// Conv and Relu, input and weight given.
proto::FunctionProto block(int64_t opset) {
  return function("Block", Builder(opset)
                               .input("a", {1, 2, 6, 6})
                               .input("k", {2, 2, 3, 3})
                               .node("Conv", {"a", "k"}, {"inner"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}})
                               .node("Relu", {"inner"}, {"b"})
                               .output("b")
                               .build());
}

Builder caller(int64_t opset = 17) {
  Builder b(opset);
  b.input("x", {1, 2, 6, 6}).weights("w", {2, 2, 3, 3}).weights("v", {2, 2, 3, 3});
  return b;
}

Graph twice(int64_t opset) {
  return caller(opset)
      .node("Block", {"x", "w"}, {"h"}, {}, "local")
      .node("Block", {"h", "v"}, {"y"}, {}, "local")
      .output("y")
      .build();
}

TEST(InlineFunctions, Inlines) {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22})
    all.push_back({"twice", with_functions(twice(opset), {block(opset)}), "Conv Relu Conv Relu"});
  all.push_back({"another_opset", with_functions(twice(17), {block(13)}), "Conv Relu Conv Relu"});
  const proto::FunctionProto outer = function("Outer", Builder(17)
                                                           .input("p", {1, 2, 6, 6})
                                                           .input("q", {2, 2, 3, 3})
                                                           .node("Block", {"p", "q"}, {"inner"}, {}, "local")
                                                           .node("Neg", {"inner"}, {"r"})
                                                           .output("r")
                                                           .build());
  all.push_back({"a_function_in_a_function",
                 with_functions(caller().node("Outer", {"x", "w"}, {"y"}, {}, "local").output("y").build(), {block(17), outer}),
                 "Conv Relu Neg"});
  const Attribute calls = Builder(17).node("Block", {"x", "w"}, {"t"}, {}, "local").output("t").subgraph();
  const Attribute plain = Builder(17).node("Neg", {"x"}, {"e"}).output("e").subgraph();
  all.push_back({"a_call_in_a_branch",
                 with_functions(caller()
                                    .input("c", {}, DType::boolean)
                                    .node("If", {"c"}, {"y"}, {{"then_branch", calls}, {"else_branch", plain}})
                                    .output("y")
                                    .build(),
                                {block(17)}),
                 "If"});
  for (const PassCase& c : all) {
    expect(c, kPass);
    Log log;
    const Graph after = inline_functions(c.given, {}, log);
    EXPECT_TRUE(after.functions.empty()) << c.name;
    EXPECT_FALSE(after.opsets.contains("local")) << c.name;
    EXPECT_EQ(after.inputs.front().name, "x");
  }
}

TEST(InlineFunctions, PassesAttributesOn) {
  proto::FunctionProto leaky =
      function("Leaky", Builder(17).input("a", {2}).node("LeakyRelu", {"a"}, {"b"}, {{"alpha", .5F}}).output("b").build());
  leaky.add_attribute("slope");
  auto* alpha = leaky.mutable_node(0)->mutable_attribute(0);
  alpha->clear_f(), alpha->set_ref_attr_name("slope");
  const Graph given = with_functions(
      Builder(17).input("x", {6}).node("Leaky", {"x"}, {"y"}, {{"slope", .25F}}, "local").output("y").build(), {leaky});
  expect({"attribute", given, "LeakyRelu"}, kPass);
}

TEST(InlineFunctions, OneThatCannotBeConvertedDoesNotKeepTheOthers) {
  proto::FunctionProto later = block(17);  // ONNX converts no Relu of opset 14 to 13
  later.set_name("Later");
  const Graph given = with_functions(
      caller(13).node("Block", {"x", "w"}, {"h"}, {}, "local").node("Later", {"h", "v"}, {"y"}, {}, "local").output("y").build(),
      {block(13), later});
  Log log;
  const Graph after = run_passes(given, std::span(&kPass, 1), {}, log);
  EXPECT_EQ(models::ops(after), "Conv Relu Later");
  EXPECT_EQ(outputs_of(after), outputs_of(given));
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].what, "kept");
}

TEST(InlineFunctions, LeavesWhatItCannotInline) {
  Log log;
  const Graph without = twice(17);
  EXPECT_EQ(models::text(inline_functions(without, {}, log)), models::text(without));
  EXPECT_TRUE(log.empty());
  proto::FunctionProto custom = block(17);  // of an opset that nobody can convert
  auto* import = custom.add_opset_import();
  import->set_domain("com.example"), import->set_version(2);
  custom.mutable_node(0)->set_domain("com.example");
  Graph given = with_functions(twice(17), {custom});
  given.opsets["com.example"] = 1;
  const Graph after = inline_functions(given, {}, log);
  EXPECT_EQ(models::text(after), models::text(given));
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].what, "kept");
}

}  // namespace
}  // namespace pare
