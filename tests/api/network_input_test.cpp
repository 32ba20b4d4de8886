#include "api/network_input.h"

#include <gmock/gmock.h>

#include "tests/api/api_files.h"

namespace pare {
namespace {

using models::Builder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Layout = Preprocess::Layout;

Graph network(Shape shape, DType type = DType::f32) {
  return Builder(13).input("images", std::move(shape), type).node("Identity", {"images"}, {"y"}).output("y", type).build();
}

Graph with_metadata(Graph graph, std::vector<std::pair<std::string, std::string>> metadata) {
  graph.metadata = std::move(metadata);
  return graph;
}

struct Settled {
  const char* name;
  Graph graph;
  DataOptions options;
  int height, width;
  const char* text;
  Layout layout = Layout::nchw;
};

TEST(SettleInput, FindsSizeAndLayout) {
  const DataOptions unit{.data = "", .val = "", .preprocess = "unit", .shape = ""};
  const DataOptions shaped{.data = "", .val = "", .preprocess = "unit", .shape = "1x3x24x40"};
  const DataOptions last{.data = "", .val = "", .preprocess = "unit", .shape = "1x24x40x3"};
  const DataOptions none{};
  const std::vector<Settled> cases{
      {"nchw", network({1, 3, 32, 48}), unit, 32, 48, "images:1x3x32x48"},
      {"nhwc", network({1, 32, 48, 3}), unit, 32, 48, "images:1x32x48x3", Layout::nhwc},
      {"free batch", network({-1, 3, 32, 48}), unit, 32, 48, "images:Nx3x32x48"},
      {"free size, --shape", network({1, 3, -1, -1}), shaped, 24, 40, "images:1x3x24x40"},
      {"all free, --shape", network({-1, -1, -1, -1}), shaped, 24, 40, "images:Nx3x24x40"},
      {"nhwc, free size, --shape", network({1, -1, -1, 3}), last, 24, 40, "images:1x24x40x3", Layout::nhwc},
      {"own size, --shape", network({1, 3, 32, 48}), shaped, 24, 40, "images:1x3x24x40"},
      {"imgsz", with_metadata(network({1, 3, -1, -1}), {{"imgsz", "[24, 40]"}}), unit, 24, 40, "images:1x3x24x40"},
      {"imgsz, nhwc", with_metadata(network({1, -1, -1, 3}), {{"imgsz", "[24, 40]"}}), unit, 24, 40, "images:1x24x40x3",
       Layout::nhwc},
      {"--shape before imgsz", with_metadata(network({1, 3, -1, -1}), {{"imgsz", "[64, 64]"}}), shaped, 24, 40,
       "images:1x3x24x40"},
      {"Ultralytics' metadata",
       with_metadata(network({1, 3, 64, 64}),
                     {{"stride", "32"}, {"task", "detect"}, {"imgsz", "[64, 64]"}, {"names", "{0: 'a'}"}}),
       none, 64, 64, "images:1x3x64x64"},
  };
  for (const Settled& c : cases) {
    Graph graph = c.graph;
    const NetworkInput input = settle_input(graph, c.options);
    EXPECT_EQ(input.height, c.height) << c.name;
    EXPECT_EQ(input.width, c.width) << c.name;
    EXPECT_EQ(input.text, c.text) << c.name;
    ASSERT_TRUE(input.preprocess) << c.name;
    EXPECT_EQ(input.preprocess->layout, c.layout) << c.name;
    EXPECT_THAT(input.names, ElementsAre("images")) << c.name;
    const auto& dims = *graph.inputs[0].dims;
    EXPECT_EQ(dims[c.layout == Layout::nchw ? 2 : 1].size, c.height) << c.name;
    EXPECT_EQ(dims[c.layout == Layout::nchw ? 3 : 2].size, c.width) << c.name;
  }
}

TEST(SettleInput, KeepsMetadataTrue) {
  Graph graph = with_metadata(network({1, 3, -1, -1}), {{"imgsz", "[64, 64]"}});
  settle_input(graph, {.data = "", .val = "", .preprocess = "unit", .shape = "1x3x24x40"});
  EXPECT_EQ(graph.metadata[0].second, "[24, 40]");
}

struct Unfit {
  const char* name;
  Graph graph;
  const char* preprocess;
  const char* shape;
  std::vector<std::string> parts;
};

TEST(SettleInput, SaysWhatDoesNotFit) {
  const Graph two =
      Builder(13).input("a", {1, 3, 8, 8}).input("b", {1, 3, 8, 8}).node("Add", {"a", "b"}, {"y"}).output("y").build();
  const std::vector<Unfit> cases{
      {"free size",
       network({1, 3, -1, -1}),
       "unit",
       "",
       {"4 input 'images' is 1x3x", "height and width are free", "--shape 1x3xHxW"}},
      {"rank 2", network({1, 3}), "unit", "", {"4 input 'images' is 1x3, an image is 1x3xHxW", "--data FILE.npz"}},
      {"int64",
       network({1, 3, 8, 8}, DType::i64),
       "unit",
       "",
       {"4 input 'images' is int64, images are float or uint8", "--data FILE.npz"}},
      {"4 channels",
       network({1, 4, 8, 8}),
       "unit",
       "",
       {"4 input 'images' is 1x4x8x8, no axis holds 3 channels", "--data FILE.npz"}},
      {"two inputs", two, "unit", "", {"4 the model has 2 inputs, images feed one", "--data FILE.npz"}},
      {"no --preprocess",
       network({1, 3, 8, 8}),
       "",
       "",
       {"2 ", "never guessed", "--preprocess yolo, imagenet, tf, unit, none or a JSON file"}},
      {"unknown preset", network({1, 3, 8, 8}), "caffe", "", {"2 ", "caffe", "imagenet"}},
      {"--shape of another rank", network({1, 3, 8, 8}), "unit", "3x8x8", {"2 --shape: 3x8x8 has another rank"}},
      {"--shape of other channels", network({1, 3, 8, 8}), "unit", "1x1x8x8", {"2 --shape: 1x1x8x8 differs from the model's 3"}},
      {"--shape, two inputs", two, "unit", "1x3x8x8", {"2 --shape: ", "more than one input"}},
  };
  for (const Unfit& c : cases) {
    Graph graph = c.graph;
    const std::string error =
        error_of([&] { settle_input(graph, {.data = "", .val = "", .preprocess = c.preprocess, .shape = c.shape}); });
    for (const std::string& part : c.parts) EXPECT_THAT(error, HasSubstr(part)) << c.name;
  }
  for (const char* shape : {"1x3x", "x3", "1,3,8,8", "1x3x8x8x", "1x3x-8x8", "1x3x0x8", "1x3x8.5x8", " 1x3x8x8", "abc", "1xx3",
                            "99999999999999999999"}) {
    Graph graph = network({1, 3, 8, 8});
    EXPECT_THAT(error_of([&] { settle_input(graph, {.data = "", .val = "", .preprocess = "unit", .shape = shape}); }),
                HasSubstr("2 --shape: '" + std::string(shape) + "' is no shape; write it as"));
  }
}

TEST(SettleInput, TakesNHWCPreprocessingForNHWCOnly) {
  const Scratch scratch;
  const std::string json = scratch.write("p.json", R"({"layout": "nhwc"})");
  Graph last = network({1, 8, 8, 3});
  EXPECT_EQ(settle_input(last, {.data = "", .val = "", .preprocess = json, .shape = ""}).preprocess->layout, Layout::nhwc);
  Graph first = network({1, 3, 8, 8});
  EXPECT_THAT(error_of([&] { settle_input(first, {.data = "", .val = "", .preprocess = json, .shape = ""}); }),
              HasSubstr("2 --preprocess: "));
}

/// The names of the samples, without folders.
std::vector<std::string> names_of(const std::unique_ptr<SampleSource>& source) {
  std::vector<std::string> names;
  for (size_t i = 0; source && i < source->size(); ++i) names.push_back(std::filesystem::path(source->load(i)->name).filename());
  return names;
}

Sources opened(const DataOptions& options) {
  Graph graph = network({1, 3, 8, 8});
  return open_sources(settle_input(graph, options), options);
}

TEST(SettleInput, BytesAreNotNormalized) {
  const Scratch scratch;
  const DataOptions none{.data = "", .val = "", .preprocess = "none", .shape = ""};
  for (const Shape& shape : {Shape{1, 3, 8, 8}, Shape{1, 8, 8, 3}}) {
    Graph bytes = network(shape, DType::u8);
    EXPECT_EQ(settle_input(bytes, none).type, DType::u8);
    for (const char* normalizes : {"yolo", "imagenet", "tf", "unit"})
      EXPECT_THAT(error_of([&] { settle_input(bytes, {.data = "", .val = "", .preprocess = normalizes, .shape = ""}); }),
                  HasSubstr("2 --preprocess: input 'images' is uint8, which takes pixels as they are"));
  }
  const std::string box = scratch.write("p.json", R"({"letterbox": true, "mean": 0, "std": 1})");
  Graph bytes = network({1, 8, 8, 3}, DType::u8);
  EXPECT_EQ(settle_input(bytes, {.data = "", .val = "", .preprocess = box, .shape = ""}).preprocess->resize,
            Preprocess::Resize::letterbox);
  Graph half = network({1, 3, 8, 8}, DType::f16);
  EXPECT_EQ(settle_input(half, {.data = "", .val = "", .preprocess = "unit", .shape = ""}).type, DType::f16);
}

TEST(OpenSources, FeedsTheTypeOfTheInput) {
  const Scratch scratch;
  const std::string folder = write_images(scratch, "images", 3);
  const auto first = [&](DType type, const char* preprocess) {
    const DataOptions options{.data = folder, .val = "", .preprocess = preprocess, .shape = ""};
    Graph graph = network({1, 8, 8, 3}, type);
    return open_sources(settle_input(graph, options), options).calibration->load(0)->inputs[0].second;
  };
  const Tensor floats = first(DType::f32, "none"), bytes = first(DType::u8, "none");
  ASSERT_EQ(bytes.type(), DType::u8);
  EXPECT_EQ(to_floats(bytes), to_floats(floats));
  EXPECT_EQ(first(DType::f16, "unit"), converted(first(DType::f32, "unit"), DType::f16));
}

TEST(OpenSources, SplitsByHashWhereNothingElseIsSaid) {
  const Scratch scratch;
  const std::string folder = write_images(scratch, "images", 20);
  const Sources sources = opened({.data = folder, .val = "", .preprocess = "unit", .shape = ""});
  const Split split = split_held_out(open_dataset(folder).files);
  EXPECT_THAT(names_of(sources.calibration), SizeIs(split.calibration.size()));
  EXPECT_THAT(names_of(sources.held_out), SizeIs(split.held_out.size()));
  EXPECT_EQ(sources.calibration->load(0)->name, split.calibration[0]);
  EXPECT_EQ(sources.held_out->load(0)->name, split.held_out[0]);
  EXPECT_GT(split.held_out.size(), 0U);
}

TEST(OpenSources, TakesValOfTheOptionThenOfTheYaml) {
  const Scratch scratch;
  (void)write_images(scratch, "train", 3);
  for (const char* name : {"v1", "v2"}) (void)scratch.write(std::string("val/") + name + ".bmp", bmp(5));
  (void)scratch.write("other/o.bmp", bmp(6));
  const std::string yaml = scratch.write("d.yaml", "path: " + scratch.path() + "\ntrain: train\nval: val\nnames: {0: a}\n");
  const Sources own = opened({.data = yaml, .val = "", .preprocess = "unit", .shape = ""});
  EXPECT_THAT(names_of(own.calibration), UnorderedElementsAre("0.bmp", "1.bmp", "2.bmp"));
  EXPECT_THAT(names_of(own.held_out), UnorderedElementsAre("v1.bmp", "v2.bmp"));
  const Sources option = opened({.data = yaml, .val = scratch.path("other"), .preprocess = "unit", .shape = ""});
  EXPECT_THAT(names_of(option.calibration), SizeIs(3));
  EXPECT_THAT(names_of(option.held_out), ElementsAre("o.bmp"));
  const Sources one = opened({.data = scratch.path("other"), .val = "", .preprocess = "unit", .shape = ""});
  EXPECT_THAT(names_of(one.calibration), ElementsAre("o.bmp"));
  EXPECT_EQ(one.held_out, nullptr);
}

TEST(OpenSources, GivesEachInputItsArray) {
  const Scratch scratch;
  const Tensor rows(DType::f32, {4, 3, 8, 8});
  const std::string one = scratch.write("one.npz", npz({{"whatever", rows}}));
  const std::string more = scratch.write("more.npz", npz({{"labels", Tensor(DType::f32, {4})}, {"images", rows}}));
  for (const std::string& file : {one, more}) {
    const Sources sources = opened({.data = file, .val = "", .preprocess = "", .shape = ""});
    EXPECT_EQ(sources.calibration->size(), 3U);
    EXPECT_EQ(sources.held_out->load(0)->name, file + "[3]");
    const auto sample = sources.calibration->load(2);
    ASSERT_EQ(sample->inputs.size(), 1U);
    EXPECT_EQ(sample->inputs[0].first, "images");
    EXPECT_EQ(sample->inputs[0].second.shape(), (Shape{1, 3, 8, 8}));
  }
  const std::string none = scratch.write("none.npz", npz({{"a", rows}, {"b", rows}}));
  EXPECT_THAT(error_of([&] { opened({.data = none, .val = "", .preprocess = "", .shape = ""}); }),
              HasSubstr("has no array for the model's input 'images', it holds: a, b"));
}

TEST(OpenSources, NeedsDataOfOneKind) {
  const Scratch scratch;
  const std::string arrays = scratch.write("a.npz", npz({{"images", Tensor(DType::f32, {4, 3, 8, 8})}}));
  const std::string images = write_images(scratch, "images", 3);
  EXPECT_THAT(error_of([&] { opened({.data = "", .val = "", .preprocess = "unit", .shape = ""}); }),
              HasSubstr("2 no data; give the samples with --data"));
  EXPECT_THAT(error_of([&] { opened({.data = images, .val = arrays, .preprocess = "unit", .shape = ""}); }),
              HasSubstr("2 " + arrays + ": one of --data and --val"));
  EXPECT_THAT(error_of([&] { opened({.data = arrays, .val = images, .preprocess = "unit", .shape = ""}); }),
              HasSubstr("2 " + images + ": one of --data and --val"));
}

}  // namespace
}  // namespace pare
