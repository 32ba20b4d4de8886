#include <gmock/gmock.h>

#include "ir/load.h"
#include "ir/save.h"
#include "tests/ir/model_file.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;

Graph reloaded(const Graph& graph) {
  const TestFolder folder("round_trip");
  save_model(graph, folder / "m.onnx");
  return load_model(folder / "m.onnx");
}

TEST(RoundTrip, AttributesOfEachKind) {
  Graph g = Builder(13).input("x", {2}).node("Special", {"x"}, {"y"}, {}, "com.example").output("y").build();
  g.outputs[0].dims = g.inputs[0].dims;
  auto& a = g.nodes[0].attributes;
  proto::AttributeProto tensors;
  tensors.set_name("tensors"), tensors.set_type(proto::AttributeProto::TENSORS);
  *tensors.add_tensors() = to_proto("one", models::floats({1}, {1}));
  a = {{"int", int64_t{-7}},
       {"float", 0.1F},
       {"string", std::string("a\0b", 3)},
       {"tensor", models::ints({1, 2})},
       {"ints", std::vector<int64_t>{3, -4}},
       {"no_ints", std::vector<int64_t>{}},
       {"floats", std::vector<float>{0.5F, -0.F}},
       {"strings", std::vector<std::string>{"a", "", "c"}},
       {"tensors", OpaqueAttribute{tensors.SerializeAsString()}}};
  g.nodes[0].doc = "what it does";
  const Graph after = reloaded(g);
  EXPECT_EQ(after.nodes[0].attributes, a);
  EXPECT_EQ(after.nodes[0].doc, "what it does");
  EXPECT_EQ(after.nodes[0].domain, "com.example");
  EXPECT_EQ(after.nodes[0].name, g.nodes[0].name);
}

TEST(RoundTrip, Subgraphs) {
  Builder then_branch = Builder().weights("inner", {2}).node("Add", {"x", "inner"}, {"t"}).output("t");
  const Builder else_branch = Builder().node("Identity", {"x"}, {"e"}).output("e");
  Graph body = *std::get<std::shared_ptr<const Graph>>(then_branch.subgraph());
  body.doc = "the branch";
  Graph g = Builder()
                .input("x", {2})
                .input("c", {}, DType::boolean)
                .node("If", {"c"}, {"y"},
                      {{"then_branch", std::shared_ptr<const Graph>(std::make_shared<Graph>(body))},
                       {"else_branch", else_branch.subgraph()}})
                .output("y")
                .build();
  const Graph after = reloaded(g);
  EXPECT_EQ(serialize(after), serialize(g));
  const auto inner = std::get<std::shared_ptr<const Graph>>(after.nodes[0].attributes.at("then_branch"));
  EXPECT_EQ(inner->initializers, body.initializers);
  EXPECT_EQ(inner->doc, "the branch");
  EXPECT_EQ(models::text(*inner), "Add(x, inner) -> t");
}

TEST(RoundTrip, WhatBelongsToTheModel) {
  Graph g = Builder(17).input("x", {-1, 3}).node("Relu", {"x"}, {"y"}).output("y").build();
  g.metadata = {{"z", "1"}, {"names", "{0: 'cat'}"}, {"empty", ""}};
  g.producer = "exporter", g.producer_version = "2.1", g.domain = "org.example", g.model_version = 12;
  g.doc = "a graph", g.model_doc = "a model", g.name = "net";
  g.opsets["ai.onnx.ml"] = 3;
  g.nodes[0].metadata = {{"namespace", "head/relu"}}, g.nodes[0].overload = "a";
  const Graph after = reloaded(g);
  EXPECT_EQ(after.metadata, g.metadata);
  EXPECT_EQ(after.producer, g.producer);
  EXPECT_EQ(after.producer_version, g.producer_version);
  EXPECT_EQ(after.domain, g.domain);
  EXPECT_EQ(after.model_version, 12);
  EXPECT_EQ(after.doc, "a graph");
  EXPECT_EQ(after.model_doc, "a model");
  EXPECT_EQ(after.name, "net");
  EXPECT_EQ(after.opsets, g.opsets);
  EXPECT_EQ(after.nodes[0].metadata, g.nodes[0].metadata);
  EXPECT_EQ(after.nodes[0].overload, "a");
  EXPECT_EQ(after.ir_version, 8);
  EXPECT_EQ(after.inputs[0].dims, g.inputs[0].dims);
}

