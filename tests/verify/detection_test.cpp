#include "verify/detection.h"

#include <gmock/gmock.h>

#include <limits>

#include "golden.h"

namespace pare {
namespace {

struct Scene {
  std::string name = {};
  HeadLayout layout = {};
  std::vector<float> values = {};  // (4 + classes) x candidates
  Geometry geometry = {};
  NmsOptions options = {};
  std::vector<Detection> expected = {};
};

std::vector<Scene> scenes() {
  Golden golden("detections.txt");
  std::vector<Scene> all;
  while (golden.more()) {
    EXPECT_EQ(golden.word(), "scene");
    Scene s{.name = golden.word()};
    s.layout.classes = golden.integer();
    s.layout.candidates = golden.integer();
    s.layout.boxes = {0, 0, s.layout.candidates, 1};
    s.layout.scores = {0, 4 * s.layout.candidates, s.layout.candidates, 1};
    s.options.conf = golden.real();
    s.geometry.ratio = golden.number();
    s.geometry.left = golden.number();
    s.geometry.top = golden.number();
    s.geometry.image_width = golden.integer();
    s.geometry.image_height = golden.integer();
    s.expected.resize(static_cast<size_t>(golden.integer()));
    s.values = golden.reals(static_cast<size_t>((4 + s.layout.classes) * s.layout.candidates));
    for (Detection& d : s.expected) {
      d.x1 = golden.real();
      d.y1 = golden.real();
      d.x2 = golden.real();
      d.y2 = golden.real();
      d.score = golden.real();
      d.cls = golden.integer();
    }
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<Detection> decode(const Tensor& output, const HeadLayout& layout, const Geometry& geometry,
                              const NmsOptions& options = {}) {
  return decode_detections({&output, 1}, layout, geometry, options);
}

Tensor tensor_of(const Scene& s) { return Tensor::of<float>({1, 4 + s.layout.classes, s.layout.candidates}, s.values); }

/// The scene as 1 x candidates x (first_score + classes): with objectness 1/2 the scores are doubled, which changes no bit.
Tensor candidates_first(const Scene& s, HeadLayout& layout, int first_score) {
  const int64_t attributes = first_score + s.layout.classes, n = s.layout.candidates;
  Tensor t(DType::f32, {1, n, attributes});
  const auto values = t.write<float>();
  for (int64_t a = 0; a < attributes; ++a)
    for (int64_t i = 0; i < n; ++i) {
      const bool score = a >= first_score;
      const float source = a == 4 && !score ? .5F : s.values[static_cast<size_t>((score ? a - first_score + 4 : a) * n + i)];
      values[static_cast<size_t>(i * attributes + a)] = score && first_score == 5 ? 2 * source : source;
    }
  layout.boxes = {0, 0, 1, attributes};
  layout.scores = {0, first_score, 1, attributes};
  layout.score_form = first_score == 5 ? ScoreForm::objectness : ScoreForm::plain;
  return t;
}

void expect_same(const std::vector<Detection>& got, const std::vector<Detection>& expected, float tolerance,
                 const std::string& name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(name + " " + std::to_string(i));
    EXPECT_EQ(got[i].cls, expected[i].cls);
    EXPECT_EQ(got[i].score, expected[i].score);
    EXPECT_NEAR(got[i].x1, expected[i].x1, tolerance);
    EXPECT_NEAR(got[i].y1, expected[i].y1, tolerance);
    EXPECT_NEAR(got[i].x2, expected[i].x2, tolerance);
    EXPECT_NEAR(got[i].y2, expected[i].y2, tolerance);
  }
}

TEST(DecodeDetections, AgreesWithJudge) {
  ASSERT_EQ(scenes().size(), 5);
  for (const Scene& s : scenes()) expect_same(decode(tensor_of(s), s.layout, s.geometry, s.options), s.expected, 0, s.name);
}

TEST(DecodeDetections, ReadsTheOtherLayouts) {
  for (const Scene& s : scenes())
    for (const int first_score : {4, 5}) {
      HeadLayout layout = s.layout;
      const Tensor output = candidates_first(s, layout, first_score);
      expect_same(decode(output, layout, s.geometry, s.options), s.expected, 0, s.name);
    }
}

TEST(DecodeDetections, ScalesNormalizedBoxes) {
  for (const Scene& s : scenes()) {
    if (s.name == "boxes_without_area") continue;
    Scene unit = s;
    unit.layout.input_width = 128;
    unit.layout.input_height = 256;  // powers of two: the division is exact
    const auto n = static_cast<size_t>(s.layout.candidates);
    for (size_t i = 0; i < n; ++i)
      for (size_t a = 0; a < 4; ++a) unit.values[a * n + i] /= a % 2 == 0 ? 128 : 256;
    for (const std::optional<bool> normalized : {std::optional<bool>(), std::optional<bool>(true)}) {
      unit.options.normalized = normalized;
      expect_same(decode(tensor_of(unit), unit.layout, s.geometry, s.options), s.expected, 0, s.name);
    }
  }
}

HeadLayout two_classes(int64_t candidates, int64_t attribute_stride, int64_t candidate_stride) {
  HeadLayout layout;
  layout.candidates = candidates;
  layout.classes = 2;
  layout.boxes = layout.scores = {0, 0, attribute_stride, candidate_stride};
  layout.scores.first = 4 * attribute_stride;
  return layout;
}

/// One candidate per row: x, y, w, h, score of class 0, score of class 1.
std::vector<Detection> decode_rows(const std::vector<std::vector<float>>& rows, const NmsOptions& options = {}) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  const auto n = static_cast<int64_t>(rows.size());
  HeadLayout layout = two_classes(n, 1, 6);
  layout.input_height = layout.input_width = 64;
  return decode(Tensor::of<float>({1, n, 6}, values), layout, {.image_width = 64, .image_height = 64}, options);
}

TEST(DecodeDetections, TheCallerDecidesWhatIsNormalized) {
  const std::vector<std::vector<float>> small{{.5F, .5F, .25F, .5F, .9F, 0}};
  EXPECT_EQ(decode_rows(small)[0].x1, 24);
  EXPECT_EQ(decode_rows(small, {.normalized = false})[0].x1, .375F);
  EXPECT_EQ(decode_rows({{3, 3, 2, 2, .9F, 0}})[0].x1, 2) << "one coordinate above 2 means pixels";
}

TEST(DecodeDetections, AStretchedImageHasTwoRatios) {
  const Tensor output = Tensor::of<float>({1, 1, 6}, std::vector<float>{30, 30, 10, 10, .9F, 0});
  const auto got = decode(output, two_classes(1, 1, 6), {.ratio = .5, .image_width = 128, .image_height = 32, .ratio_y = 2});
  ASSERT_EQ(got.size(), 1);
  EXPECT_EQ(got[0].x1, 50);
  EXPECT_EQ(got[0].x2, 70);
  EXPECT_EQ(got[0].y1, 12.5F);
  EXPECT_EQ(got[0].y2, 17.5F);
}

TEST(DecodeDetections, OneCandidateMayBeSeveralClasses) {
  const auto got = decode_rows({{30, 30, 10, 10, .5F, .6F}});
  ASSERT_EQ(got.size(), 2);
  EXPECT_EQ(got[0].cls, 1);
  EXPECT_EQ(got[1].cls, 0);
}

TEST(DecodeDetections, ThresholdsAreExclusive) {
  EXPECT_TRUE(decode_rows({{30, 30, 10, 10, .25F, 0}}, {.conf = .25F}).empty());
  const std::vector<std::vector<float>> half{{30, 30, 10, 20, .9F, 0}, {30, 25, 10, 10, .8F, 0}};
  EXPECT_EQ(decode_rows(half, {.iou = .5F}).size(), 2);
  EXPECT_EQ(decode_rows(half, {.iou = .4999F}).size(), 1);
}

TEST(DecodeDetections, RoundsTheOverlapLikeOpenCv) {
  // A third, which 1 - float(1 - 1/3) puts one step below the nearest float: NMSBoxes keeps both boxes at .33333332.
  EXPECT_EQ(decode_rows({{30, 30, 10, 10, .9F, 0}, {35, 30, 10, 10, .8F, 0}}, {.iou = .33333332F}).size(), 2);
}

TEST(DecodeDetections, TheBestCandidatesEnter) {
  const std::vector<std::vector<float>> rows{
      {10, 10, 8, 8, .2F, 0}, {30, 30, 8, 8, .9F, 0}, {50, 50, 8, 8, .5F, 0}, {10, 50, 8, 8, .5F, 0}};
  const auto entering = decode_rows(rows, {.max_candidates = 2});
  ASSERT_EQ(entering.size(), 2);
  EXPECT_EQ(entering[0].score, .9F);
  EXPECT_EQ(entering[1].x1, 46) << "the earlier of equal scores";
  EXPECT_EQ(decode_rows(rows, {.keep = 3}).size(), 3);
}

TEST(DecodeDetections, DropsWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto got =
      decode_rows({{nan, 30, 10, 10, .9F, 0}, {30, 30, 10, 10, nan, inf}, {30, inf, 10, 10, .9F, 0}, {40, 40, 10, 10, .3F, 0}});
  ASSERT_EQ(got.size(), 1);
  EXPECT_EQ(got[0].score, .3F);
}

TEST(DecodeDetections, RefusesAnOutputThatDoesNotFit) {
  const HeadLayout layout = two_classes(3, 3, 1);
  try {
    (void)decode(Tensor(DType::f32, {1, 6, 4}), layout, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::input);
    EXPECT_STREQ(e.what(), "output of shape 1x6x4 does not hold 3 candidates of 6 numbers");
  }
  HeadLayout none = layout;
  none.classes = 0;
  EXPECT_THROW((void)decode(Tensor(DType::f32, {1, 4, 3}), none, {}), Error) << "no classes";
  EXPECT_THROW((void)decode(Tensor(DType::string, {1, 6, 3}, {}), layout, {}), Error);
}

}  // namespace
}  // namespace pare
