#include "formats/weights_only.h"

#include <gmock/gmock.h>

#include "ir/check.h"
#include "tests/formats/format_net.h"

namespace pare {
namespace {

using models::Builder;

TEST(QuantizeWeightsOnly, EveryWeightIsInt8AndTheArithmeticFloat) {
  const Graph graph = all_kinds();
  Log log;
  const Graph made = quantize_weights_only(graph, {}, {}, log);
  EXPECT_NO_THROW(check_structure(made));
  EXPECT_EQ(count(made, "DequantizeLinear"), 6);
  EXPECT_EQ(count(made, "QuantizeLinear"), 0);
  EXPECT_EQ(count(made, "Conv"), 4);
  for (const auto& [name, tensor] : made.initializers)
    EXPECT_TRUE(tensor.type() != DType::f32 || tensor.shape().size() < 2 || tensor.count() == 1) << name;
  EXPECT_GT(sqnr_db(graph, made, 0), 30);
}

TEST(QuantizeWeightsOnly, EachNumberIsWithinHalfAStep) {
  Builder b = Builder(13).input("x", {1, 5, 4, 4}).weights("w", {5, 3, 2, 2}, -2, 2);
  const Graph graph = b.node("ConvTranspose", {"x", "w"}, {"y"}).output("y").build();
  Log log;
  const Graph made = quantize_weights_only(graph, {}, {}, log);
  const auto w = graph.initializers.at("w").as<float>();
  const auto q = made.initializers.at("w_quantized").as<int8_t>();
  const auto s = made.initializers.at("w_scale").as<float>();
  ASSERT_EQ(s.size(), 3U);  // ConvTranspose: output channels on axis 1
  for (size_t i = 0; i < w.size(); ++i) EXPECT_LE(std::abs(w[i] - s[i / 4 % 3] * q[i]), s[i / 4 % 3] * .501F);
}

TEST(QuantizeWeightsOnly, ASharedWeightIsWrittenOnce) {
  Builder b = Builder(13).input("x", {1, 8}).weights("w", {8, 8});
  b.node("MatMul", {"x", "w"}, {"a"}).node("MatMul", {"a", "w"}, {"y"}).output("y");
  Log log;
  EXPECT_EQ(count(quantize_weights_only(b.build(), {}, {}, log), "DequantizeLinear"), 1);
}

}  // namespace
}  // namespace pare
