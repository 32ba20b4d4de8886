#include "passes/widen_half.h"

#include <gmock/gmock.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

constexpr float kHalfStep = 4e-3F;  // of sums below 4, rounded to half precision at each of three nodes

Tensor half(Shape shape, uint64_t seed, DType type = DType::f16) {
  return converted(models::random(std::move(shape), seed), type);
}

std::map<std::string, Attribute> to(DType type) { return {{"to", static_cast<int64_t>(type)}}; }

/// Half precision from end to end.
Graph half_network(int64_t opset) {
  return Builder(opset)
      .input("x", {1, 2, 6, 6}, DType::f16)
      .constant("w", half({4, 2, 3, 3}, 1))
      .constant("b", half({4}, 2))
      .node("Conv", {"x", "w", "b"}, {"c"})
      .node("Constant", {}, {"k"}, {{"value", half({4, 1, 1}, 3)}})
      .node("Mul", {"c", "k"}, {"m"})
      .node("Relu", {"m"}, {"y"})
      .output("y", DType::f16)
      .build();
}

/// As converters write it: float outside, half inside.
Graph half_inside(int64_t opset) {
  return Builder(opset)
      .input("x", {1, 2, 6, 6})
      .constant("w", half({4, 2, 3, 3}, 1))
      .node("Cast", {"x"}, {"h"}, to(DType::f16))
      .node("Conv", {"h", "w"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("Cast", {"r"}, {"y"}, to(DType::f32))
      .output("y")
      .build();
}

Attribute branch(const std::string& op, std::vector<std::string> inputs) {
  return Builder()
      .constant("k", half({2}, 4))
      .node(op, std::move(inputs), {"t"})
      .node("Add", {"t", "k"}, {"u"})
      .output("u", DType::f16)
      .subgraph();
}

const Pass kPass{"widen_half", widen_half};

TEST(WidenHalf, Widens) {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22}) {
    all.push_back({"ends", half_network(opset), "Constant Cast Conv Mul Relu Cast", "", kHalfStep});
    all.push_back({"inside", half_inside(opset), "Cast Conv Relu", "", kHalfStep});
    all.push_back({"weights_only",
                   Builder(opset)
                       .input("x", {1, 2, 6, 6})
                       .constant("h", half({4, 2, 3, 3}, 1))
                       .node("Cast", {"h"}, {"w"}, to(DType::f32))
                       .node("Conv", {"x", "w"}, {"y"})
                       .output("y")
                       .build(),
                   "Cast Conv"});
  }
  all.push_back({"stated_types",
                 Builder(13)
                     .input("x", {3, 3})
                     .constant("n", models::ints({3, 3}))
                     .node("ConstantOfShape", {"n"}, {"e"}, {{"value", half({1}, 1)}})
                     .node("Cast", {"x"}, {"h"}, to(DType::f16))
                     .node("MatMul", {"h", "e"}, {"m"})
                     .node("Cast", {"m"}, {"y"}, to(DType::f32))
                     .output("y")
                     .build(),
                 "ConstantOfShape Cast MatMul", "", kHalfStep});
  all.push_back({"subgraphs",
                 Builder()
                     .input("x", {2}, DType::f16)
                     .input("c", {}, DType::boolean)
                     .node("If", {"c"}, {"y"}, {{"then_branch", branch("Neg", {"x"})}, {"else_branch", branch("Abs", {"x"})}})
                     .output("y", DType::f16)
                     .build(),
                 "Cast If Cast", "", kHalfStep});
  all.push_back({"an_output_that_is_read",
                 Builder()
                     .input("x", {2}, DType::f16)
                     .node("Neg", {"x"}, {"a"})
                     .node("Abs", {"a"}, {"b"})
                     .output("a", DType::f16)
                     .output("b", DType::f16)
                     .build(),
                 "Cast Neg Abs Cast Cast", "", 1e-9F});
  all.push_back({"a_weight_that_is_an_output",
                 Builder()
                     .input("x", {2}, DType::f16)
                     .constant("w", half({2}, 1))
                     .node("Add", {"x", "w"}, {"y"})
                     .output("y", DType::f16)
                     .output("w", DType::f16)
                     .build(),
                 "Cast Add Cast Cast", "", kHalfStep});
  for (const PassCase& c : all) expect(c, kPass);
}

