#include "data/labels.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/data/scratch.h"

namespace pare {
namespace {

struct Path {
  const char* image;
  const char* label;
};

TEST(LabelFile, LastImagesFolderBecomesLabels) {
  for (const Path& row :
       {Path{"/d/images/val/a.jpg", "/d/labels/val/a.txt"}, Path{"images/a.b.png", "labels/a.b.txt"},
        Path{"/images/x/images/a.jpg", "/images/x/labels/a.txt"}, Path{"/d/my_images/a.jpg", "/d/my_images/a.txt"},
        Path{"/d/images", "/d/images.txt"}, Path{"a.jpg", "a.txt"}})
    EXPECT_EQ(label_file(row.image), row.label);
}

TEST(ReadLabels, ReadsObjects) {
  const Scratch scratch;
  (void)scratch.write("labels/a.txt", "45 0.479492 0.688771 0.955609 0.5955\r\n\n 0  0.5 1 0.25 0\n");
  const Labels labels = read_labels(scratch.path("images/a.jpg"));
  EXPECT_TRUE(labels.found);
  ASSERT_EQ(labels.objects.size(), 2U);
  EXPECT_EQ(labels.objects[0].cls, 45);
  EXPECT_FLOAT_EQ(labels.objects[0].x, 0.479492F);
  EXPECT_FLOAT_EQ(labels.objects[0].y, 0.688771F);
  EXPECT_FLOAT_EQ(labels.objects[0].w, 0.955609F);
  EXPECT_FLOAT_EQ(labels.objects[0].h, 0.5955F);
  EXPECT_EQ(labels.objects[1].cls, 0);
}

TEST(ReadLabels, NoFileMeansNoObjects) {
  const Scratch scratch;
  EXPECT_FALSE(read_labels(scratch.path("images/a.jpg")).found);
  (void)scratch.write("labels/b.txt", "");
  const Labels empty = read_labels(scratch.path("images/b.jpg"));
  EXPECT_TRUE(empty.found);
  EXPECT_TRUE(empty.objects.empty());
}

struct Malformed {
  const char* line;
  const char* reason;
};

TEST(ReadLabels, NamesFileAndLine) {
  const Scratch scratch;
  for (const Malformed& row :
       {Malformed{"0 0.5 0.5 0.5", "has 4 columns, allowed are 5: class x y width height"},
        Malformed{"0 0.1 0.2 0.3 0.4 0.5 0.6", "has 7 columns, allowed are 5: class x y width height"},
        Malformed{"cat 0.5 0.5 0.5 0.5", "'cat' is not a number"}, Malformed{"0 0.5x 0.5 0.5 0.5", "'0.5x' is not a number"},
        Malformed{"-1 0.5 0.5 0.5 0.5", "class -1, allowed are whole numbers from 0"},
        Malformed{"1.5 0.5 0.5 0.5 0.5", "class 1.5, allowed are whole numbers from 0"},
        Malformed{"0 320 0.5 0.5 0.5", "coordinate 320, allowed are 0 to 1"},
        Malformed{"0 0.5 nan 0.5 0.5", "coordinate nan, allowed are 0 to 1"}}) {
    const std::string file = scratch.write("labels/a.txt", std::string("0 0.5 0.5 0.5 0.5\n") + row.line + "\n");
    EXPECT_EQ(error_of([&] { (void)read_labels(scratch.path("images/a.jpg")); }), "3 " + file + ":2: " + row.reason);
  }
}

TEST(ReadLabels, ReadsTheSharedDataSet) {
  const std::string folder = PARE_SHARED "/data/coco128/images/val2017";
  if (!std::filesystem::exists(folder)) GTEST_SKIP();
  size_t objects = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    objects += read_labels(entry.path().string()).objects.size();
  EXPECT_GT(objects, 500U);
}

}  // namespace
}  // namespace pare
