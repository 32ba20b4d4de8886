#include "quantize/insert_qdq.h"

#include <gmock/gmock.h>

#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;
using testing::HasSubstr;

/// A quantized tensor with these numbers; the group is its own.
TensorPlan tensor(float scale, int zero_point = 0, DType type = DType::u8) {
  TensorPlan t;
  t.quantized = true;
  t.params = {scale, zero_point};
  t.type = type;
  return t;
}

/// All nodes integer, these tensors quantized.
Plan plan_of_all(const Graph& graph, const std::map<std::string, TensorPlan>& tensors) {
  Plan plan;
  plan.tensors = tensors;
  for (const Node& node : graph.nodes) plan.nodes[node.outputs.front()] = {node.op_type, true, ""};
  return plan;
}

Graph written(const Graph& graph, const Plan& plan) {
  Log log;
  return insert_qdq(graph, plan, log);
}

struct StructureCase {
  std::string name;
  Graph graph;
  std::vector<std::string> tensors;      ///< quantized
  std::vector<std::string> float_nodes;  ///< by first output
  std::string text;
};

Builder conv(int64_t opset = 14) {
  return Builder(opset).input("x", {1, 2, 4, 4}).weights("w", {2, 2, 1, 1}).node("Conv", {"x", "w"}, {"y"});
}

const std::string kX =
    "QuantizeLinear(x, x_scale, x_zero_point) -> x_quantized; "
    "DequantizeLinear(x_quantized, x_scale, x_zero_point) -> x_dequantized; ";
const std::string kW = "DequantizeLinear(w_quantized, w_scale, w_zero_point) -> w_dequantized; ";

std::string q(const std::string& tensor, const std::string& source = "") {
  return "QuantizeLinear(" + (source.empty() ? tensor : source) + ", " + tensor + "_scale, " + tensor + "_zero_point) -> " +
         tensor + "_quantized";
}
std::string dq(const std::string& tensor, const std::string& target) {
  return "DequantizeLinear(" + tensor + "_quantized, " + tensor + "_scale, " + tensor + "_zero_point) -> " + target;
}