TEST(WidenHalf, KeepsNamesAndTypesOfThePorts) {
  Log log;
  const Graph after = run_passes(half_network(13), std::span(&kPass, 1), {}, log);
  EXPECT_EQ(after.inputs.front().type, DType::f16);
  EXPECT_EQ(after.inputs.front().name, "x");
  EXPECT_EQ(after.outputs.front().type, DType::f16);
  EXPECT_EQ(after.outputs.front().name, "y");
  EXPECT_EQ(after.value("c")->type, DType::f32);
  EXPECT_EQ(log.size(), 1U);
}

TEST(WidenHalf, TypesStatedByOperators) {  // of which the runtime has no half kernels to compare with
  Log log;
  const Graph given = Builder(17)
                          .input("x", {3, 3})
                          .node("EyeLike", {"x"}, {"e"}, {{"dtype", int64_t{10}}})
                          .node("RandomNormalLike", {"x"}, {"r"}, {{"dtype", int64_t{10}}})
                          .constant("n", Tensor::scalar<int64_t>(3))
                          .node("HannWindow", {"n"}, {"h"}, {{"output_datatype", int64_t{10}}})
                          .node("Sum", {"e", "r", "h"}, {"s"})
                          .node("Cast", {"s"}, {"y"}, to(DType::f32))
                          .output("y")
                          .build();
  const Graph after = run_passes(given, std::span(&kPass, 1), {}, log);
  EXPECT_EQ(models::ops(after), "EyeLike RandomNormalLike HannWindow Sum");
  for (const char* name : {"e", "r", "h"}) EXPECT_EQ(after.value(name)->type, DType::f32) << name;
}

TEST(WidenHalf, BrainFloatsToo) {  // the runtime has no kernels to compare with
  Log log;
  const Graph given = Builder()
                          .input("x", {2}, DType::bf16)
                          .constant("w", half({2}, 1, DType::bf16))
                          .node("Add", {"x", "w"}, {"y"})
                          .output("y", DType::bf16)
                          .build();
  const Graph after = run_passes(given, std::span(&kPass, 1), {}, log);
  EXPECT_EQ(models::ops(after), "Cast Add Cast");
  EXPECT_EQ(to_floats(after.initializers.at("w")), to_floats(given.initializers.at("w")));
  EXPECT_EQ(after.nodes.back().attribute<int64_t>("to", 0), int64_t{16});
}

TEST(WidenHalf, LeavesWhatIsWide) {
  std::vector<PassCase> all;
  all.push_back({"float", Builder().input("x", {2}).node("Neg", {"x"}, {"y"}).output("y").build(), "Neg"});
  all.push_back({"casts_at_the_ends",
                 Builder()
                     .input("x", {2}, DType::f16)
                     .node("Cast", {"x"}, {"f"}, to(DType::f32))
                     .node("Neg", {"f"}, {"n"})
                     .node("Cast", {"n"}, {"y"}, to(DType::f16))
                     .output("y", DType::f16)
                     .build(),
                 "Cast Neg Cast"});
  all.push_back(
      {"input_is_output",
       Builder().input("x", {2}, DType::f16).node("Shape", {"x"}, {"s"}).output("x", DType::f16).output("s", DType::i64).build(),
       "Cast Shape"});
  for (const PassCase& c : all) expect(c, kPass);
}

TEST(WidenHalf, ASecondRunChangesNothing) {
  Log log;
  const Graph once = run_passes(half_network(13), std::span(&kPass, 1), {}, log);
  log.clear();
  EXPECT_EQ(models::text(run_passes(once, std::span(&kPass, 1), {}, log)), models::text(once));
  EXPECT_TRUE(log.empty());
}

TEST(WidenHalf, LeavesWhatItCannotRead) {
  Graph functions = half_network(13);
  functions.functions = "kept";
  Graph attribute = half_network(13);
  attribute.nodes[0].attributes["values"] = OpaqueAttribute{"bytes"};
  Graph sequence = half_network(13);
  sequence.outputs[0].opaque = "sequence";
  for (const auto& [given, why] :
       {std::pair{functions, "functions of its own"}, {attribute, "its attribute 'values'"}, {sequence, "'y' is no tensor"}}) {
    Log log;
    const Graph after = widen_half(given, {}, log);
    EXPECT_EQ(models::text(after), models::text(given));
    ASSERT_EQ(log.size(), 1U);
    EXPECT_EQ(log[0].what, "kept");
    EXPECT_THAT(log[0].why, testing::HasSubstr(why));
  }
}

}  // namespace
}  // namespace pare
