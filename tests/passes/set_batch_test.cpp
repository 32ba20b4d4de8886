#include "passes/set_batch.h"

#include <gmock/gmock.h>

#include "runtime/session.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;
using testing::AllOf;
using testing::HasSubstr;

/// One output for `count` samples, those from `first` on, laid one after another.
std::vector<float> run(const Graph& graph, int64_t count, uint64_t first) {
  Feeds feeds;
  for (const Value& input : graph.inputs) {
    Shape row = *input.shape();
    row[0] = 1;
    std::vector<float> values;
    for (uint64_t s = first; s < first + static_cast<uint64_t>(count); ++s) {
      const Tensor sample = models::random(row, s + 1);
      const auto own = sample.as<float>();
      values.insert(values.end(), own.begin(), own.end());
    }
    row[0] = count;
    feeds.emplace_back(input.name, Tensor::of<float>(row, values));
  }
  const Tensor y = Session(graph).run(feeds)[0];
  return {y.as<float>().begin(), y.as<float>().end()};
}

/// The graph at `from` samples a time gives the numbers that the one rebatched to `to` gives, over from * to samples.
void expect_same(const Graph& graph, int64_t from, int64_t to) {
  const Graph made = set_batch(graph, to);
  ASSERT_EQ(fixed_batch(made), to);
  std::vector<float> before, after;
  for (int64_t s = 0; s < from * to; s += from)
    for (const float v : run(graph, from, static_cast<uint64_t>(s))) before.push_back(v);
  for (int64_t s = 0; s < from * to; s += to)
    for (const float v : run(made, to, static_cast<uint64_t>(s))) after.push_back(v);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5) << i;
}

std::string error_of(const Graph& graph, int64_t batch) {
  try {
    set_batch(graph, batch);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// Reshapes that flatten (with a -1 which could swallow the batch), split, and merge the batch with channels.
Graph convolutional(int64_t n) {
  Builder b = Builder(17).input("x", {n, 3, 8, 8}).weights("w", {8, 3, 3, 3}).weights("v", {288, 6});
  b.constant("split", ints({n, 2, 4, 6, 6})).constant("merged", ints({n * 2, 4, 6, 6})).constant("flat", ints({n, -1}));
  b.node("Conv", {"x", "w"}, {"c"}).node("Reshape", {"c", "split"}, {"s"}).node("Reshape", {"s", "merged"}, {"m"});
  b.node("Relu", {"m"}, {"r"}).node("Reshape", {"r", "flat"}, {"f"}).node("MatMul", {"f", "v"}, {"y"});
  return b.output("y").build();
}

TEST(SetBatch, ReshapesFollow) {
  expect_same(convolutional(4), 4, 1);
  expect_same(convolutional(4), 4, 3);
  expect_same(convolutional(1), 1, 4);
}

/// A class token repeated for each sample, attention with the batch on the second axis.
Graph token(int64_t n) {
  Builder b = Builder(17).input("x", {n, 5, 6}).weights("w", {6, 6}).weights("bias", {1, 6, 6});
  Tensor row = models::random({1, 1, 6}, 9);
  Tensor rows(DType::f32, {n, 1, 6});
  for (size_t i = 0; i < rows.write<float>().size(); ++i) rows.write<float>()[i] = row.as<float>()[i % 6];
  b.constant("class", rows).constant("heads", ints({6, n * 2, 3})).constant("back", ints({6, n, 6}));
  const std::map<std::string, Attribute> turn{{"perm", std::vector<int64_t>{1, 0, 2}}};
  b.node("Concat", {"class", "x"}, {"t"}, {{"axis", int64_t{1}}}).node("Add", {"t", "bias"}, {"e"});
  b.node("Transpose", {"e"}, {"first"}, turn).node("MatMul", {"first", "w"}, {"q"}).node("Reshape", {"q", "heads"}, {"h"});
  b.node("Transpose", {"h"}, {"a"}, turn).node("Transpose", {"h"}, {"k"}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
  b.node("MatMul", {"a", "k"}, {"scores"}).node("Softmax", {"scores"}, {"p"}).node("MatMul", {"p", "a"}, {"o"});
  b.node("Transpose", {"o"}, {"z"}, turn).node("Reshape", {"z", "back"}, {"j"}).node("Transpose", {"j"}, {"y"}, turn);
  return b.output("y").build();
}

TEST(SetBatch, TokensAndAttentionFollow) {
  expect_same(token(4), 4, 1);
  expect_same(token(1), 1, 3);
}

/// Half of the channels, by arithmetic on Shape that inference cannot follow, then a fixed Reshape.
TEST(SetBatch, AReshapeBehindUnknownShapesFollows) {
  Builder b = Builder(17).input("x", {4, 6, 5}).constant("one", ints({1})).constant("two", ints({2})).constant("zero", ints({0}));
  b.constant("flat", ints({4, 15}));
  b.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "one"}, {"c"}).node("Div", {"c", "two"}, {"half"});
  b.node("Slice", {"x", "zero", "half", "one"}, {"h"}).node("Reshape", {"h", "flat"}, {"y"}).output("y");
  const Graph graph = b.build();
  expect_same(graph, 4, 1);
  expect_same(graph, 4, 2);
}

TEST(SetBatch, AFreeBatchIsFixed) {
  Builder b = Builder(17).input("x", {-1, 3, 8, 8}).weights("w", {8, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y");
  const Graph made = set_batch(b.build(), 2);
  EXPECT_EQ(fixed_batch(made), 2);
  EXPECT_EQ(made.outputs[0].shape(), (Shape{2, 8, 6, 6}));
}

TEST(SetBatch, RowsThatDifferAreNamed) {
  Builder b = Builder(17).input("x", {2, 3}).weights("own", {2, 3}).node("Add", {"x", "own"}, {"y"}).output("y");
  EXPECT_THAT(error_of(b.build(), 1), AllOf(HasSubstr("y_node"), HasSubstr("'own' differs between the samples")));
}

TEST(SetBatch, AProductOverTheBatchIsRefused) {
  Builder b = Builder(17).input("x", {2, 3}).weights("w", {4, 2}).node("MatMul", {"w", "x"}, {"y"}).output("y");
  EXPECT_THAT(error_of(b.build(), 1), HasSubstr("batch of 2"));
}

}  // namespace
}  // namespace pare
