#include "runtime/session.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "ir/save.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::floats;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Graph doubled(Shape shape = {2, 3}) {
  return Builder().input("x", std::move(shape)).node("Add", {"x", "x"}, {"y"}).output("y").build();
}

Graph sum_of_two() {
  return Builder()
      .input("a", {2})
      .input("b", {2})
      .node("Add", {"a", "b"}, {"y"})
      .node("Mul", {"a", "b"}, {"z"})
      .output("y")
      .output("z")
      .build();
}

std::string error_of(const Graph& graph, const Feeds& feeds, ErrorKind kind) {
  try {
    Session(graph).run(feeds);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  return "no error";
}

TEST(Session, RunsAndNamesItsPorts) {
  Session session(sum_of_two());
  ASSERT_EQ(session.inputs().size(), 2U);
  EXPECT_EQ(session.inputs()[1].name, "b");
  EXPECT_EQ(session.inputs()[1].shape, Shape{2});
  EXPECT_EQ(session.outputs()[1].name, "z");
  EXPECT_EQ(session.outputs()[1].type, DType::f32);
  const auto results = session.run({{"b", floats({2}, {3, 4})}, {"a", floats({2}, {1, -2})}});
  EXPECT_THAT(results[0].as<float>(), ElementsAre(4, 2));
  EXPECT_THAT(results[1].as<float>(), ElementsAre(3, -8));
}

TEST(Session, AnEmptyNameIsTheOnlyInput) {
  EXPECT_THAT(Session(doubled({2})).run({{"", floats({2}, {1, 2})}})[0].as<float>(), ElementsAre(2, 4));
}

TEST(Session, SymbolicDimensionsTakeAnySize) {
  Session session(doubled({-1, 2}));
  EXPECT_EQ(session.inputs()[0].shape, (Shape{-1, 2}));
  for (const int64_t n : {1, 3, 0}) EXPECT_EQ(session.run({{"x", Tensor(DType::f32, {n, 2})}})[0].shape(), (Shape{n, 2}));
}

TEST(Session, ViewShowsTheOutputWithoutACopy) {
  Session session(sum_of_two());
  std::vector<float> seen;
  session.run({{"a", floats({2}, {1, 2})}, {"b", floats({2}, {3, 5})}}, [&](std::span<const OutputView> views) {
    for (const OutputView& view : views) {
      EXPECT_EQ(view.type, DType::f32);
      EXPECT_EQ(view.shape, Shape{2});
      seen.push_back(static_cast<const float*>(view.data)[1]);
    }
  });
  EXPECT_THAT(seen, ElementsAre(7, 10));
}

TEST(Session, InputsAreNotWritten) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Session(doubled()).run({{"x", x}});
  EXPECT_EQ(x, floats({2, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST(Session, RefusesFeedsThatDoNotFit) {
  const Tensor x(DType::f32, {2, 3});
  EXPECT_EQ(error_of(doubled(), {{"image", x}}, ErrorKind::input), "input 'image': the model has no input of this name");
  EXPECT_EQ(error_of(doubled(), {{"x", Tensor(DType::u8, {2, 3})}}, ErrorKind::input),
            "input 'x': the data is uint8 2x3, the model takes float 2x3; check --shape and --preprocess");
  EXPECT_EQ(error_of(doubled(), {{"x", Tensor(DType::f32, {3, 2})}}, ErrorKind::input),
            "input 'x': the data is float 3x2, the model takes float 2x3; check --shape and --preprocess");
  EXPECT_THAT(error_of(doubled(), {{"x", Tensor(DType::f32, {1, 2, 3})}}, ErrorKind::input), HasSubstr("float 1x2x3"));
  EXPECT_EQ(error_of(sum_of_two(), {{"", x}}, ErrorKind::input), "input '': the model has no input of this name");
  EXPECT_THAT(error_of(doubled(), {}, ErrorKind::input), HasSubstr("stops: "));
}

TEST(Session, RoundsFloatsForAnInputOfHalfPrecision) {
  const Graph graph = Builder().input("x", {2}, DType::f16).node("Cast", {"x"}, {"y"}, {{"to", int64_t{1}}}).output("y").build();
  EXPECT_THAT(Session(graph).run({{"", floats({2}, {1, 1.00146484F})}})[0].as<float>(), ElementsAre(1, 1.001953125F));
  EXPECT_THAT(error_of(graph, {{"x", Tensor(DType::u8, {2})}}, ErrorKind::input), HasSubstr("takes float16 2"));
}

TEST(Session, AnInputWithoutAShapeTakesAnyRank) {
  Graph graph = Builder().input("x", {2}).node("Neg", {"x"}, {"y"}).output("y").build();
  graph.inputs[0].dims.reset();
  graph.outputs[0].dims.reset();
  Session session(graph);
  EXPECT_EQ(session.run({{"x", Tensor(DType::f32, {1, 3})}})[0].shape(), (Shape{1, 3}));
  graph.inputs[0].dims.emplace();
  EXPECT_THAT(error_of(graph, {{"x", Tensor(DType::f32, {1, 3})}}, ErrorKind::input), HasSubstr("takes float scalar"));
}

TEST(Session, StopsInsideTheModelAreErrors) {  // sizes that only meet at run time
  const Graph graph =
      Builder().input("x", {-1}).constant("c", floats({3}, {1, 2, 3})).node("Add", {"x", "c"}, {"y"}).output("y").build();
  testing::internal::CaptureStderr();
  EXPECT_THAT(error_of(graph, {{"x", Tensor(DType::f32, {2})}}, ErrorKind::input), HasSubstr("y_node"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Session, RefusedModelsAreErrors) {
  Graph graph = doubled();
  graph.nodes[0].domain = "com.example";
  graph.opsets["com.example"] = 1;
  const std::string text = error_of(graph, {}, ErrorKind::unsupported);
  EXPECT_THAT(text, StartsWith("ONNX Runtime " + runtime_version() + " refuses the model: "));
  EXPECT_THAT(text, HasSubstr("com.example"));
  EXPECT_THROW(Session(std::string("no model")), Error);
}

TEST(Session, StringsAndSequencesAreRefused) {
  const Graph strings =
      Builder().input("x", {2}).node("Cast", {"x"}, {"y"}, {{"to", int64_t{8}}}).output("y", DType::string).build();
  EXPECT_EQ(error_of(strings, {{"x", floats({2}, {1, 2})}}, ErrorKind::unsupported), "output 'y': is a tensor of string");
  const Graph text = Builder().input("s", {1}, DType::string).node("Identity", {"s"}, {"y"}).output("y", DType::string).build();
  EXPECT_EQ(error_of(text, {{"s", Tensor(DType::string, {1}, {})}}, ErrorKind::unsupported),
            "input 's': a tensor of string cannot be fed");
  Graph sequence = Builder().input("x", {2}).node("SequenceConstruct", {"x"}, {"y"}).output("y", DType::undefined).build();
  EXPECT_EQ(error_of(sequence, {{"x", floats({2}, {1, 2})}}, ErrorKind::unsupported), "output 'y': is no tensor");
}

TEST(Session, WritesAProfile) {
  const auto folder = std::filesystem::temp_directory_path() / "pare_session_profile";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  Session session(doubled(), {.threads = 1, .optimize = false, .profile_prefix = (folder / "p").string()});
  session.run({{"x", Tensor(DType::f32, {2, 3})}});
  const std::string file = session.end_profiling();
  EXPECT_THAT(file, StartsWith((folder / "p").string()));
  EXPECT_THAT(read_file(file), HasSubstr("y_node"));
  std::filesystem::remove_all(folder);
}

TEST(Session, WithAndWithoutOptimizationsTheSame) {
  const Graph graph = Builder()
                          .input("x", {1, 3, 9, 9})
                          .weights("w", {4, 3, 3, 3})
                          .node("Conv", {"x", "w"}, {"c"})
                          .node("Relu", {"c"}, {"y"})
                          .output("y")
                          .build();
  const Tensor x = models::random({1, 3, 9, 9}, 1);
  const auto plain = Session(graph, {.threads = 1, .optimize = false}).run({{"x", x}});
  const auto fast = Session(serialize(graph)).run({{"x", x}});
  for (size_t i = 0; i < plain[0].as<float>().size(); ++i) ASSERT_NEAR(plain[0].as<float>()[i], fast[0].as<float>()[i], 1e-5);
}

TEST(Session, Version) { EXPECT_THAT(runtime_version(), StartsWith("1.")); }

}  // namespace
}  // namespace pare
