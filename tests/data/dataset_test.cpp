#include "data/dataset.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/data/scratch.h"

namespace pare {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// The files' names below the scratch folder.
std::vector<std::string> below(const Scratch& scratch, const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(fs::path(file).lexically_relative(scratch.path()).string());
  return names;
}

void write_all(const Scratch& scratch, const std::vector<std::string>& names) {
  for (const std::string& name : names) (void)scratch.write(name, "x");
}

TEST(OpenDataset, FolderIsRecursiveSortedAndCountsTheRest) {
  const Scratch scratch;
  write_all(scratch, {"b.jpg", "sub/a.PNG", "a.jpeg", "c.webp", "d.bmp", "sub/a.txt", "notes.md", "e.tif"});
  fs::create_symlink("/absent", scratch.path("dangling.jpg"));
  const Dataset dataset = open_dataset(scratch.path());
  EXPECT_EQ(dataset.kind, Dataset::Kind::images);
  EXPECT_EQ(dataset.source, scratch.path());
  EXPECT_THAT(below(scratch, dataset.files), ElementsAre("a.jpeg", "b.jpg", "c.webp", "d.bmp", "sub/a.PNG"));
  EXPECT_EQ(dataset.ignored, 3U);
  EXPECT_THAT(dataset.held_out, IsEmpty());
}

TEST(OpenDataset, ListIsRelativeToItself) {
  const Scratch scratch;
  write_all(scratch, {"list/a.jpg", "list/sub/b.jpg", "list/c d.jpg"});
  const std::string absolute = scratch.write("else.jpg", "x");
  const std::string list =
      scratch.write("list/all.txt", "# comment\nsub/b.jpg\r\n\n  ./c d.jpg \n" + absolute + "\nmissing.jpg\na.jpg");
  EXPECT_THAT(below(scratch, open_dataset(list).files),
              ElementsAre("list/sub/b.jpg", "list/c d.jpg", "else.jpg", "list/missing.jpg", "list/a.jpg"));
}

TEST(OpenDataset, ListFallsBackToTheWorkingDirectory) {
  const Scratch scratch;
  write_all(scratch, {"here.jpg"});
  const std::string list = scratch.write("list/deeper/still/than/the/working/directory/all.txt", "here.jpg");
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const std::vector<std::string> files = open_dataset(list).files;
  fs::current_path(before);
  EXPECT_THAT(files, ElementsAre("here.jpg"));
}

TEST(OpenDataset, YamlGivesTrainValAndNames) {
  const Scratch scratch;
  write_all(scratch, {"data/images/train/1.jpg", "data/images/train/0.jpg", "data/images/val/2.jpg", "data/more/3.jpg"});
  (void)scratch.write("data/list.txt", "more/3.jpg\n");
  const Dataset dataset = open_dataset(scratch.write("set/coco.yaml", R"(path: ../data
train: [images/train, list.txt]
val: images/val
test:
names:
  0: person
  1: "driver's seat, left"
)"));
  EXPECT_THAT(below(scratch, dataset.files),
              ElementsAre("data/images/train/0.jpg", "data/images/train/1.jpg", "data/more/3.jpg"));
  EXPECT_THAT(below(scratch, dataset.held_out), ElementsAre("data/images/val/2.jpg"));
  EXPECT_THAT(dataset.names, ElementsAre("person", "driver's seat, left"));
}

TEST(OpenDataset, YamlWithoutPathValOrNames) {
  const Scratch scratch;
  write_all(scratch, {"set/train/images/1.jpg"});
  const Dataset dataset = open_dataset(scratch.write("set/data.yml", "train: ../train/images\nnc: 2\nnames: ['a', 'b']\n"));
  EXPECT_THAT(below(scratch, dataset.files), ElementsAre("set/train/images/1.jpg"));  // as Roboflow writes it
  EXPECT_THAT(dataset.held_out, IsEmpty());
  EXPECT_THAT(dataset.names, ElementsAre("a", "b"));
}

TEST(OpenDataset, ArraysAreOneFile) {
  const Dataset dataset = open_dataset(kGolden + "stored.npz");
  EXPECT_EQ(dataset.kind, Dataset::Kind::arrays);
  EXPECT_THAT(dataset.files, ElementsAre(kGolden + "stored.npz"));
}

TEST(OpenDataset, RefusesByName) {
  const Scratch scratch;
  fs::create_directories(scratch.path("empty"));
  write_all(scratch, {"labels/a.txt", "model.onnx", "a.jpg"});
  const auto reason = [&](const std::string& argument) {
    const std::string full = error_of([&] { (void)open_dataset(argument); });
    return full.starts_with("3 " + argument + ": ") ? full.substr(argument.size() + 4) : full;
  };
  EXPECT_EQ(reason(scratch.path("empty")), "calibration set is empty");
  EXPECT_EQ(reason(scratch.path("labels")), "calibration set is empty");
  EXPECT_EQ(reason(scratch.write("list.txt", "# nothing\n\n")), "calibration set is empty");
  EXPECT_EQ(reason(scratch.path("absent")), "no such file or folder");
  EXPECT_EQ(reason("/tmp/" + std::string(5000, 'x')), "no such file or folder");
  EXPECT_EQ(reason(scratch.path("model.onnx")),
            "is no data set; give a folder of images, a .txt list, a YOLO .yaml, .npy or .npz");
  EXPECT_EQ(reason(scratch.write("a.yaml", "train: empty\n")), "calibration set is empty");
  EXPECT_EQ(reason(scratch.write("a.yaml", "val: empty\n")), "names no 'train' images");
  EXPECT_EQ(reason(scratch.write("a.yaml", "- train\n")), "names no 'train' images");
  EXPECT_EQ(reason(scratch.write("a.yaml", "train: absent\n")), scratch.path("absent") + ": no such file or folder");
  EXPECT_EQ(reason(scratch.write("a.yaml", "train: a.jpg\n")),
            scratch.path("a.jpg") + ": is neither a folder nor a .txt list of images");
  EXPECT_THAT(reason(scratch.write("a.yaml", "train: x\nnames: [a\n")), testing::StartsWith("line "));
  EXPECT_THAT(reason(scratch.write("a.yaml", "train: {a: b}\n")), testing::StartsWith("line 1: "));
  EXPECT_THAT(reason(scratch.write("a.yaml", "train: labels\nnames: {x: a}\n")), testing::StartsWith("line 2: "));
}

TEST(OpenDataset, RefusesAFolderItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const Scratch scratch;
  write_all(scratch, {"closed/a.jpg", "b.jpg"});
  fs::permissions(scratch.path("closed"), fs::perms::none);
  EXPECT_THAT(error_of([&] { (void)open_dataset(scratch.path()); }),
              testing::StartsWith("6 " + scratch.path() + ": cannot be listed: "));
  fs::permissions(scratch.path("closed"), fs::perms::owner_all);
}

std::vector<std::string> numbered(const std::string& before, int count) {
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) files.push_back(before + std::to_string(i) + ".jpg");
  return files;
}

// Indices computed in Python from the published constants of FNV-1a 64.
TEST(SplitHeldOut, FollowsTheHashOfTheName) {
  const Split split = split_held_out(numbered("img", 10));
  EXPECT_THAT(split.held_out, ElementsAre("img0.jpg", "img3.jpg", "img8.jpg"));
  EXPECT_EQ(split.calibration.size(), 7U);
  EXPECT_EQ(split.calibration[2], "img4.jpg");
}

TEST(SplitHeldOut, IgnoresFoldersAndOrder) {
  std::vector<std::string> files = numbered("/other/folder/img", 10);
  std::reverse(files.begin(), files.end());
  EXPECT_THAT(split_held_out(files).held_out,
              ElementsAre("/other/folder/img8.jpg", "/other/folder/img3.jpg", "/other/folder/img0.jpg"));
}

struct Few {
  int count;
  std::vector<std::string> held_out;
};

TEST(SplitHeldOut, FewFilesStillGiveBothParts) {
  for (const Few& row : {Few{0, {}}, Few{1, {}}, Few{2, {"img1.jpg"}}, Few{3, {"img1.jpg"}}, Few{4, {"img0.jpg", "img3.jpg"}}}) {
    const Split split = split_held_out(numbered("img", row.count));
    EXPECT_EQ(split.held_out, row.held_out) << row.count;
    EXPECT_EQ(split.calibration.size() + split.held_out.size(), static_cast<size_t>(row.count));
  }
}

TEST(SplitHeldOut, EqualNamesInSeveralFolders) {
  std::vector<std::string> files;
  for (int i = 0; i < 10; ++i) files.push_back("/" + std::to_string(i) + "/img0.jpg");
  EXPECT_THAT(split_held_out(files).held_out, ElementsAre("/0/img0.jpg", "/1/img0.jpg"));
}

}  // namespace
}  // namespace pare
