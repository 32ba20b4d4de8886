#include "passes/fold_constants.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;

std::map<std::string, Attribute> constant(const std::string& kind, Attribute value) { return {{kind, std::move(value)}}; }

Tensor half(int64_t count) {
  Tensor t(DType::f16, {count});
  for (std::byte& b : t.raw_write()) b = std::byte{0x3C};  // 0x3C3C = 1.059
  return t;
}

Attribute branch(const std::string& op, std::vector<std::string> inputs) {
  return Builder().node(op, std::move(inputs), {"t"}).output("t").subgraph();
}

std::vector<PassCase> folding() {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22})
    all.push_back({"shape_chain_" + std::to_string(opset),
                   Builder(opset)
                       .input("x", {2, 3, 4})
                       .constant("zero", ints({0}))
                       .constant("rest", ints({-1}))
                       .node("Shape", {"x"}, {"s"})
                       .node("Gather", {"s", "zero"}, {"first"})
                       .node("Concat", {"first", "rest"}, {"target"}, {{"axis", int64_t{0}}})
                       .node("Reshape", {"x", "target"}, {"y"})
                       .output("y")
                       .build(),
                   "Reshape"});
  const auto one = [](const std::string& kind, Attribute value) {
    return Builder()
        .input("x", {2})
        .node("Constant", {}, {"c"}, constant(kind, std::move(value)))
        .node("Cast", {"c"}, {"f"}, {{"to", int64_t{1}}})
        .node("Add", {"x", "f"}, {"y"})
        .output("y")
        .build();
  };
  all.push_back({"value", one("value", floats({2}, {1, 2})), "Add"});
  all.push_back({"value_float", one("value_float", 0.5F), "Add"});
  all.push_back({"value_floats", one("value_floats", std::vector<float>{1, 2}), "Add"});
  all.push_back({"value_int", one("value_int", int64_t{3}), "Add"});
  all.push_back({"value_ints", one("value_ints", std::vector<int64_t>{3, 4}), "Add"});
  all.push_back({"size",
                 Builder()
                     .input("x", {2, 3})
                     .node("Size", {"x"}, {"n"})
                     .node("Cast", {"n"}, {"f"}, {{"to", int64_t{1}}})
                     .node("Mul", {"x", "f"}, {"y"})
                     .output("y")
                     .build(),
                 "Mul"});
  for (const auto& [start, end] : {std::pair{1, 3}, std::pair{-2, 9}, std::pair{-9, -1}, std::pair{0, 1}})
    all.push_back({"shape_start_end",
                   Builder(15)
                       .input("x", {2, 3, 5})
                       .node("Shape", {"x"}, {"s"}, {{"start", int64_t{start}}, {"end", int64_t{end}}})
                       .node("Cast", {"s"}, {"f"}, {{"to", int64_t{1}}})
                       .node("ReduceSum", {"f"}, {"n"})
                       .node("Mul", {"x", "n"}, {"y"})
                       .output("y")
                       .build(),
                   "Mul"});
  for (const bool slice : {false, true}) {  // the batch is free, the channels are not
    Builder b(13);
    b.input("x", {-1, 6, 4})
        .constant("one", ints({1}))
        .constant("two", ints({2}))
        .constant("zero", ints({0}))
        .node("Shape", {"x"}, {"s"});
    if (slice)
      b.node("Slice", {"s", "one", "two", "zero"}, {"c"});
    else
      b.constant("at", ints({-2})).node("Gather", {"s", "at"}, {"c"});
    all.push_back({slice ? "slice_of_known_dims" : "gather_of_a_known_dim",
                   b.node("Div", {"c", "two"}, {"end"}).node("Slice", {"x", "zero", "end", "one"}, {"y"}).output("y").build(),
                   "Slice"});
  }
  all.push_back({"gather_of_one_number",
                 Builder()
                     .input("x", {-1, 3})
                     .constant("at", Tensor::scalar<int64_t>(1))
                     .node("Shape", {"x"}, {"s"})
                     .node("Gather", {"s", "at"}, {"n"})
                     .node("Cast", {"n"}, {"f"}, {{"to", int64_t{1}}})
                     .node("Mul", {"x", "f"}, {"y"})
                     .output("y")
                     .build(),
                 "Mul"});
  all.push_back({"split_with_one_unused",
                 Builder()
                     .input("x", {2})
                     .constant("c", floats({4}, {1, 2, 3, 4}))
                     .node("Split", {"c"}, {"a", "b"})
                     .node("Add", {"x", "b"}, {"y"})
                     .output("y")
                     .build(),
                 "Add"});
  all.push_back({"half_weights_widened_beyond_the_limit",  // case 18
                 Builder()
                     .input("x", {1})
                     .constant("h", half(1 << 20))
                     .node("Cast", {"h"}, {"w"}, {{"to", int64_t{1}}})
                     .node("Mul", {"x", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Mul"});
  all.push_back(
      {"feeds_a_subgraph",
       Builder()
           .input("x", {2})
           .input("c", {}, DType::boolean)
           .node("Constant", {}, {"k"}, constant("value", floats({2}, {1, 2})))
           .node("Neg", {"k"}, {"n"})
           .node("If", {"c"}, {"y"}, {{"then_branch", branch("Add", {"x", "n"})}, {"else_branch", branch("Add", {"x", "k"})}})
           .output("y")
           .build(),
       "If"});
  return all;
}

std::vector<PassCase> declining() {
  std::vector<PassCase> all;
  all.push_back({"quantize",
                 Builder()
                     .input("x", {2})
                     .weights("w", {2})
                     .constant("s", Tensor::scalar(0.1F))
                     .node("QuantizeLinear", {"w", "s"}, {"q"})
                     .node("DequantizeLinear", {"q", "s"}, {"d"})
                     .node("Add", {"x", "d"}, {"y"})
                     .output("y")
                     .build(),
                 "QuantizeLinear DequantizeLinear Add"});
  all.push_back({"behind_dequantize",
                 Builder()
                     .input("x", {2})
                     .constant("q", Tensor::of<int8_t>({2}, std::vector<int8_t>{1, 2}))
                     .constant("s", Tensor::scalar(0.1F))
                     .node("DequantizeLinear", {"q", "s"}, {"d"})
                     .node("Neg", {"d"}, {"n"})
                     .node("Add", {"x", "n"}, {"y"})
                     .output("y")
                     .build(),
                 "DequantizeLinear Neg Add"});
  all.push_back({"free_batch",
                 Builder()
                     .input("x", {-1, 3})
                     .node("Shape", {"x"}, {"s"})
                     .node("ConstantOfShape", {"s"}, {"z"})
                     .node("Add", {"x", "z"}, {"y"})
                     .output("y")
                     .build(),
                 "Shape ConstantOfShape Add"});
  for (const int64_t at : {0, -2})
    all.push_back({"gather_of_a_free_dim",
                   Builder()
                       .input("x", {-1, 3})
                       .constant("at", ints({at}))
                       .node("Shape", {"x"}, {"s"})
                       .node("Gather", {"s", "at"}, {"n"})
                       .node("Cast", {"n"}, {"f"}, {{"to", int64_t{1}}})
                       .node("Mul", {"x", "f"}, {"y"})
                       .output("y")
                       .build(),
                   "Shape Gather Cast Mul"});
  all.push_back({"slice_with_a_free_dim",
                 Builder()
                     .input("x", {-1, 3})
                     .constant("zero", ints({0}))
                     .constant("two", ints({2}))
                     .constant("back", ints({-1}))
                     .node("Shape", {"x"}, {"s"})
                     .node("Slice", {"s", "zero", "two", "zero"}, {"n"})
                     .node("Slice", {"s", "two", "zero", "zero", "back"}, {"m"})
                     .node("Add", {"n", "m"}, {"k"})
                     .node("Cast", {"k"}, {"f"}, {{"to", int64_t{1}}})
                     .node("ReduceSum", {"f"}, {"r"})
                     .node("Mul", {"x", "r"}, {"y"})
                     .output("y")
                     .build(),
                 "Shape Slice Slice Add Cast ReduceSum Mul"});
  all.push_back({"grows",
                 Builder()
                     .input("x", {1})
                     .constant("n", ints({400000}))
                     .node("ConstantOfShape", {"n"}, {"z"})
                     .node("Add", {"x", "z"}, {"y"})
                     .output("y")
                     .build(),
                 "ConstantOfShape Add", "bytes larger than its inputs"});
  all.push_back({"grows_by_an_unknown_size",
                 Builder()
                     .input("x", {1})
                     .constant("n", ints({1 << 19}))
                     .constant("m", ints({1}))
                     .node("Mod", {"n", "n"}, {"r"})
                     .node("Add", {"n", "r"}, {"k"})
                     .node("ConstantOfShape", {"k"}, {"z"})
                     .node("Add", {"x", "z"}, {"y"})
                     .output("y")
                     .build(),
                 "ConstantOfShape Add", "larger than its inputs"});
  all.push_back({"copy_of_a_shared_weight",
                 Builder()
                     .input("x", {1, 600})
                     .weights("w", {600, 600})
                     .node("Transpose", {"w"}, {"t"})
                     .node("MatMul", {"x", "t"}, {"a"})
                     .node("MatMul", {"a", "w"}, {"y"})
                     .output("y")
                     .build(),
                 "Transpose MatMul MatMul", "bytes larger than its inputs", 1e-2F});
  all.push_back({"makes_an_output",
                 Builder()
                     .input("x", {2})
                     .node("Constant", {}, {"c"}, constant("value", floats({2}, {1, 2})))
                     .node("Neg", {"c"}, {"n"})
                     .node("Add", {"x", "n"}, {"y"})
                     .output("y")
                     .output("c")
                     .output("n")
                     .build(),
                 "Constant Neg Add"});
  all.push_back({"control_flow",
                 Builder()
                     .input("x", {2})
                     .constant("c", Tensor(DType::boolean, {}))
                     .weights("w", {2})
                     .node("If", {"c"}, {"k"}, {{"then_branch", branch("Neg", {"w"})}, {"else_branch", branch("Abs", {"w"})}})
                     .node("Add", {"x", "k"}, {"y"})
                     .output("y")
                     .build(),
                 "If Add"});
  all.push_back({"text",
                 Builder()
                     .input("x", {2})
                     .constant("n", ints({1}))
                     .node("Cast", {"n"}, {"s"}, {{"to", int64_t{8}}})
                     .node("Cast", {"s"}, {"f"}, {{"to", int64_t{1}}})
                     .node("Add", {"x", "f"}, {"y"})
                     .output("y")
                     .build(),
                 "Cast Cast Add", "no tensor of numbers"});
  return all;
}

TEST(FoldConstants, Folds) {
  for (const PassCase& c : folding()) expect(c, {"fold_constants", fold_constants});
}

TEST(FoldConstants, Declines) {
  for (const PassCase& c : declining()) expect(c, {"fold_constants", fold_constants});
}

TEST(FoldConstants, LeavesWhatIsRandomOrOfAnotherDomainOrText) {  // no fixed outputs to compare
  const Graph g = Builder()
                      .constant("n", ints({2}))
                      .node("RandomNormal", {}, {"r"}, {{"shape", std::vector<int64_t>{2}}})
                      .node("RandomUniformLike", {"r"}, {"u"})
                      .node("Bernoulli", {"r"}, {"b"})
                      .node("Special", {"n"}, {"s"}, {}, "com.example")
                      .node("Constant", {}, {"t"}, constant("value_string", std::string("a")))
                      .node("Use", {"u", "b", "s", "t"}, {"y"}, {}, "com.example")
                      .output("y")
                      .build();
  Log log;
  EXPECT_EQ(models::ops(fold_constants(g, with_runtime(), log)), models::ops(g));
}

TEST(FoldConstants, WhatTheRuntimeRefusesStays) {
  const Graph g = Builder()
                      .input("x", {2})
                      .node("Constant", {}, {"c"}, constant("value", floats({2}, {1, 2})))
                      .node("Neg", {"c"}, {"n"})
                      .node("Add", {"x", "n"}, {"y"})
                      .output("y")
                      .build();
  Log log;
  const PassContext context{[](const Graph&) -> std::vector<Tensor> { throw Error(ErrorKind::unsupported, "no such kernel"); },
                            {}};
  EXPECT_EQ(models::ops(fold_constants(g, context, log)), "Neg Add");
  EXPECT_EQ(log.front().why, "the runtime cannot compute them: no such kernel");
}

TEST(FoldConstants, WithoutARuntimeOnlyConstantsAndShapesFold) {
  const Graph g = Builder()
                      .input("x", {2})
                      .node("Constant", {}, {"c"}, constant("value", floats({2}, {1, 2})))
                      .node("Neg", {"c"}, {"n"})
                      .node("Add", {"x", "n"}, {"y"})
                      .output("y")
                      .build();
  Log log;
  EXPECT_EQ(models::ops(fold_constants(g, {}, log)), "Neg Add");
}

}  // namespace
}  // namespace pare
