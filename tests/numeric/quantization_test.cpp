#include "numeric/quantization.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/numeric/golden.h"

namespace pare {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(ChooseParams, EqualsNumpy) {
  for (const auto& row : golden_rows("params.txt")) {
    const QParams p = choose_params({number(row[0]), number(row[1])}, quantized_type(row[2]), row[3] == "1");
    EXPECT_EQ(p.scale, static_cast<float>(number(row[4]))) << row[0] << " " << row[1] << " " << row[2] << " " << row[3];
    EXPECT_EQ(p.zero_point, std::stoi(row[5])) << row[0] << " " << row[1] << " " << row[2] << " " << row[3];
  }
}

TEST(ChooseParams, ZeroIsExactAndTheRangeIsCovered) {
  for (const auto& row : golden_rows("params.txt")) {
    const DType type = quantized_type(row[2]);
    const Range range{number(row[0]), number(row[1])};
    const QParams p = choose_params(range, type, row[3] == "1");
    const Range covered = representable(p, type);
    EXPECT_EQ(fake_quantize(0, p, type), 0);
    EXPECT_LE(covered.low, range.low + p.scale * 0.51);
    EXPECT_GE(covered.high, range.high - p.scale * 0.51);
  }
}

TEST(ChooseParams, RefusesWhatIsNotFinite) {
  EXPECT_THROW(choose_params({0, std::numeric_limits<double>::infinity()}, DType::u8, false), Error);
  EXPECT_THROW(choose_params({std::numeric_limits<double>::quiet_NaN(), 1}, DType::u8, false), Error);
  EXPECT_THROW(choose_params({0, 1}, DType::f32, false), Error);
}

TEST(FakeQuantize, EqualsOnnxReference) {
  for (const auto& row : golden_rows("fake_quantize.txt")) {
    const QParams p{static_cast<float>(number(row[1])), std::stoi(row[2])};
    EXPECT_EQ(fake_quantize(static_cast<float>(number(row[3])), p, quantized_type(row[0])), static_cast<float>(number(row[4])))
        << row[0] << " scale " << row[1] << " zero point " << row[2] << " x " << row[3];
  }
}

TEST(Quantize, GivesTheNumbersBehindTheReference) {
  for (const auto& row : golden_rows("fake_quantize.txt")) {
    const QParams p{static_cast<float>(number(row[1])), std::stoi(row[2])};
    const Tensor q = quantize(std::vector<float>{static_cast<float>(number(row[3]))}, {1}, p, quantized_type(row[0]));
    EXPECT_EQ(q.type(), quantized_type(row[0]));
    const float back = (to_floats(q)[0] - static_cast<float>(p.zero_point)) * p.scale;
    EXPECT_EQ(back, static_cast<float>(number(row[4]))) << row[0] << " " << row[3];
  }
  EXPECT_THROW(quantize(std::vector<float>{1}, {1}, {}, DType::i32), Error);
}

TEST(FakeQuantize, SaturatesInfinity) {
  EXPECT_EQ(fake_quantize(std::numeric_limits<float>::infinity(), {0.5F, 0}, DType::i8), 63.5F);
  EXPECT_EQ(fake_quantize(-std::numeric_limits<float>::infinity(), {0.5F, 0}, DType::i8), -64);
}

TEST(ChannelScales, EqualOnnxReference) {  // [2, 5, 3], channels along axis 1
  const auto rows = golden_rows("channels.txt");
  for (size_t block = 0; block < rows.size(); block += 31) {
    const int qmax = std::stoi(rows[block][0]);
    std::vector<float> weights, scales;
    std::vector<int8_t> wanted;
    for (size_t i = 1; i <= 5; ++i) scales.push_back(static_cast<float>(number(rows[block][i])));
    for (size_t i = 1; i <= 30; ++i) {
      weights.push_back(static_cast<float>(number(rows[block + i][0])));
      wanted.push_back(static_cast<int8_t>(std::stoi(rows[block + i][1])));
    }
    EXPECT_EQ(channel_scales(weights, 2, 5, 3, qmax), scales);
    EXPECT_EQ(quantize_channels(weights, 2, 5, 3, scales, qmax), wanted) << qmax;
  }
}

TEST(ChannelScales, Case2ZerosAndTinyWeights) {
  std::vector<float> w(4 * 27, 0.F);
  for (size_t i = 0; i < 27; ++i) w[i] = 0.5F, w[2 * 27 + i] = -0.F;
  w[3 * 27] = 1e-6F;
  const auto scales = channel_scales(w, 1, 4, 27, 127);
  EXPECT_NEAR(scales[3], 7.874e-9, 1e-12);
  for (const float s : scales) EXPECT_TRUE(std::isfinite(s) && s > 0);
  const auto q = quantize_channels(w, 1, 4, 27, scales, 127);
  EXPECT_EQ(q[0], 127);
  EXPECT_THAT((std::vector<int8_t>{q.begin() + 27, q.begin() + 81}), Each(0));
  EXPECT_EQ(q[81], 127);
}

TEST(ChannelScales, NothingButZeros) { EXPECT_THAT(channel_scales(std::vector<float>(6, 0.F), 1, 2, 3, 127), ElementsAre(1, 1)); }

TEST(ChannelScales, DenormalChannelBecomesZero) {
  const std::vector<float> w{1e-40F, 2};
  const auto scales = channel_scales(w, 1, 2, 1, 127);
  EXPECT_THAT(scales, Each(2.F / 127));
  EXPECT_THAT(quantize_channels(w, 1, 2, 1, scales, 127), ElementsAre(0, 127));
}

TEST(ChannelScales, SevenBitsStayWithin64) {
  const std::vector<float> w{-3, 3, 1.5F, -3.0000002F};
  EXPECT_THAT(quantize_channels(w, 1, 1, 4, channel_scales(w, 1, 1, 4, 64), 64), ElementsAre(-64, 64, 32, -64));
}

TEST(ChannelScales, HalfGoesToEvenAndClipsAtTheGivenScale) {
  EXPECT_THAT(
      quantize_channels(std::vector<float>{0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 300, -300}, 1, 1, 7, std::vector<float>{1}, 127),
      ElementsAre(0, 2, 2, 0, -2, 127, -127));
}

TEST(ChannelScales, NamesTheChannelOfANan) {
  try {
    channel_scales(std::vector<float>{1, 2, std::numeric_limits<float>::quiet_NaN(), 4}, 1, 2, 2, 127);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "holds a NaN or infinite weight in channel 1");
    EXPECT_EQ(e.kind(), ErrorKind::input);
  }
}

}  // namespace
}  // namespace pare
