#include "verify/agreement.h"

#include <gmock/gmock.h>

#include <limits>

#include "golden.h"
#include "pare/error.h"

namespace pare {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double f1_of(const MatchCounts& c) { return 2.0 * c.matched / std::max(1, c.reference + c.test); }

TEST(DetectionAgreement, AgreesWithJudge) {
  Golden golden("agreement.txt");
  ASSERT_EQ(golden.word(), "total");
  const int images = golden.integer();
  const double f1 = golden.number(), low = golden.number(), high = golden.number();
  std::vector<MatchCounts> counts;
  while (golden.more()) {
    ASSERT_EQ(golden.word(), "image");
    std::vector<Detection> reference(static_cast<size_t>(golden.integer())), test(static_cast<size_t>(golden.integer()));
    const double expected = golden.number();
    for (auto* list : {&reference, &test})
      for (Detection& d : *list) {
        d.x1 = golden.real();
        d.y1 = golden.real();
        d.x2 = golden.real();
        d.y2 = golden.real();
        d.score = golden.real();
        d.cls = golden.integer();
      }
    counts.push_back(match_detections(reference, test));
    EXPECT_EQ(counts.back().reference, static_cast<int>(reference.size()));
    EXPECT_EQ(counts.back().test, static_cast<int>(test.size()));
    EXPECT_NEAR(f1_of(counts.back()), expected, 1e-12) << "image " << counts.size() - 1;
  }
  ASSERT_EQ(counts.size(), static_cast<size_t>(images));
  const DetectionAgreement got = detection_agreement(counts);
  EXPECT_NEAR(got.f1, f1, 1e-12);
  EXPECT_NEAR(got.interval.low, low, .01);  // another random generator
  EXPECT_NEAR(got.interval.high, high, .01);
  EXPECT_EQ(got.images, images);
}

Detection box(float x, float score, int cls = 0) {
  return {.x1 = x, .y1 = 0, .x2 = x + 10, .y2 = 10, .score = score, .cls = cls};
}

struct Matching {
  const char* name;
  std::vector<Detection> reference, test;
  int matched;
};

TEST(MatchDetections, FollowsTheRules) {
  const std::vector<Matching> cases{
      {"nothing", {}, {}, 0},
      {"the same", {box(0, .9F), box(30, .5F)}, {box(0, .9F), box(30, .5F)}, 2},
      {"another class", {box(0, .9F, 1)}, {box(0, .9F, 2)}, 0},
      {"too little overlap", {box(0, .9F)}, {box(4, .9F)}, 0},
      {"enough overlap", {box(0, .9F)}, {box(3, .9F)}, 1},
      {"half an overlap is enough", {box(0, .9F)}, {{.x2 = 10, .y2 = 5, .score = .9F}}, 1},
      {"a partner is taken once", {box(0, .9F)}, {box(0, .9F), box(1, .8F)}, 1},
      {"a score at the threshold does not count", {box(0, .25F)}, {box(0, .25F)}, 0},
      // The better one prefers the box at 1, which leaves none for the other; in the other order both find one.
      {"greedy by score", {box(1, .9F), box(4, .9F)}, {box(2, .9F), box(-1, .8F)}, 1},
      {"greedy by score, not by position in the list", {box(1, .9F), box(4, .9F)}, {box(-1, .8F), box(2, .9F)}, 1},
      {"the worse one comes second", {box(1, .9F), box(4, .9F)}, {box(2, .8F), box(-1, .9F)}, 2},
  };
  for (const Matching& c : cases) EXPECT_EQ(match_detections(c.reference, c.test).matched, c.matched) << c.name;
}

TEST(DetectionAgreement, OfAModelWithItselfIsOne) {
  const std::vector<MatchCounts> counts{{3, 3, 3}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  const DetectionAgreement got = detection_agreement(counts, 200, 4);
  EXPECT_EQ(got.f1, 1);
  EXPECT_EQ(got.interval.low, 1);
  EXPECT_EQ(got.interval.high, 1);
}

TEST(DetectionAgreement, NothingFoundIsNoAgreement) {
  const std::vector<MatchCounts> counts{{0, 0, 0}};
  EXPECT_EQ(detection_agreement(counts).f1, 0);
  EXPECT_EQ(detection_agreement(counts).reference, 0);
}

TEST(DetectionAgreement, RefusesNoImages) { EXPECT_THROW(detection_agreement({}), Error); }

TEST(ClassAgreement, CountsDisagreementAndTop) {
  ClassAgreement got;
  const std::vector<float> rising{0, 1, 2, 3, 4, 5, 6}, falling{6, 5, 4, 3, 2, 1, 0};
  got.add(rising, rising, 6);
  got.add(rising, falling, 6);
  got.add(rising, falling, 2);
  got.add(falling, rising, 6);
  got.add(rising, rising);
  EXPECT_EQ(got.disagreement().hits, 3);
  EXPECT_EQ(got.disagreement().trials, 5);
  EXPECT_EQ(got.disagreement().value(), .6);
  EXPECT_EQ(got.disagreement().interval().low, wilson(3, 5).low);
  EXPECT_EQ(got.reference_top1().hits, 2);
  EXPECT_EQ(got.reference_top1().trials, 4);
  EXPECT_EQ(got.reference_top5().hits, 3);
  EXPECT_EQ(got.test_top1().hits, 2);
  EXPECT_EQ(got.test_top5().hits, 3);
  EXPECT_EQ(got.only_reference_right(), 1);
  EXPECT_EQ(got.only_test_right(), 1);
  EXPECT_EQ(got.top1_p_value(), 1);
}

TEST(ClassAgreement, TheFirstOfEqualLogitsIsTheAnswer) {
  ClassAgreement got;
  const std::vector<float> flat(7, 1.F), last{0, 0, 0, 0, 0, 0, 1};
  got.add(flat, flat, 0);
  got.add(flat, flat, 4);
  got.add(flat, flat, 5);
  got.add(flat, last, 6);
  EXPECT_EQ(got.reference_top1().hits, 1);
  EXPECT_EQ(got.reference_top5().hits, 2);
  EXPECT_EQ(got.disagreement().hits, 1);
}

TEST(ClassAgreement, NanAnswersNothing) {
  ClassAgreement got;
  const std::vector<float> good{1, 2}, bad{kNan, 2};
  got.add(good, bad, 1);
  got.add(bad, bad, 1);
  EXPECT_EQ(got.disagreement().hits, 2);
  EXPECT_EQ(got.reference_top1().hits, 1);
  EXPECT_EQ(got.reference_top5().hits, 1);
  EXPECT_EQ(got.test_top1().hits, 0);
  EXPECT_EQ(got.test_top5().hits, 0);
}

TEST(ClassAgreement, WithoutImagesIsZero) { EXPECT_EQ(ClassAgreement().disagreement().value(), 0); }

TEST(ClassAgreement, RefusesWhatDoesNotFit) {
  ClassAgreement got;
  const std::vector<float> two{1, 2}, three{1, 2, 3};
  EXPECT_THROW(got.add(two, three), Error);
  EXPECT_THROW(got.add({}, {}), Error);
  EXPECT_THROW(got.add(two, two, 2), Error);
  EXPECT_THROW(got.add(two, two, -1), Error);
  EXPECT_EQ(got.disagreement().trials, 0);
}

TEST(Mcnemar, AgreesWithExactFractions) {
  // Python: min(1, 2 * sum(Fraction(math.comb(b + c, k), 2 ** (b + c)) for k in range(min(b, c) + 1)))
  struct Case {
    int64_t b, c;
    double p;
  };
  for (const Case& c : {Case{0, 0, 1}, Case{5, 5, 1}, Case{0, 6, .03125}, Case{6, 0, .03125}, Case{2, 10, 0.03857421875},
                        Case{13, 30, 0.0137181850586785}, Case{400, 480, 0.007707305043339141}})
    EXPECT_NEAR(mcnemar_p(c.b, c.c), c.p, 1e-12 + 1e-9 * c.p) << c.b << " " << c.c;
}

}  // namespace
}  // namespace pare
