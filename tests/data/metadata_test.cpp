#include "data/metadata.h"

#include <gmock/gmock.h>

namespace pare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

Metadata ultralytics(const std::string& task) {
  return {{"description", "Ultralytics YOLOv8n model trained on coco.yaml"},
          {"author", "Ultralytics"},
          {"stride", "32"},
          {"task", task},
          {"batch", "1"},
          {"imgsz", "[544, 960]"},
          {"names", "{0: 'person', 1: 'bicycle'}"}};
}

TEST(FromMetadata, TaskDecides) {
  for (const char* task : {"detect", "segment", "pose", "obb"})
    EXPECT_THAT(from_metadata(ultralytics(task)), Optional(preset("yolo")));
  EXPECT_THAT(from_metadata({{"stride", "32"}, {"names", "['person']"}}), Optional(preset("yolo")));  // YOLOv5's export
  EXPECT_EQ(from_metadata(ultralytics("depth")), std::nullopt);
  EXPECT_EQ(from_metadata({}), std::nullopt);
  EXPECT_EQ(from_metadata({{"task", "detect"}, {"author", "somebody"}}), std::nullopt);
}

TEST(FromMetadata, ClassifyCropsAtTheSizeOfTheNetwork) {
  const auto classify = from_metadata(ultralytics("classify"));
  ASSERT_TRUE(classify);
  EXPECT_EQ(to_json(*classify),
            R"({"crop":true,"layout":"nchw","mean":[0.0,0.0,0.0],"order":"rgb","resize":"1/1","std":[255.0,255.0,255.0]})");
}

TEST(FromMetadata, RtDetrIsStretched) {
  Metadata metadata = ultralytics("detect");
  metadata[0].second = "Ultralytics rtdetr-l model";
  EXPECT_THAT(from_metadata(metadata), Optional(preset("unit")));
}

TEST(MetadataImgsz, ReadsHeightAndWidth) {
  const auto read = [](const char* text) { return metadata_imgsz({{"imgsz", text}}); };
  EXPECT_THAT(read("[544, 960]"), Optional(Pair(544, 960)));
  EXPECT_THAT(read("(320, 640)"), Optional(Pair(320, 640)));
  EXPECT_THAT(read("[640]"), Optional(Pair(640, 640)));
  EXPECT_THAT(read("640"), Optional(Pair(640, 640)));
  for (const char* text : {"", "[]", "[640, x]", "[0, 640]", "[-1, 2]", "[99999999, 2]", "auto"})
    EXPECT_EQ(read(text), std::nullopt) << text;
  EXPECT_EQ(metadata_imgsz({}), std::nullopt);
}

TEST(MetadataKeypoints, MultipliesTheShape) {
  EXPECT_EQ(metadata_keypoints({{"kpt_shape", "[17, 3]"}}), 51);
  EXPECT_EQ(metadata_keypoints({{"kpt_shape", "[]"}}), 0);
  EXPECT_EQ(metadata_keypoints({}), 0);
}

TEST(MetadataNames, ReadsPythonLiterals) {
  const auto read = [](const char* text) { return metadata_names({{"names", text}}); };
  EXPECT_THAT(read("{0: 'person', 1: 'bicycle'}"), ElementsAre("person", "bicycle"));
  EXPECT_THAT(read(R"({0: 'cup, small', 1: "driver's seat", 2: 'a: b', 3: 'say "hi"'})"),
              ElementsAre("cup, small", "driver's seat", "a: b", "say \"hi\""));
  EXPECT_THAT(read(R"({0: 'both \' and "', 1: 'back\\slash', 2: '}'})"), ElementsAre("both ' and \"", "back\\slash", "}"));
  EXPECT_THAT(read("{2: 'c', 0: 'a'}"), ElementsAre("a", "", "c"));
  EXPECT_THAT(read("['a', 'b']"), ElementsAre("a", "b"));
  EXPECT_THAT(read(R"({"0": "a", "1": "b"})"), ElementsAre("a", "b"));
  EXPECT_THAT(read("{0: '猫'}"), ElementsAre("猫"));
  for (const char* text :
       {"", "person", "{}", "[]", "{0: 'a'", "{0 'a'}", "{0: a}", "{-1: 'a'}", "{99999999: 'a'}", "{x: 'a'}", "{0: 'a"})
    EXPECT_THAT(read(text), IsEmpty()) << text;
  EXPECT_THAT(metadata_names({}), IsEmpty());
}

}  // namespace
}  // namespace pare
