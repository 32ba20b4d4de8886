#include "verify/head.h"

#include <gmock/gmock.h>

namespace pare {
namespace {

struct Recognised {
  const char* name;
  std::vector<Shape> outputs;
  int64_t height, width;
  std::optional<int> classes;
  const char* head;
  size_t output;
  int64_t candidates;
  int found_classes;
};

TEST(RecogniseHead, KnowsTheTable) {
  const std::vector<Recognised> cases{
      {"yolov8", {{1, 84, 8400}}, 640, 640, {}, "yolov8", 0, 8400, 80},
      {"yolov8 with metadata", {{1, 84, 8400}}, 640, 640, 80, "yolov8", 0, 8400, 80},
      {"one class", {{1, 5, 8400}}, 640, 640, {}, "yolov8", 0, 8400, 1},
      {"not square", {{1, 84, 10710}}, 544, 960, {}, "yolov8", 0, 10710, 80},
      {"more attributes than candidates", {{1, 84, 21}}, 32, 32, 80, "yolov8", 0, 21, 80},
      {"transposed", {{1, 8400, 84}}, 640, 640, {}, "yolov8 transposed", 0, 8400, 80},
      {"second output", {{1, 32, 160, 160}, {1, 84, 8400}}, 640, 640, 80, "yolov8", 1, 8400, 80},
      {"yolov5", {{1, 25200, 85}}, 640, 640, {}, "yolov5", 0, 25200, 80},
      {"yolov5 of another grid", {{1, 102000, 85}}, 1280, 1280, 80, "yolov5", 0, 102000, 80},
  };
  for (const Recognised& c : cases) {
    const auto got = recognise_head(c.outputs, c.height, c.width, c.classes);
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(got->name, c.head) << c.name;
    EXPECT_EQ(got->output, c.output) << c.name;
    EXPECT_EQ(got->candidates, c.candidates) << c.name;
    EXPECT_EQ(got->classes, c.found_classes) << c.name;
  }
}

TEST(RecogniseHead, GivesTheStrides) {
  const std::vector<Shape> first{{1, 84, 8400}}, last{{1, 25200, 85}};
  const auto yolov8 = recognise_head(first, 640, 640, {}), yolov5 = recognise_head(last, 640, 640, {});
  EXPECT_EQ(yolov8->attribute_stride, 8400);
  EXPECT_EQ(yolov8->candidate_stride, 1);
  EXPECT_EQ(yolov8->first_score, 4);
  EXPECT_FALSE(yolov8->objectness);
  EXPECT_EQ(yolov5->attribute_stride, 1);
  EXPECT_EQ(yolov5->candidate_stride, 85);
  EXPECT_EQ(yolov5->first_score, 5);
  EXPECT_TRUE(yolov5->objectness);
}

struct Declined {
  const char* name;
  std::vector<Shape> outputs;
  std::optional<int> classes;
};

TEST(RecogniseHead, DeclinesTheRest) {
  const std::vector<Declined> cases{
      {"no outputs", {}, {}},
      {"a classifier", {{1, 1000}}, {}},
      {"another number of candidates", {{1, 84, 8399}}, {}},
      {"no class", {{1, 4, 8400}}, {}},
      {"no objectness left over", {{1, 25200, 5}}, {}},
      {"other classes than the metadata", {{1, 84, 8400}}, 79},
      {"a batch of two", {{2, 84, 8400}}, 80},
      {"rank four", {{1, 84, 8400, 1}}, 80},
      {"mask coefficients, classes unknown", {{1, 116, 8400}, {1, 32, 160, 160}}, {}},
      {"mask coefficients, classes known", {{1, 116, 8400}, {1, 32, 160, 160}}, 80},
      {"two heads", {{1, 84, 8400}, {1, 84, 8400}}, 80},
      {"boxes after suppression", {{1, 300, 6}}, 80},
      {"a dynamic shape", {{1, 84, -1}}, {}},
  };
  for (const Declined& c : cases) EXPECT_FALSE(recognise_head(c.outputs, 640, 640, c.classes)) << c.name;
}

}  // namespace
}  // namespace pare
