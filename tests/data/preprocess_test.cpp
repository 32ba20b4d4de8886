#include "data/preprocess.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/data/pattern.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

using testing::ElementsAre;

Image uniform(int width, int height, std::array<uint8_t, 3> colour) {
  Image image{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = colour[i % 3];
  return image;
}

std::vector<float> values(const Tensor& tensor) { return to_floats(tensor); }

// Each case of fits.txt; a level of difference is what another version of OpenCV or of the JPEG decoder may make.
TEST(Apply, EqualsTheReferencesInPython) {
  std::ifstream golden(kGolden + "fits.txt");
  std::string source;
  std::getline(golden, source);
  std::getline(golden, source);
  std::string name;
  int cases = 0;
  for (int w = 0, h = 0, height = 0, width = 0; golden >> source >> w >> h >> name >> height >> width; ++cases) {
    SCOPED_TRACE(source + " " + std::to_string(w) + "x" + std::to_string(h) + " " + name);
    double ratio = 0, ratio_y = 0;
    int left = 0, top = 0;
    golden >> ratio >> ratio_y >> left >> top;
    const std::string file = PARE_SHARED "/data/" + source;
    const bool known = source == "pattern" || std::filesystem::exists(file);
    const Image image = source == "pattern" || !known ? pattern(w, h) : read_image(file);
    const Preprocess preprocess = preset(name);
    Placement placement;
    const Tensor tensor = apply(preprocess, image, height, width, &placement);
    EXPECT_EQ(tensor.shape(), (Shape{1, 3, height, width}));
    EXPECT_DOUBLE_EQ(placement.ratio, ratio);
    EXPECT_DOUBLE_EQ(placement.ratio_y, ratio_y);
    EXPECT_EQ(placement.left, left);
    EXPECT_EQ(placement.top, top);
    EXPECT_EQ(placement.image_width, w);
    EXPECT_EQ(placement.image_height, h);
    const auto got = tensor.as<float>();
    for (int y = 5; y < height; y += 83)
      for (int x = 3; x < width; x += 71)
        for (size_t c = 0; c < 3; ++c) {
          float wanted = 0;
          golden >> wanted;
          if (!known) continue;
          ASSERT_NEAR(got[(c * size_t(height) + size_t(y)) * size_t(width) + size_t(x)], wanted, 1.001F / preprocess.std[c])
              << x << "," << y;
        }
  }
  EXPECT_EQ(cases, 16);
}

struct Letterboxed {
  int width, height, target_height, target_width;
  double ratio;
  int left, top;
};

// Case 36, and 544 x 960, by hand.
TEST(Apply, PlacesTheLetterbox) {
  for (const Letterboxed& row :
       {Letterboxed{810, 1080, 640, 640, 640. / 1080, 80, 0}, Letterboxed{1920, 1080, 640, 640, 1. / 3, 0, 140},
        Letterboxed{640, 480, 544, 960, 544. / 480, 117, 0}, Letterboxed{1920, 1080, 544, 960, .5, 0, 2},
        Letterboxed{4000, 1, 64, 64, 64. / 4000, 0, 31}}) {
    Placement placement;
    const Tensor tensor =
        apply(preset("yolo"), uniform(row.width, row.height, {255, 255, 255}), row.target_height, row.target_width, &placement);
    EXPECT_DOUBLE_EQ(placement.ratio, row.ratio);
    EXPECT_EQ(placement.left, row.left);
    EXPECT_EQ(placement.top, row.top);
    const size_t last = static_cast<size_t>(row.target_height) * static_cast<size_t>(row.target_width) - 1;
    const auto plane = tensor.as<float>();
    EXPECT_FLOAT_EQ(plane[0], row.left + row.top > 0 ? 114.F / 255 : 1.F);
    EXPECT_FLOAT_EQ(plane[last], row.left + row.top > 0 ? 114.F / 255 : 1.F);
    EXPECT_FLOAT_EQ(plane[static_cast<size_t>(row.top * row.target_width + row.left)], 1.F);
  }
}

TEST(Apply, NormalizesEachPresetExactly) {
  const Image image = uniform(256, 256, {10, 127, 255});
  const auto first = [&](const char* name) {
    const std::vector<float> all = values(apply(preset(name), image, 224, 224));
    return std::vector<float>{all[0], all[224 * 224], all[2 * 224 * 224]};
  };
  EXPECT_THAT(first("yolo"), ElementsAre(10 / 255.F, 127 / 255.F, 1.F));
  EXPECT_THAT(first("unit"), ElementsAre(10 / 255.F, 127 / 255.F, 1.F));
  EXPECT_THAT(first("none"), ElementsAre(10.F, 127.F, 255.F));
  EXPECT_THAT(first("tf"), ElementsAre(-117 / 128.F, 0.F, 1.F));
  EXPECT_THAT(first("imagenet"), ElementsAre(testing::FloatNear(-1.946656F, 1e-5F), testing::FloatNear(.187675F, 1e-5F),
                                             testing::FloatNear(2.64F, 1e-5F)));
}

TEST(Apply, OrdersChannels) {
  Preprocess preprocess = preset("none");
  preprocess.mean = {1, 2, 3};  // follow their colour
  const Image image = uniform(2, 1, {10, 20, 30});
  EXPECT_THAT(values(apply(preprocess, image, 1, 2)), ElementsAre(9, 9, 18, 18, 27, 27));
  preprocess.order = Preprocess::Order::bgr;
  EXPECT_THAT(values(apply(preprocess, image, 1, 2)), ElementsAre(27, 27, 18, 18, 9, 9));
  preprocess.layout = Preprocess::Layout::nhwc;
  const Tensor tensor = apply(preprocess, image, 1, 2);
  EXPECT_EQ(tensor.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_THAT(values(tensor), ElementsAre(27, 18, 9, 27, 18, 9));
}

TEST(Apply, CropsTheCentre) {
  Preprocess preprocess = preset("none");
  preprocess.resize = Preprocess::Resize::centre_crop_only;
  const Image image = pattern(9, 6);
  Placement placement;
  const Tensor tensor = apply(preprocess, image, 3, 4, &placement);
  EXPECT_EQ(tensor.as<float>()[0], image.rgb[(1 * 9 + 2) * 3]);
  EXPECT_EQ(tensor.as<float>()[11], image.rgb[(3 * 9 + 5) * 3]);
  EXPECT_EQ(placement.left, -2);
  EXPECT_EQ(placement.top, -1);
  EXPECT_EQ(placement.ratio, 1);
}

TEST(Apply, ShortSideInPixelsOrAsAShare) {
  Preprocess preprocess = preset("imagenet");
  Placement placement;
  (void)apply(preprocess, pattern(480, 320), 280, 280, &placement);
  EXPECT_DOUBLE_EQ(placement.ratio, 1);
  preprocess.short_side = 640;
  preprocess.short_side_per = 0;
  (void)apply(preprocess, pattern(480, 320), 280, 280, &placement);
  EXPECT_DOUBLE_EQ(placement.ratio, 2);
}

TEST(Apply, RefusesACropThatDoesNotFit) {
  Preprocess preprocess = preset("none");
  preprocess.resize = Preprocess::Resize::centre_crop_only;
  EXPECT_EQ(error_of([&] { (void)apply(preprocess, pattern(9, 6), 8, 8); }), "3 is 9x6, smaller than the crop 8x8");
  preprocess.crop_size = 4;
  EXPECT_EQ(error_of([&] { (void)apply(preprocess, pattern(9, 6), 4, 6); }),
            "2 the preprocessing crops to 4, the network's input is 4x6");
}

TEST(Preset, ListsItsNames) {
  EXPECT_THAT(preset_names(), ElementsAre("yolo", "imagenet", "tf", "unit", "none"));
  EXPECT_EQ(error_of([] { (void)preset("caffe"); }),
            "2 no preprocessing preset 'caffe'; presets are yolo, imagenet, tf, unit, none");
}

}  // namespace
}  // namespace pare
