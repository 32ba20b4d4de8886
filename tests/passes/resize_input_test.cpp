#include "passes/resize_input.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "data/image.h"
#include "data/preprocess.h"
#include "ir/load.h"
#include "ir/shapes.h"
#include "runtime/session.h"
#include "tests/models/builder.h"
#include "verify/agreement.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using models::ints;
using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const Graph& graph, const Shape& shape) {
  try {
    resize_input(graph, shape);
  } catch (const Error& e) {
    return std::to_string(static_cast<int>(e.kind())) + " " + e.what();
  }
  return "";
}

void expect_equal(const Graph& a, const Graph& b, const Shape& input) {
  const Tensor x = models::random(input, 3);
  const auto one = Session(a).run({{"", x}}), two = Session(b).run({{"", x}});
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].shape(), two[i].shape());
    EXPECT_EQ(one[i], two[i]);
  }
}

/// Where a table keeps x, y and the positions.
enum class Tables { rows, columns, product };

struct Style {
  int64_t classes = 5;
  Tables tables = Tables::rows;
  bool batch_open = false;  ///< the targets begin with -1
  bool plus_plane = false;  ///< a Reshape to 1 x C x h x w
  float offset = .5F;
  float unit = 0;  ///< step of the grid; 0: 1
};

/// The grid's x and y of all levels, and each position's stride.
struct Grid {
  std::vector<float> x, y, stride;
};

Grid grid_of(int64_t h, int64_t w, const Style& style) {
  Grid g;
  for (const int64_t s : {8, 16})
    for (int64_t row = 0; row < h / s; ++row)
      for (int64_t column = 0; column < w / s; ++column) {
        const float unit = style.unit == 0 ? 1 : style.unit / static_cast<float>(w / s);
        g.x.push_back(unit * (static_cast<float>(column) + style.offset));
        g.y.push_back(unit * (static_cast<float>(row) + style.offset));
        g.stride.push_back(static_cast<float>(s));
      }
  return g;
}

