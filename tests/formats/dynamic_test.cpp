#include "formats/dynamic.h"

#include <gmock/gmock.h>

#include "ir/check.h"
#include "tests/formats/format_net.h"

namespace pare {
namespace {

using models::Builder;
using testing::HasSubstr;

TEST(QuantizeDynamic, EveryLayerRunsOnIntegers) {
  const Graph graph = all_kinds();
  for (const bool per_channel : {true, false}) {
    Log log;
    const Graph made = quantize_dynamic(graph, {.per_channel = per_channel}, {}, log);
    EXPECT_NO_THROW(check_structure(made));
    EXPECT_EQ(count(made, "ConvInteger"), 4);
    EXPECT_EQ(count(made, "MatMulInteger"), 2);
    EXPECT_EQ(count(made, "Conv") + count(made, "Gemm") + count(made, "MatMul"), 0);
    EXPECT_GT(sqnr_db(graph, made, 0), 25) << per_channel;
    EXPECT_GT(sqnr_db(graph, made, 1), 25) << per_channel;
  }
}

TEST(QuantizeDynamic, ATensorIsQuantizedOnceForAllItsReaders) {
  Builder b = Builder(13).input("x", {1, 8}).weights("w", {8, 8}).weights("v", {8, 8});
  b.node("MatMul", {"x", "w"}, {"a"}).node("MatMul", {"x", "v"}, {"b"}).node("Add", {"a", "b"}, {"y"}).output("y");
  Log log;
  EXPECT_EQ(count(quantize_dynamic(b.build(), {}, {}, log), "DynamicQuantizeLinear"), 1);
}

TEST(QuantizeDynamic, WhatHasNoIntegerOperatorStaysFloatWithAReason) {
  Builder b = Builder(13).input("x", {1, 8, 4, 4}).weights("w", {8, 3, 2, 2}).weights("v", {3, 3, 1, 1});
  b.node("ConvTranspose", {"x", "w"}, {"a"}).node("Conv", {"a", "v"}, {"y"}).output("y");
  Log log;
  const Graph made = quantize_dynamic(b.build(), {}, {"y_node"}, log);
  EXPECT_EQ(count(made, "ConvTranspose"), 1);
  EXPECT_EQ(count(made, "Conv"), 1);
  ASSERT_EQ(log.size(), 2U);
  EXPECT_THAT(log[0].why, HasSubstr("excluded"));
  EXPECT_THAT(log[1].why, HasSubstr("no integer operator"));
}

TEST(QuantizeDynamic, AnUnknownExclusionIsAnError) {
  Log log;
  EXPECT_THROW(quantize_dynamic(all_kinds(), {}, {"nowhere"}, log), Error);
}

}  // namespace
}  // namespace pare
