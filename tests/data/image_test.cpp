#include "data/image.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "base/file.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

// Decoders may differ by one level; those of lossless files may not.
int allowed_difference(const std::string& name) { return name.ends_with(".jpg") ? 1 : 0; }

TEST(ReadImage, PixelsAreThoseOfOpenCvForPython) {
  std::ifstream golden(kGolden + "pixels.txt");
  std::string name;
  std::getline(golden, name);
  int files = 0;
  for (int width = 0, height = 0; golden >> name >> width >> height; ++files) {
    SCOPED_TRACE(name);
    const Image image = read_image(kGolden + name);
    ASSERT_EQ(image.width, width);
    ASSERT_EQ(image.height, height);
    ASSERT_EQ(image.rgb.size(), static_cast<size_t>(width * height * 3));
    std::array<double, 3> sum{};
    for (size_t i = 0; i < image.rgb.size(); ++i) sum[i % 3] += image.rgb[i];
    for (const double total : sum) {
      double mean = 0;
      golden >> mean;
      EXPECT_NEAR(total / (width * height), mean, name.ends_with(".jpg") ? 0.2 : 0.001);
    }
    for (int y = 0; y < height; y += 7)
      for (int x = 0; x < width; x += 11)
        for (int c = 0; c < 3; ++c) {
          int level = -1;
          golden >> level;
          ASSERT_NEAR(image.rgb[static_cast<size_t>((y * width + x) * 3 + c)], level, allowed_difference(name)) << x << "," << y;
        }
  }
  EXPECT_EQ(files, 12);
}

TEST(ReadImage, TurnsAsExifSays) {
  const Image image = read_image(kGolden + "exif6.jpg");
  EXPECT_EQ(image.width, 40);
  EXPECT_EQ(image.height, 100);
}

TEST(ReadImage, GreyIsEqualInAllChannels) {
  const Image image = read_image(kGolden + "grey.jpg");
  for (size_t i = 0; i < image.rgb.size(); i += 3)
    ASSERT_TRUE(image.rgb[i] == image.rgb[i + 1] && image.rgb[i] == image.rgb[i + 2]);
}

struct Broken {
  const char* name;
  const char* reason;
};

TEST(ReadImage, NamesFileAndReason) {
  for (const Broken& row : {Broken{"truncated.jpg", "the jpeg ends early"},
                            Broken{"thumbnail_truncated.jpg", "the jpeg ends early"}, Broken{"empty.jpg", "empty file"},
                            Broken{"text.jpg", "not a jpeg, png, webp or bmp"}, Broken{"absent.jpg", "no such file"}})
    EXPECT_EQ(error_of([&] { (void)read_image(kGolden + row.name); }), "3 " + kGolden + row.name + ": " + row.reason);
}

TEST(ReadImage, RefusesDamagedContent) {
  const Scratch scratch;
  std::string webp = read_file(kGolden + "lossless.webp");
  webp.replace(20, 40, 40, '\x55');
  const std::string file = scratch.write("a.webp", webp);
  EXPECT_EQ(error_of([&] { (void)read_image(file); }), "3 " + file + ": the webp is damaged");
}

TEST(ReadImage, RefusesASizeThatCannotBe) {
  const Scratch scratch;
  std::string bmp = read_file(kGolden + "plain.bmp");
  bmp.replace(18, 4, "\xFF\xFF\xFF\x0F");
  const std::string file = scratch.write("a.bmp", bmp);
  EXPECT_EQ(error_of([&] { (void)read_image(file); }), "3 " + file + ": the bmp is damaged");
}

TEST(ReadImage, RefusesAnotherFormatThatOpenCvWouldRead) {
  const Scratch scratch;
  const std::string file = scratch.write("a.png", "P6 1 1 255\nabc");
  EXPECT_EQ(error_of([&] { (void)read_image(file); }), "3 " + file + ": not a jpeg, png, webp or bmp");
}

TEST(ReadImage, LooksAtTheContentNotAtTheName) {
  const Scratch scratch;
  EXPECT_EQ(read_image(scratch.write("png.jpg", read_file(kGolden + "rgba.png"))).width, 100);
}

}  // namespace
}  // namespace pare