/// Two levels of stride 8 and 16, each reshaped to 1 x C x (h w), joined; distances become boxes by grid and strides.
Builder detector(int64_t h, int64_t w, const Style& style = {}) {
  const int64_t channels = 16 + style.classes, n = h * w / 64 + h * w / 256, first = style.batch_open ? -1 : 1;
  const auto conv = [](int64_t stride) {
    return std::map<std::string, Attribute>{{"strides", std::vector<int64_t>{stride, stride}},
                                            {"kernel_shape", std::vector<int64_t>{stride, stride}}};
  };
  Builder b(13);
  b.input("images", {style.batch_open ? -1 : 1, 3, h, w});
  b.weights("w8", {channels, 3, 8, 8}).constant("b8", Tensor(DType::f32, {channels}));
  b.weights("w16", {channels, channels, 2, 2}, -.1F, .1F).weights("b16", {channels});
  b.node("Conv", {"images", "w8", "b8"}, {"p8"}, conv(8)).node("Conv", {"p8", "w16", "b16"}, {"p16"}, conv(2));
  b.constant("t8", ints({first, channels, h * w / 64})).constant("t16", ints({first, channels, h * w / 256}));
  b.node("Reshape", {"p8", "t8"}, {"r8"}).node("Reshape", {"p16", "t16"}, {"r16"});
  b.node("Concat", {"r8", "r16"}, {"all"}, {{"axis", int64_t{2}}});
  b.constant("parts", ints({16, style.classes})).node("Split", {"all", "parts"}, {"dist", "cls"}, {{"axis", int64_t{1}}});
  b.constant("t4", ints({first, 4, 4, n})).node("Reshape", {"dist", "t4"}, {"d4"});
  b.node("ReduceSum", {"d4", "two"}, {"d"}, {{"keepdims", int64_t{0}}}).constant("two", ints({2}));
  b.constant("halves", ints({2, 2})).node("Split", {"d", "halves"}, {"lt", "rb"}, {{"axis", int64_t{1}}});

  const Grid g = grid_of(h, w, style);
  std::vector<float> xy = g.x;
  xy.insert(xy.end(), g.y.begin(), g.y.end());
  std::string grid = "grid", from = "lt";
  if (style.tables == Tables::columns) {
    std::vector<float> pairs;
    for (size_t i = 0; i < g.x.size(); ++i) pairs.push_back(g.x[i]), pairs.push_back(g.y[i]);
    b.constant("grid", floats({1, n, 2}, pairs)).constant("stride", floats({n, 1}, g.stride));
    b.node("Transpose", {"lt"}, {"ltt"}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    from = "ltt";
  } else {
    b.constant("grid", floats({1, 2, n}, xy)).constant("stride", floats({1, n}, g.stride));
  }
  if (style.tables == Tables::product) {
    b.node("Mul", {"grid", "stride"}, {"pixels"}).node("Add", {"pixels", from}, {"xy"});
  } else {
    b.node("Sub", {grid, from}, {"moved"}).node("Mul", {"moved", "stride"}, {"xy"});
  }
  b.node("Sigmoid", {"cls"}, {"scores"}).output("xy").output("scores").output("rb");
  if (style.plus_plane) {
    b.constant("tp", ints({first, channels, h / 8, w / 8})).node("Reshape", {"r8", "tp"}, {"plane"}).output("plane");
  }
  return b;
}

struct Resized {
  const char* name;
  int64_t h, w, new_h, new_w;
  Style style = {};
};

TEST(ResizeInput, EqualsTheExportForTheNewSize) {
  for (const Resized& c : std::vector<Resized>{
           {"smaller", 64, 64, 32, 48},
           {"larger", 64, 64, 96, 160},
           {"twice", 64, 64, 128, 128},
           {"twice, open batch", 64, 64, 128, 128, {.batch_open = true}},
           {"open batch", 64, 96, 96, 160, {.batch_open = true}},
           {"other way round", 32, 64, 64, 32, {.plus_plane = true}},
           {"same area", 64, 64, 32, 128, {.plus_plane = true}},
           {"back again", 96, 160, 64, 64},
           {"N x 2", 64, 64, 96, 32, {.tables = Tables::columns}},
           {"grid x stride", 64, 64, 96, 32, {.tables = Tables::product}},
           {"no offset", 64, 64, 96, 32, {.offset = 0}},
           {"plane", 64, 64, 96, 32, {.plus_plane = true}},
           {"channels equal to a side", 128, 128, 64, 96, {.classes = 0 + 16, .plus_plane = true}},
           {"classes equal to the positions", 64, 64, 96, 32, {.classes = 80 - 16}},
           {"classes equal to a level", 64, 64, 96, 32, {.classes = 64 - 16, .plus_plane = true}},
           {"channels 8 x 8", 64, 64, 32, 32, {.classes = 64, .plus_plane = true}},
       }) {
    SCOPED_TRACE(c.name);
    const Shape shape{1, 3, c.new_h, c.new_w};
    const Graph resized = resize_input(detector(c.h, c.w, c.style).build(), shape);
    EXPECT_EQ(resized.inputs[0].dims->at(2).size, c.new_h);
    EXPECT_EQ(resized.inputs[0].dims->at(0).size.has_value(), !c.style.batch_open);
    expect_equal(resized, detector(c.new_h, c.new_w, c.style).build(), shape);
  }
}

TEST(ResizeInput, TablesOfHalfPrecision) {
  const auto half = [](Graph g) {
    for (Value& v : g.inputs) v.type = DType::f16;
    for (Value& v : g.outputs) v.type = DType::f16;
    for (auto& [name, tensor] : g.initializers)
      if (tensor.type() == DType::f32) tensor = converted(tensor, DType::f16);
    infer_shapes(g);
    return g;
  };
  const Graph exported = half(detector(64, 64).build());
  const Graph resized = resize_input(exported, {1, 3, 96, 160});
  EXPECT_EQ(resized.initializers.at("grid"), half(detector(96, 160).build()).initializers.at("grid"));
  EXPECT_EQ(resized.initializers.at("stride").type(), DType::f16);
}

TEST(ResizeInput, KeepsTheGraphOfItsOwnSize) {
  const Graph graph = detector(64, 64).build();
  const Graph same = resize_input(graph, {1, 3, 64, 64});
  EXPECT_EQ(models::text(same), models::text(graph));
  EXPECT_EQ(same.initializers, graph.initializers);
}

TEST(ResizeInput, FillsFreeDimensions) {
  const Graph graph = Builder(13).input("x", {-1, 3, -1, -1}).node("Relu", {"x"}, {"y"}).output("y").build();
  const Graph fixed = resize_input(graph, {1, 3, 20, 30});
  EXPECT_FALSE(fixed.inputs[0].dims->at(0).size);
  EXPECT_EQ(fixed.inputs[0].dims->at(2).size, 20);
  EXPECT_EQ(fixed.outputs[0].dims->at(3).size, 30);
  const Graph vector = Builder(13).input("x", {1, -1}).node("Relu", {"x"}, {"y"}).output("y").build();
  EXPECT_EQ(resize_input(vector, {1, 7}).inputs[0].shape(), (Shape{1, 7}));
  const Graph last = Builder(13).input("x", {1, -1, -1, 3}).node("Relu", {"x"}, {"y"}).output("y").build();
  EXPECT_EQ(resize_input(last, {1, 20, 30, 3}).inputs[0].shape(), (Shape{1, 20, 30, 3}));
}

// What looks like a table by its length but is none.
TEST(ResizeInput, LeavesWeightsAlone) {
  Builder b(13);
  b.input("x", {1, 3, 64, 64}).weights("w", {64, 3, 8, 8}).constant("zero", Tensor(DType::f32, {64}));
  b.constant("one", floats({64}, std::vector<float>(64, 1))).constant("factor", floats({1, 64, 1, 1}, std::vector<float>(64, 2)));
  b.node("Conv", {"x", "w", "zero"}, {"c"}, {{"strides", std::vector<int64_t>{8, 8}}});
  b.node("BatchNormalization", {"c", "one", "zero", "zero", "one"}, {"n"}).node("Mul", {"n", "factor"}, {"y"}).output("y");
  const Graph graph = b.build();
  const Graph resized = resize_input(graph, {1, 3, 32, 96});
  EXPECT_EQ(resized.initializers, graph.initializers);
  EXPECT_EQ(Session(resized).run({{"", models::random({1, 3, 32, 96}, 1)}})[0].shape(), (Shape{1, 64, 4, 12}));
}

TEST(ResizeInput, TakesChannelsLast) {
  const auto graph = [](int64_t h, int64_t w) {
    return Builder(13)
        .input("x", {1, h, w, 3})
        .node("Transpose", {"x"}, {"t"}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}})
        .weights("w", {4, 3, 8, 8})
        .node("Conv", {"t", "w"}, {"c"}, {{"strides", std::vector<int64_t>{8, 8}}})
        .constant("to", ints({1, 4, h * w / 64}))
        .node("Reshape", {"c", "to"}, {"y"})
        .output("y")
        .build();
  };
  expect_equal(resize_input(graph(64, 64), {1, 32, 96, 3}), graph(32, 96), {1, 32, 96, 3});
}

