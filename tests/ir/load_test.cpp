#include "ir/load.h"

#include <gmock/gmock.h>

#include <fstream>

#include "ir/save.h"
#include "runtime/session.h"
#include "tests/ir/model_file.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Graph conv(int64_t opset = 13) {
  return Builder(opset).input("x", {1, 3, 8, 8}).weights("w", {4, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y").build();
}

std::string error_of(const std::string& path, ErrorKind kind = ErrorKind::input) {
  try {
    load_model(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "no error";
}

TEST(LoadModel, FilesThatAreNoModel) {
  const TestFolder folder("not_onnx");
  EXPECT_EQ(error_of(folder / "gone.onnx"), folder / "gone.onnx: no such file");
  write_file(folder / "empty.onnx", "");
  EXPECT_EQ(error_of(folder / "empty.onnx"), folder / "empty.onnx: empty file, not an ONNX model; copy or export it again");
  write_file(folder / "text.onnx", "this is a text, no model");
  EXPECT_EQ(error_of(folder / "text.onnx"), folder / "text.onnx: not an ONNX file; give a model exported to ONNX");
  const std::string whole = serialize(conv());
  write_file(folder / "cut.onnx", whole.substr(0, whole.size() - 40));
  EXPECT_EQ(error_of(folder / "cut.onnx"), folder / "cut.onnx: truncated or damaged ONNX file; copy or export it again");
  EXPECT_THAT(error_of(folder / ""), HasSubstr("is a folder"));
}

TEST(LoadModel, AModelWithoutAGraph) {
  const TestFolder folder("no_graph");
  EXPECT_EQ(error_of(written(folder / "m.onnx", conv(), [](proto::ModelProto& m) { m.clear_graph(); })),
            folder / "m.onnx: not an ONNX model: it holds no graph");
}

TEST(LoadModel, NoTruncationOfAModelIsLoaded) {
  const TestFolder folder("truncations");
  const std::string whole = serialize(conv());
  for (size_t n = 0; n < whole.size(); n += 3) {
    write_file(folder / "m.onnx", whole.substr(0, n));
    EXPECT_THROW(load_model(folder / "m.onnx"), Error) << n;
  }
}

TEST(LoadModel, Case1IrVersionOfTheFuture) {
  const TestFolder folder("ir99");
  Graph g = conv();
  g.ir_version = 99;
  EXPECT_THAT(error_of(written(folder / "m.onnx", g)), AllOf(HasSubstr("m.onnx: ONNX's checker refuses it: "), HasSubstr("99")));
}

TEST(LoadModel, Case1DomainWithoutImport) {
  const TestFolder folder("domain");
  const Graph g = Builder().input("x", {1}).node("QLinearAdd", {"x"}, {"y"}, {}, "com.microsoft").output("y").build();
  const auto forget = [](proto::ModelProto& m) { m.mutable_opset_import()->DeleteSubrange(1, 1); };
  EXPECT_THAT(error_of(written(folder / "named.onnx", g, forget)),
              EndsWith("node 'y_node' (QLinearAdd): the model imports no opset for its domain 'com.microsoft'; "
                       "add the import to the model's opset_import"));
  const auto nameless = [&](proto::ModelProto& m) { forget(m), m.mutable_graph()->mutable_node(0)->clear_name(); };
  EXPECT_THAT(error_of(written(folder / "m.onnx", g, nameless)), HasSubstr("node 'y' (QLinearAdd)"));
}

TEST(LoadModel, DomainWithoutImportInASubgraph) {
  const TestFolder folder("domain_inside");
  const Builder then_branch = Builder().node("Special", {"x"}, {"t"}, {}, "com.microsoft").output("t");
  const Builder else_branch = Builder().node("Identity", {"x"}, {"e"}).output("e");
  const Graph g =
      Builder()
          .input("x", {1})
          .input("c", {}, DType::boolean)
          .node("If", {"c"}, {"y"}, {{"then_branch", then_branch.subgraph()}, {"else_branch", else_branch.subgraph()}})
          .output("y")
          .build();
  EXPECT_THAT(error_of(written(folder / "m.onnx", g)), HasSubstr("node 't_node' (Special): the model imports no opset"));
}

TEST(LoadModel, OpsetOfTheFuture) {
  const TestFolder folder("opset");
  const auto change = [](proto::ModelProto& m) { m.mutable_opset_import(0)->set_version(99), m.set_ir_version(10); };
  EXPECT_THAT(error_of(written(folder / "m.onnx", conv(), change), ErrorKind::unsupported),
              AllOf(HasSubstr("opset 99 is newer than"), EndsWith("export the model with an older opset")));
}

TEST(LoadModel, PortsWithoutAShape) {  // ONNX Runtime loads them
  const TestFolder folder("no_shape");
  const auto forget = [](proto::ModelProto& m) {
    m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  };
  const Graph known = load_model(written(folder / "known.onnx", conv(), forget));
  EXPECT_EQ(known.outputs[0].shape(), (Shape{1, 4, 6, 6}));
  EXPECT_EQ(Session(known).outputs()[0].shape, (Shape{1, 4, 6, 6}));
  Graph g = Builder().input("x", {2, 3}).node("Special", {"x"}, {"y"}, {}, "com.microsoft").output("y").build();
  const Graph unknown = load_model(written(folder / "unknown.onnx", g, forget));
  EXPECT_FALSE(unknown.outputs[0].dims);
  save_model(unknown, folder / "again.onnx");
  EXPECT_FALSE(load_model(folder / "again.onnx").outputs[0].dims);  // no scalar was made of it
  const auto forget_type = [](proto::ModelProto& m) { m.mutable_graph()->mutable_output(0)->clear_type(); };
  EXPECT_THAT(error_of(written(folder / "m.onnx", conv(), forget_type)), HasSubstr("ONNX's checker refuses it"));
}

TEST(LoadModel, WhatTheCheckerRefuses) {
  const TestFolder folder("checker");
  Graph g = conv();
  g.nodes[0].attributes["grouup"] = int64_t{1};
  EXPECT_THAT(error_of(written(folder / "m.onnx", g)),
              AllOf(StartsWith(folder / "m.onnx: ONNX's checker refuses it: "), HasSubstr("grouup")));
  g = conv();
  g.nodes[0].inputs[1] = "gone";
  EXPECT_THAT(error_of(written(folder / "m.onnx", g)), HasSubstr("gone"));
}

TEST(LoadModel, TypesThatContradict) {
  const TestFolder folder("contradiction");
  const Graph g = Builder().input("x", {2}).weights("w", {2}).node("Add", {"x", "w"}, {"y"}).output("y").build();
  const auto change = [](proto::ModelProto& m) {
    *m.mutable_graph()->mutable_initializer(0) = to_proto("w", models::ints({1, 2}));
  };
  EXPECT_THAT(error_of(written(folder / "m.onnx", g, change)), HasSubstr("shape inference finds a contradiction"));
}

TEST(LoadModel, TensorOfTheWrongSize) {
  const TestFolder folder("size");
  const auto change = [](proto::ModelProto& m) { m.mutable_graph()->mutable_initializer(0)->set_raw_data("12345678"); };
  EXPECT_THAT(error_of(written(folder / "m.onnx", conv(), change)), HasSubstr("w"));
}

TEST(LoadModel, SparseInitializersAreRefusedByName) {
  const TestFolder folder("sparse");
  const auto change = [](proto::ModelProto& m) {
    auto* sparse = m.mutable_graph()->add_sparse_initializer();
    *sparse->mutable_values() = to_proto("thin", models::floats({1}, {1}));
    *sparse->mutable_indices() = to_proto("at", models::ints({0}));
    sparse->add_dims(4);
  };
  EXPECT_THAT(error_of(written(folder / "m.onnx", conv(), change), ErrorKind::unsupported), HasSubstr("tensor 'thin': sparse"));
}

TEST(LoadModel, NegativeDimensionsAreUnknown) {
  const TestFolder folder("negative");
  const auto change = [](proto::ModelProto& m) {
    m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
        -1);
  };
  EXPECT_FALSE(load_model(written(folder / "m.onnx", conv(), change)).inputs[0].shape().has_value());
}

TEST(LoadModel, Ir3ListsInitializersAmongTheInputs) {
  const TestFolder folder("ir3");
  const auto change = [](proto::ModelProto& m) {
    m.set_ir_version(3);
    m.mutable_opset_import(0)->set_version(8);
    proto::ValueInfoProto* w = m.mutable_graph()->add_input();
    w->set_name("w");
    w->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::FLOAT);
    for (const int64_t d : {4, 3, 3, 3}) w->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  };
  const Graph g = load_model(written(folder / "m.onnx", conv(), change));
  ASSERT_EQ(g.inputs.size(), 1U);
  EXPECT_EQ(g.inputs[0].name, "x");
  EXPECT_NE(g.constant("w"), nullptr);
  EXPECT_THAT(g.defaults, testing::ElementsAre("w"));
  save_model(g, folder / "again.onnx");
  EXPECT_EQ(load_model(folder / "again.onnx").inputs.size(), 1U);
  EXPECT_EQ(Session(g).inputs().size(), 1U);
}

/// Three Convs whose weights lie in sub/w.bin, one behind the other.
struct External {
  TestFolder folder{"external"};
  Graph graph;
  std::string weights;

  External() {
    Builder b;
    b.input("x", {1, 2, 6, 6});
    for (const char* name : {"w1", "w2", "w3"}) b.weights(name, {2, 2, 1, 1});
    graph =
        b.node("Conv", {"x", "w1"}, {"a"}).node("Conv", {"a", "w2"}, {"b"}).node("Conv", {"b", "w3"}, {"y"}).output("y").build();
    std::filesystem::create_directory(folder / "sub");
    for (const auto& [name, t] : graph.initializers)
      weights.append(reinterpret_cast<const char*>(t.raw().data()), t.raw().size()).append("pad");
    write_file(folder / "sub/w.bin", weights);
    write("sub/w.bin");
  }
  void write(const std::string& location, const std::string& offset = "", const std::string& length = "16") const {
    written(folder / "m.onnx", graph, [&](proto::ModelProto& m) {
      size_t at = 0;
      for (auto& t : *m.mutable_graph()->mutable_initializer()) {
        t.clear_raw_data();
        t.set_data_location(proto::TensorProto::EXTERNAL);
        for (const auto& [k, v] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", offset.empty() ? std::to_string(at) : offset},
                                   {"length", length}}) {
          if (v == "none") continue;
          auto* entry = t.add_external_data();
          entry->set_key(k), entry->set_value(v);
        }
        at += 19;
      }
    });
  }
};

