#include "verify/signal.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "golden.h"

namespace pare {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor row(const std::vector<float>& values) { return Tensor::of<float>({1, static_cast<int64_t>(values.size())}, values); }

TEST(SignalError, AgreesWithNumpy) {
  Golden golden("signal.txt");
  SignalError error(1), from_the_end(-2), plain;
  for (int sample = 0; sample < 2; ++sample) {
    const Tensor reference = Tensor::of<float>({2, 3, 4}, golden.reals(24)),
                 test = Tensor::of<float>({2, 3, 4}, golden.reals(24));
    for (SignalError* e : {&error, &from_the_end, &plain}) e->add(reference, test);
  }
  const auto expect = [&golden](const SignalFigures& got) {
    EXPECT_NEAR(got.sqnr_db(), golden.number(), 1e-9);
    EXPECT_NEAR(got.max_error, golden.number(), 1e-9);
    EXPECT_NEAR(got.mean_error(), golden.number(), 1e-12);
  };
  const SignalFigures total = error.total();
  expect(total);
  EXPECT_EQ(total.max_sample, golden.integer());
  EXPECT_EQ(total.max_index, golden.integer());
  EXPECT_EQ(total.count, 48);
  ASSERT_EQ(error.channels().size(), 3);
  for (size_t c = 0; c < 3; ++c) {
    expect(error.channels()[c]);
    EXPECT_EQ(error.channels()[c].noise, from_the_end.channels()[c].noise);
  }
  EXPECT_TRUE(plain.channels().empty());
  EXPECT_NEAR(plain.total().noise, total.noise, 1e-12);
  EXPECT_EQ(plain.total().max_index, total.max_index);
  EXPECT_EQ(plain.samples(), 2);
}

TEST(SignalError, EqualTensorsHaveNoNoise) {
  SignalError error;
  error.add(row({1, 2}), row({1, 2}));
  EXPECT_EQ(error.total().sqnr_db(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(error.total().max_error, 0);
  EXPECT_EQ(error.total().max_index, 0);
}

TEST(SignalError, SilentReferenceHasOnlyNoise) {
  SignalError error;
  error.add(row({0, 0}), row({1, 2}));
  EXPECT_EQ(error.total().sqnr_db(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(error.total().mean_error(), 1.5);
}

TEST(SignalError, NothingAddedIsNotANumber) {
  EXPECT_TRUE(std::isnan(SignalError().total().sqnr_db()));
  EXPECT_TRUE(std::isnan(SignalError().total().mean_error()));
  EXPECT_EQ(SignalError().total().max_sample, -1);
}

TEST(SignalError, CountsWhatIsNotFinite) {
  SignalError error;
  error.add(row({kNan, 1, kInf, 4, -kInf}), row({1, kNan, kInf, 2, -kInf}));
  const SignalFigures got = error.total();
  EXPECT_EQ(got.reference_non_finite, 3);
  EXPECT_EQ(got.test_non_finite, 3);
  EXPECT_EQ(got.count, 1);
  EXPECT_EQ(got.noise, 4);
  EXPECT_EQ(got.signal, 16);
  EXPECT_EQ(got.max_index, 3);
}

TEST(SignalError, MergesPartsOfTheSameSamples) {
  SignalError error(0);
  error.add(Tensor::of<float>({3}, std::vector<float>{1, 1, 1}), Tensor::of<float>({3}, std::vector<float>{3, 1, -1}));
  SignalFigures last = error.channels()[2];
  last += error.channels()[0];
  EXPECT_EQ(last.max_index, 0) << "the first of two equal errors";
  EXPECT_EQ(last.noise, 8);
  EXPECT_EQ(last.error_sum, 0);
}

TEST(SignalError, SamplesMayDifferInShapeNotInChannels) {
  SignalError error(1);
  error.add(row({1, 2}), row({1, 2}));
  error.add(Tensor(DType::f32, {3, 2}), Tensor(DType::f32, {3, 2}));
  EXPECT_EQ(error.total().count, 8);
  EXPECT_THROW(error.add(row({1}), row({1})), Error);
}

TEST(SignalError, ReadsOtherTypes) {
  SignalError error;
  error.add(Tensor::of<int8_t>({2}, std::vector<int8_t>{-3, 4}), row({-3, 5}).reshaped({2}));
  EXPECT_EQ(error.total().signal, 25);
  EXPECT_EQ(error.total().noise, 1);
}

TEST(SignalError, RefusesDifferentShapes) {
  try {
    SignalError().add(row({1, 2}), row({1}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::input);
    EXPECT_STREQ(e.what(), "shape 1x1 differs from the float model's 1x2");
  }
}

TEST(SignalError, RefusesAnAxisOutsideTheShape) {
  for (const int axis : {2, -3}) EXPECT_THROW(SignalError(axis).add(row({1}), row({1})), Error) << axis;
}

}  // namespace
}  // namespace pare