struct Refused {
  const char* name;
  Graph graph;
  Shape shape;
  std::vector<std::string> parts;  ///< of the error
};

TEST(ResizeInput, RefusesWhatItCannotFollow) {
  const auto changed = [](const std::function<void(Graph&)>& change) {
    Graph g = detector(64, 64).build();
    change(g);
    return g;
  };
  const Shape shape{1, 3, 96, 32};
  const auto plane = [] { return Builder(13).input("x", {1, 3, 64, 64}); };
  const std::vector<Refused> cases{
      {"table by no formula",
       changed([](Graph& g) { g.initializers["grid"].write<float>()[37] += .25F; }),
       shape,
       {"4 tensor 'grid'", "80 positions", "by no formula", "export the model"}},
      {"NaN in the table",
       changed([](Graph& g) { g.initializers["stride"].write<float>()[5] = std::nanf(""); }),
       shape,
       {"4 tensor 'stride'"}},
      {"learned table",
       changed([](Graph& g) {
         g.initializers["grid"] = models::random({1, 2, 80}, 1);
       }),
       shape,
       {"4 tensor 'grid'"}},
      {"normalised grid", detector(64, 64, {.unit = 1}).build(), shape, {"4 tensor 'grid'", "by no formula"}},
      {"one position", detector(16, 16).build(), {1, 3, 32, 32}, {"4 "}},
      {"not divisible by the stride", detector(64, 64).build(), {1, 3, 72, 72}, {"4 node '", "(Reshape)", "export the model"}},
      {"Resize to a fixed size",
       plane().constant("sizes", ints({1, 3, 32, 32})).node("Resize", {"x", "", "", "sizes"}, {"y"}).output("y").build(),
       shape,
       {"4 node 'y_node' (Resize)", "fixed at export"}},
      {"Slice at a fixed size",
       plane()
           .constant("s", ints({0}))
           .constant("e", ints({32}))
           .constant("a", ints({2}))
           .node("Slice", {"x", "s", "e", "a"}, {"y"})
           .output("y")
           .build(),
       {1, 3, 96, 64},
       {"4 node 'y_node' (Slice)", "fixed at export"}},
      {"classifier over all pixels",
       plane().node("Flatten", {"x"}, {"f"}).weights("w", {64 * 64 * 3, 5}).node("Gemm", {"f", "w"}, {"y"}).output("y").build(),
       shape,
       {"4 node 'y_node' (Gemm)", "12288x5"}},
      {"embedding of positions",
       plane()
           .constant("to", ints({1, 3, 4096}))
           .node("Reshape", {"x", "to"}, {"r"})
           .weights("p", {1, 3, 4096})
           .node("Add", {"r", "p"}, {"y"})
           .output("y")
           .build(),
       shape,
       {"4 "}},
      {"channels", detector(64, 64).build(), {1, 4, 64, 64}, {"2 --shape: 1x4x64x64 differs from the model's 3 in axis 1"}},
      {"batch", detector(64, 64).build(), {2, 3, 64, 64}, {"2 --shape: ", "axis 0"}},
      {"rank", detector(64, 64).build(), {3, 64, 64}, {"2 --shape: 3x64x64 has another rank than input 'images'"}},
      {"rank, free",
       Builder(13).input("x", {-1, -1}).node("Relu", {"x"}, {"y"}).output("y").build(),
       {1, 3, 64, 64},
       {"2 --shape: "}},
      {"fixed vector",
       Builder(13).input("x", {1, 5}).node("Relu", {"x"}, {"y"}).output("y").build(),
       {1, 6},
       {"2 --shape: ", "axis 1"}},
      {"two inputs",
       Builder(13).input("x", {1, 5}).input("z", {1, 5}).node("Add", {"x", "z"}, {"y"}).output("y").build(),
       {1, 5},
       {"2 --shape: ", "more than one input"}},
  };
  for (const Refused& c : cases) {
    const std::string error = error_of(c.graph, c.shape);
    for (const std::string& part : c.parts) EXPECT_THAT(error, HasSubstr(part)) << c.name;
    if (error.empty()) ADD_FAILURE() << c.name << " is not refused";
  }
}

