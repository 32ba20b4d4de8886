#include <gmock/gmock.h>

#include "golden.h"
#include "verify/detection.h"
#include "verify/head.h"

namespace pare {
namespace {

struct Scene {
  std::string name, head;
  HeadQuestion question = {};
  bool found_alone = false;
  std::vector<Tensor> outputs = {};
  std::vector<Detection> expected = {};
};

std::vector<Scene> scenes() {
  Golden golden("heads.txt");
  std::vector<Scene> all;
  while (golden.more()) {
    EXPECT_EQ(golden.word(), "scene");
    Scene s{.name = golden.word(), .head = golden.word()};
    s.question.height = 32;
    s.question.width = 64;
    if (const int classes = golden.integer(); classes > 0) s.question.classes = classes;
    s.question.keypoints = golden.integer();
    s.found_alone = golden.integer() == 1;
    const int outputs = golden.integer(), expected = golden.integer();
    for (int o = 0; o < outputs; ++o) {
      const std::string name = golden.word();
      const bool labels = golden.word() == "i64";
      Shape shape(static_cast<size_t>(golden.integer()));
      for (int64_t& d : shape) d = golden.integer();
      const std::vector<float> values = golden.reals(static_cast<size_t>(element_count(shape)));
      s.question.outputs.push_back({name, shape, labels ? DType::i64 : DType::f32});
      s.outputs.push_back(labels ? Tensor::of<int64_t>(shape, std::vector<int64_t>(values.begin(), values.end()))
                                 : Tensor::of<float>(shape, values));
    }
    for (int d = 0; d < expected; ++d) {
      Detection& found = s.expected.emplace_back();
      found.x1 = golden.real();
      found.y1 = golden.real();
      found.x2 = golden.real();
      found.y2 = golden.real();
      found.score = golden.real();
      found.cls = golden.integer();
    }
    all.push_back(std::move(s));
  }
  return all;
}

const Scene& scene(const std::string& name) {
  static const std::vector<Scene> kAll = scenes();
  for (const Scene& s : kAll)
    if (s.name == name) return s;
  throw std::runtime_error("no scene " + name);
}

constexpr Geometry kGeometry{.ratio = .5, .left = 2, .top = 3, .image_width = 120, .image_height = 52};

std::vector<Detection> decode(const Scene& s, const HeadLayout& layout) {
  return decode_detections(s.outputs, layout, kGeometry, {.conf = .25F});
}

void expect_found(const Scene& s, const HeadLayout& layout) {
  const std::vector<Detection> got = decode(s, layout);
  ASSERT_EQ(got.size(), s.expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].cls, s.expected[i].cls) << i;
    EXPECT_NEAR(got[i].score, s.expected[i].score, 2e-6) << i;
    EXPECT_NEAR(got[i].x1, s.expected[i].x1, 1e-3) << i;
    EXPECT_NEAR(got[i].y1, s.expected[i].y1, 1e-3) << i;
    EXPECT_NEAR(got[i].x2, s.expected[i].x2, 1e-3) << i;
    EXPECT_NEAR(got[i].y2, s.expected[i].y2, 1e-3) << i;
  }
}

TEST(HeadLayouts, AgreeWithNumpy) {
  const std::vector<Scene> all = scenes();
  ASSERT_EQ(all.size(), 23);
  for (const Scene& s : all) {
    SCOPED_TRACE(s.name);
    const auto layout = recognise_head(s.question, s.head);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->head, s.head);
    expect_found(s, *layout);
  }
}

TEST(HeadLayouts, AreFoundAloneWhereOnlyOneFits) {
  for (const Scene& s : scenes()) {
    SCOPED_TRACE(s.name);
    const auto alone = recognise_head(s.question);
    EXPECT_EQ(alone.has_value(), s.found_alone);
    if (alone) {
      EXPECT_EQ(alone->head, s.head);
      expect_found(s, *alone);
    }
    EXPECT_THAT(fitting_heads(s.question), testing::Contains(s.head));
  }
}

TEST(HeadLayouts, EachNameHasAScene) {
  for (const std::string_view name : head_names())
    EXPECT_TRUE(std::ranges::any_of(scenes(), [name](const Scene& s) { return s.head == name; })) << name;
}

TEST(HeadLayouts, ReadOutputsInAnyOrder) {
  for (const char* name : {"yolov8_masks", "yolov5_levels", "ssd", "ssd_tensorflow", "ssd_torchvision", "detr"}) {
    SCOPED_TRACE(name);
    Scene s = scene(name);
    std::ranges::reverse(s.outputs);
    std::ranges::reverse(s.question.outputs);
    const auto layout = recognise_head(s.question, s.head);
    ASSERT_TRUE(layout);
    expect_found(s, *layout);
  }
}

TEST(HeadLayouts, AFreeNumberOfBoxesIsWhatTheOutputHolds) {
  for (const char* name : {"yolov10", "ssd_torchvision"}) {
    SCOPED_TRACE(name);
    Scene s = scene(name);
    for (HeadOutput& o : s.question.outputs) o.shape[o.shape.size() == 3 ? 1 : 0] = -1;
    const auto layout = recognise_head(s.question, s.head);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->candidates, -1);
    expect_found(s, *layout);
  }
  Scene none = scene("ssd_torchvision");
  none.outputs = {Tensor(DType::f32, {0, 4}), Tensor(DType::i64, {0}), Tensor(DType::f32, {0})};
  for (HeadOutput& o : none.question.outputs) o.shape[0] = -1;
  EXPECT_TRUE(decode(none, recognise_head(none.question).value()).empty());
}

TEST(HeadLayouts, RefuseWhatCannotBeTrue) {
  const auto error = [](const Scene& s, const char* head) -> std::string {
    try {
      decode(s, recognise_head(s.question, head).value());
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::unsupported);
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error(scene("yolox_decoded"), "yolox"), testing::HasSubstr("the boxes are decoded"));
  Scene from_zero = scene("ssd_torchvision");
  for (int64_t& label : from_zero.outputs[1].write<int64_t>()) label = label == 1 ? 0 : label;
  EXPECT_THAT(error(from_zero, "ssd"), testing::HasSubstr("label 0"));
}

TEST(HeadLayouts, RefuseOutputsOfAnotherShape) {
  for (const char* name : {"yolov5_levels", "nanodet", "detr", "yolov10"}) {
    SCOPED_TRACE(name);
    Scene s = scene(name);
    const auto layout = recognise_head(s.question, s.head);
    ASSERT_TRUE(layout);
    s.outputs[0] = Tensor(DType::f32, {1, 3, 3});
    try {
      decode(s, *layout);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::input);
    }
    EXPECT_THROW(decode_detections({}, *layout, kGeometry), Error);
  }
}

}  // namespace
}  // namespace pare
