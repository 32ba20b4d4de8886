#include "demo/scenes.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "pare/error.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Folder {
  fs::path path;
  explicit Folder(const std::string& name) : path(fs::temp_directory_path() / (name + std::to_string(getpid()))) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
};

/// Columns and rows in which two scenes of one size differ: {left, top, right, bottom}, right and bottom one beyond.
std::array<int, 4> difference(const Scene& a, const Scene& b) {
  std::array<int, 4> box{a.width, a.height, 0, 0};
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    if (a.rgb[i] == b.rgb[i]) continue;
    const int x = static_cast<int>(i / 3) % a.width;
    const int y = static_cast<int>(i / 3) / a.width;
    box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1), std::max(box[3], y + 1)};
  }
  return box;
}

double overlap(const SceneLabel& a, const SceneLabel& b) {
  return std::max(0.0, std::min(a.right, b.right) - std::max(a.left, b.left)) *
         std::max(0.0, std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
}

double area(const SceneLabel& box) { return (box.right - box.left) * (box.bottom - box.top); }

TEST(Scenes, FollowFromTheSeed) {
  const Scene a = draw_scene({.seed = 11});
  const Scene b = draw_scene({.seed = 11});
  const Scene c = draw_scene({.seed = 12});
  EXPECT_EQ(a.rgb, b.rgb);
  EXPECT_EQ(a.labels.size(), b.labels.size());
  EXPECT_NE(a.rgb, c.rgb);
}

// FNV-1a of pixels and boxes, recorded on x86-64 with GCC 12: the scenes that the committed detector was trained on.
TEST(Scenes, AreTheSameOnEveryMachine) {
  uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](uint64_t byte) { hash = (hash ^ byte) * 0x100000001B3U; };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Scene scene = draw_scene({.seed = seed});
    for (const uint8_t v : scene.rgb) add(v);
    for (const SceneLabel& box : scene.labels)
      for (const double v : {box.left, box.top, box.right, box.bottom}) add(static_cast<uint64_t>(std::lround(16 * v)));
  }
  EXPECT_EQ(hash, 2602715339658720805U);
}

TEST(Scenes, TakeTheGivenSize) {
  const Scene scene = draw_scene({.seed = 3, .width = 100, .height = 64});
  EXPECT_EQ(scene.width, 100);
  EXPECT_EQ(scene.height, 64);
  EXPECT_EQ(scene.rgb.size(), 100U * 64U * 3U);
  try {
    draw_scene({.seed = 3, .width = 63});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage);
  }
}

// What object k changes is what its box must hold: the scene with k+1 objects less the scene with k.
TEST(Scenes, BoxesAreTight) {
  int seen = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Scene before = draw_scene({.seed = seed, .object_limit = 0});
    EXPECT_TRUE(before.labels.empty());
    const size_t count = draw_scene({.seed = seed}).labels.size();
    for (size_t k = 0; k < count; ++k) {
      const Scene after = draw_scene({.seed = seed, .object_limit = static_cast<int>(k) + 1});
      ASSERT_EQ(after.labels.size(), k + 1);
      const SceneLabel& label = after.labels.back();
      const auto [left, top, right, bottom] = difference(before, after);
      EXPECT_NEAR(label.left, left, 1.5) << "seed " << seed << " object " << k << " class " << label.label;
      EXPECT_NEAR(label.top, top, 1.5) << "seed " << seed << " object " << k << " class " << label.label;
      EXPECT_NEAR(label.right, right, 1.5) << "seed " << seed << " object " << k << " class " << label.label;
      EXPECT_NEAR(label.bottom, bottom, 1.5) << "seed " << seed << " object " << k << " class " << label.label;
      before = after;
      ++seen;
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(Scenes, LabelsKeepTheirPromises) {
  std::map<int, int> per_class;
  std::set<std::pair<int, int>> sizes;
  double smallest = 1e9, largest = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Scene scene = draw_scene({.seed = seed});
    sizes.insert({scene.width, scene.height});
    EXPECT_THAT(scene.labels.size(), testing::AllOf(testing::Ge(1U), testing::Le(8U)));
    for (size_t i = 0; i < scene.labels.size(); ++i) {
      const SceneLabel& a = scene.labels[i];
      ++per_class[a.label];
      EXPECT_GE(a.left, 0);
      EXPECT_GE(a.top, 0);
      EXPECT_LE(a.right, scene.width);
      EXPECT_LE(a.bottom, scene.height);
      smallest = std::min(smallest, a.right - a.left);
      largest = std::max(largest, a.right - a.left);
      for (size_t j = 0; j < i; ++j) {
        const SceneLabel& b = scene.labels[j];
        EXPECT_LE(overlap(a, b), 0.2 * std::min(area(a), area(b)) + 1e-9);
      }
    }
  }
  ASSERT_EQ(per_class.size(), kSceneClasses.size());
  for (const auto& [label, count] : per_class) EXPECT_GT(count, 150) << kSceneClasses[static_cast<size_t>(label)];
  EXPECT_GT(sizes.size(), 200U);
  EXPECT_LT(smallest, 14);
  EXPECT_GT(largest, 90);
}

TEST(Scenes, WriteAYoloDataset) {
  const Folder first("pare_scenes_a");
  const Folder second("pare_scenes_b");
  write_scenes(first.path, 3, 2, 5);
  write_scenes(second.path, 1, 4, 5);
  for (const char* name : {"train/000000", "val/000000", "val/000001"}) {
    const std::string image = bytes_of(first.path / "images" / (std::string(name) + ".png"));
    EXPECT_EQ(image.substr(1, 3), "PNG");
    EXPECT_EQ(image, bytes_of(second.path / "images" / (std::string(name) + ".png"))) << name;
    const std::string labels = bytes_of(first.path / "labels" / (std::string(name) + ".txt"));
    EXPECT_EQ(labels, bytes_of(second.path / "labels" / (std::string(name) + ".txt"))) << name;
    std::istringstream rows(labels);
    int label = 0;
    double x = 0, y = 0, w = 0, h = 0;
    int count = 0;
    while (rows >> label >> x >> y >> w >> h) {
      ++count;
      EXPECT_THAT(label, testing::AllOf(testing::Ge(0), testing::Lt(5)));
      for (const double low : {x - w / 2, y - h / 2}) EXPECT_GE(low, 0);
      for (const double high : {x + w / 2, y + h / 2}) EXPECT_LE(high, 1);
    }
    EXPECT_GT(count, 0);
    EXPECT_TRUE(rows.eof());
  }
  EXPECT_FALSE(fs::exists(first.path / "images/train/000003.png"));
  EXPECT_NE(bytes_of(first.path / "images/train/000000.png"), bytes_of(first.path / "images/val/000000.png"));
  EXPECT_EQ(bytes_of(first.path / "data.yaml"),
            "path: " + first.path.string() +
                "\ntrain: images/train\nval: images/val\nnames:\n  0: disc\n  1: square\n  2: triangle\n  3: ring\n  4: cross\n");
}

TEST(Scenes, NameTheFolderThatCannotBeWritten) {
  const Folder file("pare_scenes_file");
  std::ofstream(file.path) << "not a folder";
  try {
    write_scenes(file.path, 1, 0, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::system);
    EXPECT_THAT(e.place(), testing::HasSubstr(file.path.string()));
  }
}

}  // namespace
}  // namespace pare