const std::string kYolo = PARE_SHARED "/data/models/yolov8n_coco.onnx";

std::vector<Detection> detections(const Graph& graph, const Image& image, int side) {
  Placement p;
  const Tensor x = apply(preset("yolo"), image, side, side, &p);
  const Tensor y = Session(graph, {.threads = 2}).run({{"", x}}).front();
  const auto head = recognise_head({.outputs = {{"output0", y.shape()}}, .height = side, .width = side});
  if (!head) return {};
  return decode_detections({&y, 1}, *head,
                           {p.ratio, static_cast<double>(p.left), static_cast<double>(p.top), p.image_width, p.image_height},
                           {.conf = .4F});
}

TEST(ResizeInput, MovesARealDetectorToOtherSizes) {
  if (!std::filesystem::exists(kYolo)) GTEST_SKIP() << "no shared models";
  const Graph graph = load_model(kYolo);
  const Graph wide = resize_input(graph, {1, 3, 544, 960});
  EXPECT_EQ(wide.outputs[0].shape(), (Shape{1, 84, 10710}));
  EXPECT_EQ(Session(wide, {.threads = 2}).run({{"", Tensor(DType::f32, {1, 3, 544, 960})}})[0].shape(), (Shape{1, 84, 10710}));

  const std::filesystem::path folder = PARE_SHARED "/data/coco128";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "000000000036.jpg") continue;
    const Image image = read_image(entry.path().string());
    const auto full = detections(graph, image, 640);
    const auto half = detections(resize_input(graph, {1, 3, 416, 416}), image, 416);
    ASSERT_FALSE(full.empty());
    const std::vector<MatchCounts> counts{match_detections(full, half)};
    EXPECT_GE(detection_agreement(counts, 10, 0).f1, .6);
    return;
  }
  GTEST_SKIP() << "no image 36 of coco128";
}

}  // namespace
}  // namespace pare
