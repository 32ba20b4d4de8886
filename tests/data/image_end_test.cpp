#include "data/image_end.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct Case {
  const char* file;
  ImageFormat format;
  bool whole_without_last_byte;
};

class ImageEnd : public testing::TestWithParam<Case> {};

TEST_P(ImageEnd, IsSeenInAWholeFileOnly) {
  std::string content = read_file(kGolden + GetParam().file);
  ASSERT_EQ(image_format(bytes_of(content)), GetParam().format);
  EXPECT_TRUE(is_whole(GetParam().format, bytes_of(content)));
  content.pop_back();
  EXPECT_EQ(is_whole(GetParam().format, bytes_of(content)), GetParam().whole_without_last_byte);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ImageEnd,
    testing::Values(Case{"rgb.jpg", ImageFormat::jpeg, false}, Case{"progressive.jpg", ImageFormat::jpeg, false},
                    Case{"exif6.jpg", ImageFormat::jpeg, false}, Case{"trailing.jpg", ImageFormat::jpeg, true},
                    Case{"rgba.png", ImageFormat::png, false}, Case{"palette.png", ImageFormat::png, false},
                    Case{"lossless.webp", ImageFormat::webp, false}, Case{"plain.bmp", ImageFormat::bmp, false}));

TEST(ImageFormatOf, EveryPrefixIsHandled) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "rgba.png", "lossless.webp", "plain.bmp"}) {
    const std::string content = read_file(kGolden + name);
    for (size_t n = 0; n < content.size(); ++n) {
      const std::string prefix = content.substr(0, n);
      EXPECT_FALSE(is_whole(image_format(bytes_of(prefix)), bytes_of(prefix))) << name << " " << n;
    }
  }
}

TEST(ImageFormatOf, HasNames) {
  EXPECT_EQ(format_name(ImageFormat::jpeg), "jpeg");
  EXPECT_EQ(format_name(ImageFormat::bmp), "bmp");
  EXPECT_EQ(format_name(image_format({})), "unknown");
}

}  // namespace
}  // namespace pare