TEST(LoadModel, Case19ExternalDataFromAnyFolder) {
  const External e;
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(load_model(e.folder / "m.onnx").initializers, e.graph.initializers);
  std::filesystem::current_path(e.folder / "sub");
  EXPECT_EQ(load_model("../m.onnx").initializers, e.graph.initializers);
  std::filesystem::current_path(e.folder / "");
  EXPECT_EQ(load_model("m.onnx").initializers, e.graph.initializers);
  std::filesystem::current_path(here);
  e.write("./sub/../sub/w.bin", "", "none");
  const Graph g = load_model(e.folder / "m.onnx");
  EXPECT_EQ(g.initializers, e.graph.initializers);
  save_model(g, e.folder / "out.onnx");
  std::filesystem::remove_all(e.folder / "sub");
  EXPECT_EQ(load_model(e.folder / "out.onnx").initializers, e.graph.initializers);
}

TEST(LoadModel, Case19ExternalDataThatIsWrong) {
  const External e;
  write_file(e.folder / "sub/w.bin", e.weights.substr(0, 2 * 19 + 15));
  const std::string m = e.folder / "m.onnx";
  const std::string bin = e.folder / "sub/w.bin";
  EXPECT_EQ(error_of(m), m + ": tensor 'w3': its external data file '" + bin + "' has 53 bytes, needs 16 from byte 38");
  std::filesystem::remove(bin);
  EXPECT_EQ(error_of(m), m + ": tensor 'w1': its external data file '" + bin + "' is missing");
  for (const char* location : {"../w.bin", "/etc/passwd", "sub/../../w.bin", "", ".."}) {
    e.write(location);
    EXPECT_EQ(error_of(m), m + ": tensor 'w1': its external data '" + location + "' lies outside the model's folder");
  }
  write_file(bin, e.weights);
  for (const char* number : {"-1", "1e3", "99999999999999999999999", "x"}) {
    e.write("sub/w.bin", number);
    EXPECT_EQ(error_of(m), m + ": tensor 'w1': its external data has the offset or length '" + number + "'");
  }
  e.write("sub/w.bin", "18446744073709551600");
  EXPECT_THAT(error_of(m), HasSubstr("needs 16 from byte 18446744073709551600"));
  e.write("sub/w.bin", "0", "12");
  EXPECT_THAT(error_of(m), HasSubstr("w1"));
}

