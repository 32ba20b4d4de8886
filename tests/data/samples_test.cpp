#include "data/samples.h"

#include <gmock/gmock.h>

#include <set>

#include "base/parallel.h"
#include "data/npy.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

using testing::ElementsAre;

// Case 11 of the public faults: ten files of 100 x 40, of which three are broken.
const std::vector<std::string> kTen{"rgb.jpg",  "grey.jpg",  "grey_alpha.png", "rgba.png",  "palette.png",
                                    "cmyk.jpg", "exif6.jpg", "truncated.jpg",  "empty.jpg", "text.jpg"};

std::vector<std::string> golden(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(kGolden + name);
  return files;
}

TEST(ImageSource, UsesSevenOfTen) {
  ImageSource source(golden(kTen), preset("yolo"), 64, 96);
  ASSERT_EQ(source.size(), 10U);
  std::vector<std::optional<Sample>> samples(10);
  parallel_for(10, 4, [&](size_t i) { samples[i] = source.load(i); });
  for (size_t i = 0; i < 10; ++i) {
    SCOPED_TRACE(kTen[i]);
    ASSERT_EQ(samples[i].has_value(), i < 7);
    if (i >= 7) continue;
    EXPECT_EQ(samples[i]->name, kGolden + kTen[i]);
    ASSERT_EQ(samples[i]->inputs.size(), 1U);
    EXPECT_EQ(samples[i]->inputs[0].first, "");
    EXPECT_EQ(samples[i]->inputs[0].second.type(), DType::f32);
    EXPECT_EQ(samples[i]->inputs[0].second.shape(), (Shape{1, 3, 64, 96}));
    EXPECT_EQ(samples[i]->placement.image_width, kTen[i] == "exif6.jpg" ? 40 : 100);
    EXPECT_EQ(samples[i]->placement.image_height, kTen[i] == "exif6.jpg" ? 100 : 40);
  }
  (void)source.load(8);  // once more: not counted twice
  std::vector<std::string> skipped;
  for (const Skipped& row : source.skipped()) skipped.push_back(row.file.substr(kGolden.size()) + ": " + row.reason);
  EXPECT_THAT(skipped, ElementsAre("truncated.jpg: the jpeg ends early", "empty.jpg: empty file",
                                   "text.jpg: not a jpeg, png, webp or bmp"));
  EXPECT_EQ(source.used_text(), "7 of 10 used");
}

TEST(ImageSource, FailsOnceAllFilesProvedBroken) {
  ImageSource source(golden({"truncated.jpg", "empty.jpg"}), preset("yolo"), 64, 64);
  EXPECT_FALSE(source.load(1));
  EXPECT_EQ(error_of([&] { (void)source.load(0); }),
            "3 " + kGolden + "truncated.jpg: none of the 2 files can be used; the first: the jpeg ends early");
}

TEST(ImageSource, NeedsFiles) {
  EXPECT_EQ(error_of([] { ImageSource({}, preset("yolo"), 64, 64); }), "3 calibration set is empty");
}

TEST(ImageSource, DoesNotSkipForAWrongPreprocessing) {
  Preprocess preprocess = preset("imagenet");
  preprocess.crop_size = 224;
  ImageSource source(golden({"rgb.jpg", "grey.jpg"}), preprocess, 64, 64);
  EXPECT_EQ(error_of([&] { (void)source.load(0); }), "2 the preprocessing crops to 224, the network's input is 64x64");
}

TEST(ArraySource, GivesRowsByName) {
  ArraySource source(kGolden + "deflated.npz");
  ASSERT_EQ(source.size(), 2U);
  const auto sample = source.load(1);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->name, kGolden + "deflated.npz[1]");
  ASSERT_EQ(sample->inputs.size(), 2U);
  EXPECT_EQ(sample->inputs[0].first, "image");
  EXPECT_EQ(sample->inputs[0].second.shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(sample->inputs[0].second.as<float>()[0], 12);
  EXPECT_EQ(sample->inputs[1].second, Tensor::of<int64_t>({1, 1}, std::vector<int64_t>{6}));
  EXPECT_EQ(source.used_text(), "2 of 2 used");
}

TEST(ArraySource, TakesTheModelsInputs) {
  const auto one = ArraySource(kGolden + "stored.npz", {"size"}).load(0);
  ASSERT_EQ(one->inputs.size(), 1U);
  EXPECT_EQ(one->inputs[0].first, "size");
  const auto unnamed = ArraySource(kGolden + "f4.npy", {"input"}).load(1);
  ASSERT_EQ(unnamed->inputs.size(), 1U);
  EXPECT_EQ(unnamed->inputs[0].first, "input");
  EXPECT_THAT(unnamed->inputs[0].second.as<float>(), ElementsAre(3, 4, 5));
  EXPECT_EQ(ArraySource(kGolden + "uneven.npz", {"image"}).size(), 2U);  // what no input needs may have other rows
}

TEST(ArraySource, PartsHaveNoRowInCommon) {
  const Scratch scratch;
  struct Case {
    const char* name;
    int64_t rows;
    size_t held_out;
  };
  for (const Case& c : {Case{"single", 1, 1}, Case{"few", 3, 1}, Case{"many", 12, 2}}) {
    const std::string file = scratch.path(std::string(c.name) + ".npy");
    write_npy(file, Tensor(DType::f32, {c.rows, 2}));
    const ArraySource whole(file);
    ArraySource held_out = whole.part(true);
    ArraySource rest = whole.part(false);
    EXPECT_EQ(held_out.size(), c.held_out) << c.name;
    std::set<std::string> names;
    for (size_t i = 0; i < held_out.size(); ++i) names.insert(held_out.load(i)->name);
    for (size_t i = 0; i < rest.size(); ++i) names.insert(rest.load(i)->name);
    EXPECT_EQ(names.size(), static_cast<size_t>(c.rows)) << c.name;
    EXPECT_EQ(held_out.size() + rest.size(), static_cast<size_t>(c.rows == 1 ? 2 : c.rows)) << c.name;  // a single row is both
  }
}

TEST(ArraySource, RefusesByName) {
  const auto reason = [](const std::string& name, const std::vector<std::string>& inputs) {
    const std::string full = error_of([&] { ArraySource(kGolden + name, inputs); });
    return full.starts_with("3 " + kGolden + name + ": ") ? full.substr(kGolden.size() + name.size() + 4) : full;
  };
  EXPECT_EQ(reason("stored.npz", {"image", "mask"}), "has no array for the model's input 'mask', it holds: image, size");
  EXPECT_EQ(reason("uneven.npz", {}), "array 'size': holds 3 samples, 'image' holds 2");
  EXPECT_EQ(reason("scalar.npy", {}), "array '': is a single number, not samples");
  EXPECT_EQ(reason("no_rows.npy", {}), "calibration set is empty");
}

TEST(ArraySource, RefusesAnEmptyArchive) {
  const Scratch scratch;
  const std::string file = scratch.write("a.npz", std::string("PK\x05\x06", 4) + std::string(18, '\0'));
  EXPECT_EQ(error_of([&] { ArraySource{file}; }), "3 " + file + ": calibration set is empty");
}

}  // namespace
}  // namespace pare
