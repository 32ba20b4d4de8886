#include "verify/coco_map.h"

#include <gmock/gmock.h>

#include <limits>

#include "golden.h"
#include "pare/error.h"

namespace pare {
namespace {

struct Scene {
  std::string name = {};
  int images = 0;
  std::vector<GroundTruth> labels = {};
  std::vector<Scored> found = {};
  double map = 0, map50 = 0;
  std::vector<ClassPrecision> per_class = {};
};

std::vector<Scene> scenes() {
  Golden golden("coco_map.txt");
  std::vector<Scene> all;
  const auto read_box = [&golden](auto& box) {
    box.image = golden.integer();
    box.cls = golden.integer();
    box.x = golden.number();
    box.y = golden.number();
    box.w = golden.number();
    box.h = golden.number();
  };
  while (golden.more()) {
    EXPECT_EQ(golden.word(), "scene");
    Scene s{.name = golden.word(), .images = golden.integer()};
    s.labels.resize(static_cast<size_t>(golden.integer()));
    s.found.resize(static_cast<size_t>(golden.integer()));
    s.per_class.resize(static_cast<size_t>(golden.integer()));
    s.map = golden.number();
    s.map50 = golden.number();
    for (GroundTruth& g : s.labels) read_box(g);
    for (Scored& d : s.found) {
      read_box(d);
      d.score = golden.number();
    }
    for (ClassPrecision& c : s.per_class) {
      c.cls = golden.integer();
      c.ap = golden.number();
      c.ap50 = golden.number();
    }
    all.push_back(std::move(s));
  }
  return all;
}

TEST(CocoMap, AgreesWithPycocotools) {
  ASSERT_EQ(scenes().size(), 5);
  for (const Scene& s : scenes()) {
    SCOPED_TRACE(s.name);
    const MapResult got = CocoMap(s.labels, s.found, s.images).result();
    EXPECT_NEAR(got.map, s.map, 1e-12);
    EXPECT_NEAR(got.map50, s.map50, 1e-12);
    EXPECT_EQ(got.images, s.images);
    ASSERT_EQ(got.per_class.size(), s.per_class.size());
    int labels = 0;
    for (size_t c = 0; c < s.per_class.size(); ++c) {
      EXPECT_EQ(got.per_class[c].cls, s.per_class[c].cls);
      EXPECT_NEAR(got.per_class[c].ap, s.per_class[c].ap, 1e-12);
      EXPECT_NEAR(got.per_class[c].ap50, s.per_class[c].ap50, 1e-12);
      labels += got.per_class[c].ground_truths;
    }
    EXPECT_EQ(labels, static_cast<int>(s.labels.size()));
  }
}

/// A draw counts like a data set that really holds the copies. The scores are made different first, because copies of one image
/// would share ranks among equal scores.
TEST(CocoMap, DrawsLikeCopiedImages) {
  for (Scene& s : scenes()) {
    SCOPED_TRACE(s.name);
    for (size_t d = 0; d < s.found.size(); ++d) s.found[d].score += 1e-9 * static_cast<double>(d);
    std::vector<uint32_t> drawn(static_cast<size_t>(s.images));
    std::vector<GroundTruth> labels;
    std::vector<Scored> found;
    int copies = 0;
    const auto copy = [&copies](const auto& from, auto& to, int image) {
      for (auto box : from) {
        if (box.image != image) continue;
        box.image = copies;
        to.push_back(box);
      }
    };
    for (int image = 0; image < s.images; ++image) {
      const uint32_t times = image % 3 == 1 && s.name != "empty_images" ? 0 : 1 + static_cast<uint32_t>(image) * 5 % 4;
      drawn[static_cast<size_t>(image)] = times;
      for (uint32_t k = 0; k < times; ++k, ++copies) {
        copy(s.labels, labels, image);
        copy(s.found, found, image);
      }
    }
    EXPECT_NEAR(CocoMap(s.labels, s.found, s.images).map_of(drawn), CocoMap(labels, found, copies).result().map, 1e-12);
  }
}

TEST(CocoMap, ADrawMayLackClassesOrAllLabels) {
  const std::vector<GroundTruth> labels{{.image = 0, .cls = 1, .w = 10, .h = 10}, {.image = 1, .cls = 2, .w = 10, .h = 10}};
  const std::vector<Scored> found{{.image = 0, .cls = 1, .w = 10, .h = 10, .score = .5}};
  const CocoMap map(labels, found, 3);
  EXPECT_NEAR(map.map_of(std::vector<uint32_t>{1, 1, 0}), .5, 1e-12);
  EXPECT_NEAR(map.map_of(std::vector<uint32_t>{2, 0, 1}), 1, 1e-12);
  EXPECT_EQ(map.map_of(std::vector<uint32_t>{0, 0, 3}), 0);
}

TEST(CocoMap, IntervalIsTheFigureAndItsStandardError) {
  // Every second of 200 images is found: mAP is no mean over images, but with one box per image and no wrong box it is floor(101
  // r) steps of the recall r, whose standard error is sqrt(.5 * .5 / 200) = .03536.
  std::vector<GroundTruth> labels;
  std::vector<Scored> found;
  for (int i = 0; i < 200; ++i) {
    labels.push_back({.image = i, .w = 10, .h = 10});
    if (i % 2 == 0) found.push_back({.image = i, .w = 10, .h = 10, .score = .5});
  }
  const CocoMap map(labels, found, 200);
  const double figure = map.result().map;
  const Interval got = map.map_interval(2000, 1, 2);
  EXPECT_NEAR(figure, 51. / 101, 1e-12);
  EXPECT_NEAR((got.high - got.low) / 2, 1.96 * .03536, .004);
  EXPECT_NEAR((got.high + got.low) / 2, figure, 1e-12);
  EXPECT_EQ(map.map_interval(50, 3, 1).low, map.map_interval(50, 3, 2).low);
}

TEST(CocoMap, IntervalStaysInsideZeroAndOne) {
  const std::vector<GroundTruth> labels{{.image = 0, .w = 10, .h = 10}, {.image = 1, .w = 10, .h = 10}};
  const std::vector<Scored> found{{.image = 0, .w = 10, .h = 10, .score = .5}};
  const Interval got = CocoMap(labels, found, 2).map_interval();
  EXPECT_EQ(got.low, 0);
  EXPECT_EQ(got.high, 1);
}

struct Refused {
  const char* name;
  std::vector<GroundTruth> labels;
  std::vector<Scored> found;
  const char* message;
};

TEST(CocoMap, RefusesWhatCannotBeJudged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<GroundTruth> good{{.w = 1, .h = 1}};
  const std::vector<Refused> cases{
      {"no labels", {}, {}, "no ground truth: the mean average precision is not defined"},
      {"label outside", {{.image = 2}}, {}, "a label of image 2, allowed is 0 to 1"},
      {"detection outside", good, {{.image = -1}}, "a detection of image -1, allowed is 0 to 1"},
      {"label not finite", {{.image = 1, .h = nan}}, {}, "a label of image 1 has a coordinate that is not finite"},
      {"detection not finite", good, {{.x = nan}}, "a detection of image 0 has a coordinate that is not finite"},
      {"score not finite", good, {{.score = nan}}, "a detection of image 0 has a score that is not finite"},
  };
  for (const Refused& c : cases) {
    try {
      CocoMap(c.labels, c.found, 2);
      FAIL() << c.name;
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), c.message) << c.name;
    }
  }
}

}  // namespace
}  // namespace pare
