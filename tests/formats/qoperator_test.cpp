#include "formats/qoperator.h"

#include <gmock/gmock.h>

#include "ir/check.h"
#include "tests/formats/format_net.h"

namespace pare {
namespace {

using models::Builder;

TEST(ToQoperator, EachKindBecomesItsIntegerOperator) {
  for (const Scheme& scheme : {Scheme{}, Scheme{.activation = DType::i8, .symmetric = true, .per_channel = false}}) {
    const Graph graph = all_kinds();
    Log log;
    const Graph made = to_qoperator(quantized_form(graph, scheme), log);
    EXPECT_NO_THROW(check_structure(made));
    for (const auto& [op, times] : std::map<std::string, int64_t>{{"QLinearConv", 4},
                                                                  {"QLinearSigmoid", 1},
                                                                  {"QLinearMul", 2},
                                                                  {"QLinearAdd", 1},
                                                                  {"QLinearAveragePool", 1},
                                                                  {"QLinearLeakyRelu", 1},
                                                                  {"QLinearConcat", 1},
                                                                  {"QLinearGlobalAveragePool", 1},
                                                                  {"QGemm", 1},
                                                                  {"QLinearMatMul", 1}})
      EXPECT_EQ(count(made, op), times) << op;
    EXPECT_EQ(made.opsets.at("com.microsoft"), 1);
    // A symmetric int8 Q reaches below zero: there the clamps stay, between a DQ and a Q of their own.
    const int64_t clamps = scheme.symmetric ? 2 : 0;
    EXPECT_EQ(count(made, "Relu") + count(made, "Clip"), clamps);
    EXPECT_EQ(count(made, "QuantizeLinear"), 1 + clamps);
    EXPECT_EQ(count(made, "DequantizeLinear"), 2 + clamps);
  }
}

/// The runtime fuses the Q/DQ form into the same kernels, so that both files give the same numbers.
TEST(ToQoperator, GivesWhatTheQdqFormGives) {
  const Graph qdq = quantized_form(all_kinds());
  Log log;
  const Graph made = to_qoperator(qdq, log);
  EXPECT_GT(sqnr_db(qdq, made, 0), 60);
  EXPECT_GT(sqnr_db(qdq, made, 1), 60);
}

TEST(ToQoperator, WhatIsFloatStaysBetweenQAndDq) {
  Builder b = Builder(14).input("x", {1, 3, 8, 8}).weights("w", {8, 3, 3, 3}).weights("v", {8, 8, 3, 3});
  b.node("Conv", {"x", "w"}, {"a"}).node("HardSwish", {"a"}, {"h"}).node("Conv", {"h", "v"}, {"y"}).output("y");
  Log log;
  const Graph qdq = quantized_form(b.build());
  const Graph made = to_qoperator(qdq, log);
  EXPECT_EQ(count(made, "QLinearConv"), 2);
  EXPECT_EQ(count(made, "HardSwish"), 1);
  EXPECT_GT(sqnr_db(qdq, made), 60);
}

TEST(ToQoperator, AClampThatTheQDoesNotAbsorbStays) {
  Graph qdq = quantized_form(all_kinds());
  for (Tensor* bound : {&qdq.initializers.at("six")}) *bound = Tensor::scalar(.5F);  // cuts far inside the Q's range
  Log log;
  EXPECT_EQ(count(to_qoperator(qdq, log), "Clip"), 1);
}

}  // namespace
}  // namespace pare