std::vector<std::string> sorted_text(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find("; ", at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

std::vector<StructureCase> cases() {
  std::vector<StructureCase> all;
  all.push_back({"output_made_by_an_integer_node",
                 conv().output("y").build(),
                 {"x", "y"},
                 {},
                 kX + kW + "Conv(x_dequantized, w_dequantized) -> y_float; " + q("y", "y_float") + "; " + dq("y", "y")});
  all.push_back({"float_reader_behind",
                 conv().node("HardSwish", {"y"}, {"z"}).output("z").build(),
                 {"x", "y"},
                 {"z"},
                 kX + kW + "Conv(x_dequantized, w_dequantized) -> y; " + q("y") + "; " + dq("y", "y_dequantized") +
                     "; HardSwish(y_dequantized) -> z"});
  all.push_back({"output_that_is_read_inside_too",
                 conv().node("HardSwish", {"y"}, {"z"}).output("y").output("z").build(),
                 {"x", "y"},
                 {"z"},
                 kX + kW + "Conv(x_dequantized, w_dequantized) -> y_float; " + q("y", "y_float") + "; " + dq("y", "y") +
                     "; HardSwish(y) -> z"});
  all.push_back({"input_that_a_float_node_reads_too",
                 conv().node("HardSwish", {"x"}, {"z"}).node("HardSwish", {"y"}, {"v"}).output("v").output("z").build(),
                 {"x", "y"},
                 {"z", "v"},
                 kX + kW + "Conv(x_dequantized, w_dequantized) -> y; " + q("y") + "; " + dq("y", "y_dequantized") +
                     "; HardSwish(x) -> z; HardSwish(y_dequantized) -> v"});
  all.push_back({"float_output_read_by_an_integer_node",
                 Builder(14)
                     .input("i", {1, 2, 4, 4})
                     .weights("w", {2, 2, 1, 1})
                     .node("HardSwish", {"i"}, {"x"})
                     .node("Conv", {"x", "w"}, {"y"})
                     .output("x")
                     .output("y")
                     .build(),
                 {"x", "y"},
                 {"x"},
                 "HardSwish(i) -> x; " + kX + kW + "Conv(x_dequantized, w_dequantized) -> y_float; " + q("y", "y_float") + "; " +
                     dq("y", "y")});
  all.push_back(
      {"relu_absorbed",
       conv().node("Relu", {"y"}, {"r"}).output("r").build(),
       {"x", "r"},
       {},
       kX + kW + "Conv(x_dequantized, w_dequantized) -> y; Relu(y) -> r_float; " + q("r", "r_float") + "; " + dq("r", "r")});
  all.push_back({"shared_weight",
                 conv().node("Conv", {"y", "w"}, {"z"}).output("z").build(),
                 {"x", "y", "z"},
                 {},
                 kX + kW + "Conv(x_dequantized, w_dequantized) -> y; " + q("y") + "; " + dq("y", "y_dequantized") +
                     "; Conv(y_dequantized, w_dequantized) -> z_float; " + q("z", "z_float") + "; " + dq("z", "z")});
  all.push_back({"constant_of_an_add",
                 conv().constant("c", floats({1}, {3})).node("Add", {"y", "c"}, {"z"}).output("z").build(),
                 {"x", "y", "z"},
                 {},
                 kX + kW + "DequantizeLinear(c_quantized, c_scale, c_zero_point) -> c_dequantized; " +
                     "Conv(x_dequantized, w_dequantized) -> y; " + q("y") + "; " + dq("y", "y_dequantized") +
                     "; Add(y_dequantized, c_dequantized) -> z_float; " + q("z", "z_float") + "; " + dq("z", "z")});
  all.push_back({"nothing", conv().output("y").build(), {}, {"y"}, "Conv(x, w) -> y"});
  return all;
}

TEST(InsertQdq, Structure) {
  for (const StructureCase& c : cases()) {
    SCOPED_TRACE(c.name);
    std::map<std::string, TensorPlan> tensors;
    for (const std::string& name : c.tensors) tensors[name] = tensor(.1F);
    Plan plan = plan_of_all(c.graph, tensors);
    for (const std::string& name : c.float_nodes) plan.nodes.at(name).integer = false;
    const Graph g = written(c.graph, plan);
    EXPECT_EQ(sorted_text(models::text(g)), sorted_text(c.text));
    ASSERT_EQ(g.inputs.size(), c.graph.inputs.size());
    for (size_t i = 0; i < g.inputs.size(); ++i) EXPECT_EQ(g.inputs[i].name, c.graph.inputs[i].name);
    ASSERT_EQ(g.outputs.size(), c.graph.outputs.size());
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      EXPECT_EQ(g.outputs[i].name, c.graph.outputs[i].name);
      EXPECT_EQ(g.outputs[i].type, DType::f32);
      EXPECT_EQ(g.outputs[i].dims, c.graph.outputs[i].dims);
    }
    if (!c.tensors.empty()) {
      EXPECT_FALSE(g.initializers.contains("w"));  // no float copy stays in the file
    }
    EXPECT_NO_THROW(Session{g});
  }
}

TEST(InsertQdq, NumbersOfActivations) {
  const Graph given = conv().output("y").build();
  for (const DType type : {DType::u8, DType::i8}) {
    const Graph g = written(given, plan_of_all(given, {{"x", tensor(.25F, 7, type)}, {"y", tensor(.5F, 9, type)}}));
    EXPECT_EQ(*g.constant("x_scale"), Tensor::scalar(.25F));
    EXPECT_EQ(*g.constant("x_zero_point"), type == DType::u8 ? Tensor::scalar(uint8_t{7}) : Tensor::scalar(int8_t{7}));
    EXPECT_EQ(*g.constant("y_scale"), Tensor::scalar(.5F));
    EXPECT_EQ(to_ints(*g.constant("y_zero_point"))[0], 9);
  }
}

TEST(InsertQdq, AGroupSharesItsConstants) {
  const Graph given = Builder(13)
                          .input("x", {1, 2, 4, 4})
                          .node("Transpose", {"x"}, {"t"}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}})
                          .output("t")
                          .build();
  Plan plan = plan_of_all(given, {{"x", tensor(.25F, 7)}, {"t", tensor(.25F, 7)}});
  for (auto& [name, t] : plan.tensors) t.group = "x";
  EXPECT_EQ(written(given, plan).initializers.size(), 2U);
  plan.tensors.at("t").params.scale = .5F;  // an edited plan may break a group
  EXPECT_EQ(written(given, plan).initializers.size(), 4U);
}

