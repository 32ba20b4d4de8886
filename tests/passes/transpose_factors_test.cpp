#include "passes/transpose_factors.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

const Pass kPass{"transpose_factors", transpose_factors};
const std::map<std::string, Attribute> kTransA{{"transA", int64_t{1}}};

Builder matmul(int64_t opset, Shape constant, Shape x) {
  return Builder(opset).input("x", std::move(x)).weights("a", std::move(constant)).node("MatMul", {"a", "x"}, {"y"}).output("y");
}

TEST(TransposeFactors, Rewrites) {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22}) {
    all.push_back({"matrix", matmul(opset, {5, 4}, {4, 3}).build(), "Transpose MatMul Transpose", "", 1e-5F});
    all.push_back({"batches", matmul(opset, {5, 4}, {-1, 2, 4, 3}).build(), "Transpose MatMul Transpose", "", 1e-5F});
    all.push_back({"vector", matmul(opset, {5, 4}, {4}).build(), "MatMul", "", 1e-5F});
    Builder gemm(opset);
    gemm.input("x", {4, 3}).weights("w", {4, 5}).weights("b", {5}).node("Gemm", {"x", "w", "b"}, {"y"}, kTransA).output("y");
    all.push_back({"transA", gemm.build(), "Transpose Gemm", "", 1e-5F});
  }
  all.push_back({"transA_and_transB",
                 Builder()
                     .input("x", {4, 3})
                     .weights("w", {5, 4})
                     .node("Gemm", {"x", "w"}, {"y"}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", .5F}})
                     .output("y")
                     .build(),
                 "Transpose Gemm", "", 1e-5F});
  all.push_back({"shared_constant",
                 Builder()
                     .input("x", {4, 4})
                     .weights("a", {4, 4})
                     .node("MatMul", {"a", "x"}, {"y"})
                     .node("MatMul", {"x", "a"}, {"z"})
                     .output("y")
                     .output("z")
                     .build(),
                 "MatMul Transpose MatMul Transpose", "", 1e-5F});
  for (const PassCase& c : all) expect(c, kPass);
}

TEST(TransposeFactors, Declines) {
  std::vector<PassCase> all;
  all.push_back({"constant_second",
                 Builder().input("x", {3, 4}).weights("w", {4, 5}).node("MatMul", {"x", "w"}, {"y"}).output("y").build(),
                 "MatMul"});
  all.push_back({"no_constant",
                 Builder().input("a", {3, 4}).input("x", {4, 5}).node("MatMul", {"a", "x"}, {"y"}).output("y").build(),
                 "MatMul"});
  all.push_back({"two_constants",
                 Builder()
                     .input("x", {3, 5})
                     .weights("a", {3, 4})
                     .weights("b", {4, 5})
                     .node("MatMul", {"a", "b"}, {"c"})
                     .node("Add", {"x", "c"}, {"y"})
                     .output("y")
                     .build(),
                 "MatMul Add"});
  all.push_back({"stacked_constant", matmul(13, {2, 5, 4}, {4, 3}).build(), "MatMul", "its constant is no matrix"});
  all.push_back({"row_constant", matmul(13, {4}, {4, 3}).build(), "MatMul", "its constant is no matrix"});
  all.push_back({"gemm_without_transA",
                 Builder().input("x", {3, 4}).weights("w", {4, 5}).node("Gemm", {"x", "w"}, {"y"}).output("y").build(), "Gemm"});
  all.push_back({"gemm_of_two_inputs",
                 Builder().input("x", {4, 3}).input("w", {4, 5}).node("Gemm", {"x", "w"}, {"y"}, kTransA).output("y").build(),
                 "Gemm", "its weight is no float constant"});
  all.push_back({"integers",
                 Builder()
                     .input("x", {3, 2}, DType::i32)
                     .constant("a", Tensor::of<int32_t>({2, 3}, std::vector<int32_t>{1, 2, 3, 4, 5, 6}))
                     .node("MatMul", {"a", "x"}, {"y"})
                     .output("y", DType::i32)
                     .build(),
                 "MatMul"});
  for (const PassCase& c : all) expect(c, kPass);
}

}  // namespace
}  // namespace pare
