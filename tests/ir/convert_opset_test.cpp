#include "ir/convert_opset.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "ir/check.h"
#include "ir/load.h"
#include "runtime/session.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;

/// The lines of a golden file: name, rank, shape, values.
std::map<std::string, Tensor> golden(const std::string& name) {
  std::ifstream in(std::string(PARE_GOLDEN) + "/" + name + ".txt");
  std::map<std::string, Tensor> tensors;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string tensor, word;
    size_t rank = 0;
    words >> tensor >> rank;
    Shape shape(rank);
    for (int64_t& d : shape) words >> d;
    std::vector<float> values;
    while (words >> word) values.push_back(std::strtof(word.c_str(), nullptr));
    tensors[tensor] = Tensor::of<float>(shape, values);
  }
  return tensors;
}

/// The model of tests/golden/ir, raised to opset 13, gives what ONNX Runtime made of the original.
void expect_same_outputs(const std::string& name) {
  SCOPED_TRACE(name);
  const auto wanted = golden(name);
  const Graph graph = convert_opset(load_model(std::string(PARE_GOLDEN) + "/" + name + ".onnx"), 13);
  EXPECT_EQ(graph.opset(), 13);
  EXPECT_EQ(graph.ir_version, 7);
  check_structure(graph);
  Session session(graph, {.threads = 1, .optimize = false});
  const auto results = session.run({{"x", wanted.at("x")}});
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& w = wanted.at(session.outputs()[i].name);
    ASSERT_EQ(results[i].shape(), w.shape());
    for (size_t k = 0; k < w.as<float>().size(); ++k) ASSERT_NEAR(results[i].as<float>()[k], w.as<float>()[k], 1e-6) << k;
  }
}

TEST(ConvertOpset, OutputsStayThoseOfTheOriginal) {
  for (const char* name : {"softmax11_no_axis",
                           "softmax9_axis1",
                           "softmax12_axis2",
                           "softmax11_last",
                           "log_softmax10",
                           "hardmax11_last",
                           "squeeze9",
                           "squeeze11_negative",
                           "reduce_sum11",
                           "reduce_mean10",
                           "split11",
                           "clip9",
                           "clip10_max",
                           "clip11",
                           "dropout9",
                           "upsample9_nearest",
                           "upsample9_linear",
                           "resize10_nearest",
                           "resize10_down",
                           "resize10_linear",
                           "resize11",
                           "pad10",
                           "pad11",
                           "slice9",
                           "batch_norm9",
                           "topk10",
                           "numbers10"})
    expect_same_outputs(name);
}

TEST(ConvertOpset, Case1SoftmaxWithoutAxisFlattens) {
  const Graph graph = Builder(11).input("x", {1, 2, 3}).node("Softmax", {"x"}, {"y"}).output("y").build();
  const auto y = Session(convert_opset(graph, 13)).run({{"x", Tensor(DType::f32, {1, 2, 3})}})[0];
  for (const float v : y.as<float>()) EXPECT_FLOAT_EQ(v, 1.F / 6);
}

TEST(ConvertOpset, KeepsNamesMetadataAndOtherDomains) {
  Graph graph = Builder(11)
                    .input("image", {1, 3, 4, 4})
                    .weights("w", {2, 3, 1, 1})
                    .node("Conv", {"image", "w"}, {"features"})
                    .node("Softmax", {"features"}, {"scores"})
                    .output("scores")
                    .build();
  graph.metadata = {{"names", "{0: 'a'}"}};
  graph.producer = "test";
  graph.opsets["ai.onnx.ml"] = 2;
  const Graph after = convert_opset(graph, 13);
  EXPECT_EQ(after.metadata, graph.metadata);
  EXPECT_EQ(after.producer, "test");
  EXPECT_EQ(after.opsets.at("ai.onnx.ml"), 2);
  EXPECT_EQ(after.inputs.size(), 1U);
  EXPECT_EQ(after.inputs[0].name, "image");
  EXPECT_EQ(after.outputs[0].name, "scores");
  EXPECT_EQ(after.nodes[0].name, "features_node");
  EXPECT_EQ(*after.constant("w"), *graph.constant("w"));
}

TEST(ConvertOpset, TheSameOpsetChangesNothing) {
  const Graph graph = Builder(13).input("x", {2}).node("Relu", {"x"}, {"y"}).output("y").build();
  EXPECT_EQ(models::text(convert_opset(graph, 13)), models::text(graph));
}

Graph branch(const std::string& op, int64_t opset) {
  const Builder then_branch = Builder(opset).node(op, {"x"}, {"t"}).output("t");
  const Builder else_branch = Builder(opset).node("Identity", {"x"}, {"e"}).output("e");
  return Builder(opset)
      .input("x", {1, 2, 3})
      .input("c", {}, DType::boolean)
      .node("If", {"c"}, {"y"}, {{"then_branch", then_branch.subgraph()}, {"else_branch", else_branch.subgraph()}})
      .output("y")
      .build();
}

TEST(ConvertOpset, SubgraphsAreConvertedOrRefusedNeverReinterpreted) {
  const Feeds feeds{{"x", Tensor(DType::f32, {1, 2, 3})}, {"c", Tensor::of<bool>({}, std::array<bool, 1>{true})}};
  try {
    const auto y = Session(convert_opset(branch("Softmax", 11), 13)).run(feeds)[0];
    for (const float v : y.as<float>()) EXPECT_FLOAT_EQ(v, 1.F / 6);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(
        e.what(),
        "cannot be converted from opset 11 to 13: the meaning of Softmax changes, and it stands in a subgraph of node 'y_node' "
        "(If); export the model with opset 13 or later");
  }
  EXPECT_EQ(convert_opset(branch("Relu", 11), 13).opset(), 13);
}

TEST(ConvertOpset, HardmaxOverAnInnerAxisIsRefused) {
  EXPECT_THROW(convert_opset(Builder(11).input("x", {1, 2, 3}).node("Hardmax", {"x"}, {"y"}).output("y").build(), 13), Error);
}

TEST(ConvertOpset, ScanWithABatchAxisIsRefused) {
  Builder body = Builder(8).input("s", {2}).input("e", {2}).node("Add", {"s", "e"}, {"t"}).output("t");
  const Graph g = Builder(8)
                      .input("i", {1, 2})
                      .input("x", {1, 3, 2})
                      .node("Scan", {"", "i", "x"}, {"y"}, {{"body", body.subgraph()}, {"num_scan_inputs", int64_t{1}}})
                      .output("y")
                      .build();
  try {
    convert_opset(g, 13);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the meaning of Scan changes"));
  }
}

TEST(ConvertOpset, SaysWhatItCannotConvert) {
  try {
    convert_opset(Builder(8).input("x", {2}).input("s", {1}).node("Upsample", {"x", "s"}, {"y"}).output("y").build(), 13);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_THAT(e.what(), testing::StartsWith("cannot be converted from opset 8 to 13: "));
    EXPECT_EQ(e.advice(), "export the model with opset 13 or later");
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace pare
