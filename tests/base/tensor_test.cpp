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

}  // namespace
}  // namespace pare