TEST(InsertQdq, ConstantsOfArithmeticAreIntegers) {
  const Graph given = Builder(13)
                          .input("x", {1, 2, 4, 4})
                          .constant("c", floats({2, 1, 1}, {-1, 3}))
                          .constant("zero", Tensor::scalar(0.F))
                          .node("Mul", {"c", "x"}, {"m"})
                          .node("Add", {"m", "zero"}, {"y"})
                          .output("y")
                          .build();
  const Graph g = written(given, plan_of_all(given, {{"x", tensor(.1F)}, {"m", tensor(.1F)}, {"y", tensor(.1F)}}));
  EXPECT_EQ(g.constant("c_quantized")->type(), DType::u8);
  EXPECT_EQ(g.constant("c_quantized")->shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(to_ints(*g.constant("c_quantized")), (std::vector<int64_t>{0, 255}));
  EXPECT_FLOAT_EQ(g.constant("c_scale")->as<float>()[0], 4.F / 255);
  EXPECT_EQ(to_ints(*g.constant("c_zero_point"))[0], 64);
  EXPECT_EQ(to_ints(*g.constant("zero_quantized")), to_ints(*g.constant("zero_zero_point")));
}

TEST(InsertQdq, AConstantThatServesManyNodesIsWrittenOnce) {
  const Graph given = Builder(13)
                          .input("x", {1, 2, 4, 4})
                          .constant("c", floats({2, 1, 1}, {-1, 3}))
                          .node("Mul", {"x", "c"}, {"m"})
                          .node("Add", {"m", "c"}, {"y"})
                          .output("y")
                          .build();
  const Graph g = written(given, plan_of_all(given, {{"x", tensor(.1F)}, {"m", tensor(.1F)}, {"y", tensor(.1F)}}));
  int copies = 0;
  for (const auto& [name, t] : g.initializers) copies += t.shape() == Shape{2, 1, 1} ? 1 : 0;
  EXPECT_EQ(copies, 1);
}

TEST(InsertQdq, NamesThatAreTakenAreAvoided) {
  const Graph given = conv()
                          .node("HardSwish", {"x"}, {"y_float"})
                          .node("HardSwish", {"x"}, {"x_quantized"})
                          .output("y")
                          .output("y_float")
                          .output("x_quantized")
                          .build();
  Plan plan = plan_of_all(given, {{"x", tensor(.1F)}, {"y", tensor(.1F)}});
  plan.nodes.at("y_float").integer = plan.nodes.at("x_quantized").integer = false;
  EXPECT_NO_THROW(Session(written(given, plan)));
}

TEST(InsertQdq, ASubgraphThatReadsAnIntegerTensorStillFindsIt) {
  const auto body = [](const std::string& op, const std::string& out) {
    return Builder(14).node(op, {"y"}, {out}).output(out).subgraph();
  };
  const Graph given =
      conv(14)
          .input("which", {}, DType::boolean)
          .node("If", {"which"}, {"z"}, {{"then_branch", body("HardSwish", "t")}, {"else_branch", body("Neg", "e")}})
          .output("y")
          .output("z")
          .build();
  Plan plan = plan_of_all(given, {{"x", tensor(.1F)}, {"y", tensor(.1F)}});
  plan.nodes.at("z").integer = false;
  Session session(written(given, plan));
  const auto results = session.run({{"x", models::random({1, 2, 4, 4}, 1)}, {"which", Tensor(DType::boolean, {})}});
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(results[1].as<float>()[i], -results[0].as<float>()[i]);
}

}  // namespace
}  // namespace pare