TEST(LoadModel, Case19ExternalDataOfConstantNodes) {
  const TestFolder folder("external_constant");
  const Tensor value = models::floats({2}, {3, 4});
  const Graph g = Builder()
                      .input("x", {2})
                      .node("Constant", {}, {"c"}, {{"value", value}})
                      .node("Add", {"x", "c"}, {"y"})
                      .output("y")
                      .build();
  write_file(folder / "c.bin", {reinterpret_cast<const char*>(value.raw().data()), 8});
  written(folder / "m.onnx", g, [](proto::ModelProto& m) {
    auto* t = m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
    t->clear_raw_data(), t->set_data_location(proto::TensorProto::EXTERNAL);
    auto* entry = t->add_external_data();
    entry->set_key("location"), entry->set_value("c.bin");
  });
  EXPECT_EQ(std::get<Tensor>(load_model(folder / "m.onnx").nodes[0].attributes.at("value")), value);
}

TEST(LoadModel, Case19AFileOfMoreThan2GigabytesIsRefusedAtOnce) {
  const TestFolder folder("huge_file");
  written(folder / "m.onnx", conv());
  std::filesystem::resize_file(folder / "m.onnx", uint64_t{2200} << 20);  // sparse
  EXPECT_EQ(error_of(folder / "m.onnx", ErrorKind::unsupported),
            folder / "m.onnx: has 2306867200 bytes, allowed are less than 2147483648, the limit of one ONNX file");
}

TEST(LoadModel, Case19MoreThan2GigabytesAreRefusedAtOnce) {
  const TestFolder folder("huge");
  std::ofstream(folder / "w.bin").put('x');
  std::filesystem::resize_file(folder / "w.bin", uint64_t{2200} << 20);  // sparse
  written(folder / "m.onnx", conv(), [](proto::ModelProto& m) {
    auto* t = m.mutable_graph()->mutable_initializer(0);
    t->clear_raw_data(), t->set_data_location(proto::TensorProto::EXTERNAL), t->set_dims(0, (int64_t{2200} << 20) / 4 / 27);
    auto* entry = t->add_external_data();
    entry->set_key("location"), entry->set_value("w.bin");
  });
  EXPECT_THAT(error_of(folder / "m.onnx", ErrorKind::unsupported), HasSubstr("tensor 'w': the model's tensors exceed the 2 GB"));
}

}  // namespace
}  // namespace pare
