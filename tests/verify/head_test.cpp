#include "verify/head.h"

#include <gmock/gmock.h>

namespace pare {
namespace {

HeadQuestion question(const std::vector<Shape>& shapes, int64_t height, int64_t width, std::optional<int> classes) {
  HeadQuestion q{.outputs = {}, .height = height, .width = width, .classes = classes};
  for (const Shape& shape : shapes) q.outputs.push_back({"output" + std::to_string(q.outputs.size()), shape});
  return q;
}

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
      {"transposed", {{1, 8400, 84}}, 640, 640, 80, "yolov8 transposed", 0, 8400, 80},
      {"a free batch", {{-1, 84, 8400}}, 640, 640, {}, "yolov8", 0, 8400, 80},
      {"four levels", {{1, 84, 34000}}, 640, 640, 80, "yolov8", 0, 34000, 80},
      {"sides that no stride divides", {{1, 84, 1905}}, 300, 300, 80, "yolov8", 0, 1905, 80},
      {"mask coefficients", {{1, 116, 8400}, {1, 32, 160, 160}}, 640, 640, 80, "yolov8", 0, 8400, 80},
      {"second output", {{1, 32, 160, 160}, {1, 84, 8400}}, 640, 640, 80, "yolov8", 1, 8400, 80},
      {"yolov5", {{1, 25200, 85}}, 640, 640, {}, "yolov5", 0, 25200, 80},
      {"yolov5 of four levels", {{1, 102000, 85}}, 1280, 1280, 80, "yolov5", 0, 102000, 80},
      {"yolov5 masks", {{1, 25200, 117}, {1, 32, 160, 160}}, 640, 640, 80, "yolov5", 0, 25200, 80},
      {"decoded and raw levels",
       {{1, 25200, 85}, {1, 3, 80, 80, 85}, {1, 3, 40, 40, 85}, {1, 3, 20, 20, 85}},
       640,
       640,
       80,
       "yolov5",
       0,
       25200,
       80},
      {"end to end", {{1, 300, 6}}, 640, 640, 80, "yolov10", 0, 300, 0},
      {"end to end, one class", {{1, 300, 6}}, 640, 640, 1, "yolov10", 0, 300, 0},
      {"nanodet-plus", {{1, 3598, 112}}, 416, 416, 80, "nanodet", 0, 3598, 80},
      {"RT-DETR in one output", {{1, 300, 84}}, 640, 640, 80, "detr, one output", 0, 300, 80},
      {"RT-DETR", {{1, 300, 80}, {1, 300, 4}}, 640, 640, 80, "detr, sigmoid", 1, 300, 80},
      {"SSD", {{1, 3000, 21}, {1, 3000, 4}}, 300, 300, 20, "ssd", 1, 3000, 20},
  };
  for (const Recognised& c : cases) {
    const auto got = recognise_head(question(c.outputs, c.height, c.width, c.classes));
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(got->name, c.head) << c.name;
    EXPECT_EQ(got->boxes.output, c.output) << c.name;
    EXPECT_EQ(got->candidates, c.candidates) << c.name;
    EXPECT_EQ(got->classes, c.found_classes) << c.name;
  }
}

TEST(RecogniseHead, GivesTheStrides) {
  const auto yolov8 = recognise_head(question({{1, 84, 8400}}, 640, 640, {}));
  const auto yolov5 = recognise_head(question({{1, 25200, 85}}, 640, 640, {}));
  EXPECT_EQ(yolov8->scores.attribute_stride, 8400);
  EXPECT_EQ(yolov8->scores.candidate_stride, 1);
  EXPECT_EQ(yolov8->scores.first, 4 * 8400);
  EXPECT_EQ(yolov8->score_form, ScoreForm::plain);
  EXPECT_EQ(yolov5->scores.attribute_stride, 1);
  EXPECT_EQ(yolov5->scores.candidate_stride, 85);
  EXPECT_EQ(yolov5->scores.first, 5);
  EXPECT_EQ(yolov5->score_form, ScoreForm::objectness);
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
      {"mask coefficients without masks", {{1, 116, 8400}}, 80},
      {"two heads", {{1, 84, 8400}, {1, 84, 8400}}, 80},
      {"two heads in two directions", {{1, 84, 8400}, {1, 8400, 84}}, 80},
      {"a square that reads both ways", {{1, 8400, 8400}}, 8396},
      {"a dynamic shape", {{1, 84, -1}}, {}},
  };
  for (const Declined& c : cases) EXPECT_FALSE(recognise_head(question(c.outputs, 640, 640, c.classes))) << c.name;
}

struct Choice {
  const char* name;
  std::vector<Shape> outputs;
  std::optional<int> classes;
  std::vector<std::string_view> fitting;
};

TEST(RecogniseHead, NeverGuessesButSaysWhatFits) {
  const std::vector<Choice> cases{
      {"80 classes, or 79 behind objectness, or 52 before distances",
       {{1, 8400, 84}},
       {},
       {"yolov8", "yolov5", "yolox", "yolox-decoded", "nanodet"}},
      {"decoded or not", {{1, 8400, 85}}, 80, {"yolov5", "yolox", "yolox-decoded"}},
      {"a selection, or two classes", {{1, 300, 6}}, {}, {"yolov5", "yolov10", "detr", "rtdetr"}},
      {"a transformer or SSD", {{1, 100, 92}, {1, 100, 4}}, {}, {"ssd", "detr", "rtdetr"}},
      {"YOLO-NAS has no background", {{1, 8400, 80}, {1, 8400, 4}}, 80, {}},
      {"levels of unknown anchors", {{1, 3, 80, 80, 85}, {1, 3, 40, 40, 85}, {1, 3, 20, 20, 85}}, {}, {"yolov5"}},
      {"two levels only", {{1, 3, 40, 40, 85}, {1, 3, 20, 20, 85}}, {}, {}},
      {"a classifier", {{1, 1000}}, {}, {}},
  };
  for (const Choice& c : cases) {
    EXPECT_FALSE(recognise_head(question(c.outputs, 640, 640, c.classes))) << c.name;
    EXPECT_THAT(fitting_heads(question(c.outputs, 640, 640, c.classes)), testing::ElementsAreArray(c.fitting)) << c.name;
  }
}

TEST(RecogniseHead, FollowsWhatIsAsked) {
  const auto any = recognise_head(question({{1, 8400, 84}}, 640, 640, {}), "yolox");
  ASSERT_TRUE(any);
  EXPECT_EQ(any->name, "yolox");
  EXPECT_EQ(any->classes, 79);
  EXPECT_FALSE(recognise_head(question({{1, 84, 8400}}, 640, 640, {}), "yolov5"));
  const auto masks = recognise_head(question({{1, 116, 8400}, {1, 32, 160, 160}}, 640, 640, {}), "yolov8");
  ASSERT_TRUE(masks);
  EXPECT_EQ(masks->classes, 80);
  EXPECT_EQ(recognise_head(question({{1, 77, 85}}, 640, 640, {}), "yolov5")->candidates, 77);
}

}  // namespace
}  // namespace pare
