#include "base/tensor.h"

#include <gmock/gmock.h>

#include <cmath>

namespace pare {
namespace {

TEST(Tensor, CopiesShareUntilWritten) {
  Tensor a = Tensor::of<float>({2}, std::vector<float>{1, 2});
  Tensor b = a;
  EXPECT_EQ(a.raw().data(), b.raw().data());
  b.write<float>()[0] = 9;
  EXPECT_EQ(a.as<float>()[0], 1);
  EXPECT_FALSE(a == b);
}

TEST(Tensor, RefusesBytesThatDoNotFitTheShape) {
  try {
    Tensor(DType::f32, {2, 3}, std::vector<std::byte>(20));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "holds 20 bytes, its shape 2x3 of float needs 24");
  }
}

// Values of IEEE 754 binary16 worked out by hand: 1, -2, largest subnormal, smallest subnormal, largest, infinity.
TEST(Tensor, ReadsHalfPrecision) {
  const std::vector<uint16_t> bits{0x3C00, 0xC000, 0x03FF, 0x0001, 0x7BFF, 0x7C00};
  std::vector<std::byte> bytes(12);
  std::memcpy(bytes.data(), bits.data(), 12);
  EXPECT_THAT(to_floats(Tensor(DType::f16, {6}, bytes)),
              testing::ElementsAre(1.F, -2.F, 1023.F / 1024.F / 16384.F, 1.F / 16777216.F, 65504.F, INFINITY));
}

// Pairs from numpy's float32 -> float16.
TEST(Tensor, RoundsToHalfPrecision) {
  const std::vector<float> values{1.F,
                                  -2.F,
                                  65504.F,
                                  65519.99609375F,
                                  65520.F,
                                  9.99999993922529e-09F,
                                  -0.F,
                                  2.98023224e-08F,
                                  2.98023259e-08F,
                                  5.96046448e-08F,
                                  6.09755516e-05F,
                                  6.10351562e-05F,
                                  1e9F,
                                  1.00048828F,
                                  1.00146484F,
                                  .333251953F,
                                  INFINITY,
                                  -3.14159274F};
  const std::vector<uint16_t> bits{0x3C00, 0xC000, 0x7BFF, 0x7BFF, 0x7C00, 0x0000, 0x8000, 0x0000, 0x0001,
                                   0x0001, 0x03FF, 0x0400, 0x7C00, 0x3C00, 0x3C02, 0x3555, 0x7C00, 0xC248};
  const Tensor half = converted(Tensor::of<float>({18}, values), DType::f16);
  std::vector<uint16_t> found(18);
  std::memcpy(found.data(), half.raw().data(), 36);
  EXPECT_EQ(found, bits);
  EXPECT_TRUE(std::isnan(to_floats(converted(Tensor::scalar(NAN), DType::f16))[0]));
}

TEST(Tensor, EveryHalfComesBack) {
  for (const DType type : {DType::f16, DType::bf16}) {
    Tensor all(type, {65536});
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      std::memcpy(all.raw_write().data() + 2 * size_t{i}, &bits, 2);
    }
    const Tensor back = converted(converted(all, DType::f32), type);
    const std::vector<float> values = to_floats(all);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(std::memcmp(all.raw().data() + 2 * i, back.raw().data() + 2 * i, 2), 0) << i;
    }
  }
}

TEST(Tensor, RoundsToBrainFloat) {  // half way: to the even neighbour
  const Tensor t =
      converted(Tensor::of<float>({4}, std::vector<float>{1.00390625F, 1.01171875F, 3.3895314e38F, 3.4e38F}), DType::bf16);
  EXPECT_THAT(to_floats(t), testing::ElementsAre(1.F, 1.015625F, 3.3895314e38F, INFINITY));
}

TEST(Tensor, RoundsToPixels) {
  const Tensor t = converted(Tensor::of<float>({5}, std::vector<float>{-3, .4F, 127.6F, 255, 300}), DType::u8);
  EXPECT_THAT(t.as<uint8_t>(), testing::ElementsAre(0, 0, 128, 255, 255));
  EXPECT_THROW(converted(t, DType::i64), Error);
}

TEST(Tensor, ZeroSizedAndScalar) {
  EXPECT_EQ(Tensor(DType::i64, {0, 3}).count(), 0);
  EXPECT_EQ(Tensor::scalar(3.F).count(), 1);
  EXPECT_EQ(shape_text({}), "scalar");
}

TEST(Tensor, ReadsIntegersOfEachWidth) {
  EXPECT_THAT(to_ints(Tensor(DType::i16, {1}, {std::byte{0xFE}, std::byte{0xFF}})), testing::ElementsAre(-2));
  EXPECT_THAT(to_ints(Tensor(DType::u16, {1}, {std::byte{0xFE}, std::byte{0xFF}})), testing::ElementsAre(65534));
  EXPECT_THAT(to_ints(Tensor(DType::u32, {1}, std::vector<std::byte>(4, std::byte{0xFF}))), testing::ElementsAre(4294967295));
}

TEST(Tensor, StringsHaveNoNumbers) { EXPECT_THROW(to_floats(Tensor(DType::string, {1}, {})), Error); }

TEST(Tensor, TransposedRowsAreColumns) {
  const Tensor t = transposed(Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(t, Tensor::of<float>({3, 2}, std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace pare