TEST(RoundTrip, LocalFunctions) {
  const TestFolder folder("functions");
  Graph g = Builder(17).input("x", {2}).node("Twice", {"x"}, {"y"}, {}, "local").output("y").build();
  g.outputs[0].dims = g.inputs[0].dims;
  const auto add = [](proto::ModelProto& m) {
    auto* f = m.add_functions();
    f->set_name("Twice"), f->set_domain("local"), f->add_input("a"), f->add_output("b");
    auto* o = f->add_opset_import();
    o->set_domain(""), o->set_version(17);
    auto* n = f->add_node();
    n->set_op_type("Add"), n->add_input("a"), n->add_input("a"), n->add_output("b");
  };
  const Graph loaded = load_model(written(folder / "m.onnx", g, add));
  EXPECT_EQ(to_proto(reloaded(loaded)).functions(0).SerializeAsString(), to_proto(loaded).functions(0).SerializeAsString());
  EXPECT_EQ(to_proto(loaded).functions_size(), 1);
}

TEST(RoundTrip, TensorsOfEveryKind) {
  proto::TensorProto strings;
  strings.set_data_type(proto::TensorProto::STRING), strings.add_dims(2), strings.set_name("s");
  strings.add_string_data("a"), strings.add_string_data("");
  proto::TensorProto half;  // 1 and -2 in the typed field
  half.set_data_type(proto::TensorProto::FLOAT16), half.add_dims(2), half.set_name("h");
  half.add_int32_data(0x3C00), half.add_int32_data(0xC000);
  proto::TensorProto small;
  small.set_data_type(proto::TensorProto::INT8), small.add_dims(3), small.set_name("i");
  for (const int v : {-128, 0, 127}) small.add_int32_data(v);
  proto::TensorProto fp8;
  fp8.set_data_type(proto::TensorProto::FLOAT8E4M3FN), fp8.add_dims(2), fp8.set_name("f"), fp8.set_raw_data("\x38\x40");
  proto::TensorProto wide;
  wide.set_data_type(proto::TensorProto::UINT64), wide.add_dims(1), wide.set_name("u"), wide.add_uint64_data(UINT64_MAX);
  proto::TensorProto yes;
  yes.set_data_type(proto::TensorProto::BOOL), yes.add_dims(2), yes.set_name("b"), yes.add_int32_data(1), yes.add_int32_data(0);

  const TestFolder folder("kinds");
  const Graph base = Builder(19).input("x", {1}).node("Relu", {"x"}, {"y"}).output("y").build();
  const auto add = [&](proto::ModelProto& m) {
    for (const auto& t : {strings, half, small, fp8, wide, yes}) *m.mutable_graph()->add_initializer() = t;
  };
  const Graph g = load_model(written(folder / "m.onnx", base, add));
  EXPECT_THAT(to_floats(*g.constant("h")), testing::ElementsAre(1, -2));
  EXPECT_THAT(to_ints(*g.constant("i")), testing::ElementsAre(-128, 0, 127));
  EXPECT_THAT(to_ints(*g.constant("b")), testing::ElementsAre(1, 0));
  EXPECT_EQ(to_proto("s", *g.constant("s")).SerializeAsString(), strings.SerializeAsString());
  EXPECT_EQ(to_proto("f", *g.constant("f")).SerializeAsString(), fp8.SerializeAsString());
  EXPECT_EQ(to_proto("u", *g.constant("u")).raw_data(), std::string(8, '\xFF'));
  EXPECT_EQ(reloaded(g).initializers, g.initializers);
}

}  // namespace
}  // namespace pare
