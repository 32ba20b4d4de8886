#include "passes/pipeline.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "ir/save.h"
#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;
using models::ints;

/// Something for every pass: opset 11, a Constant, Identity, Pad, Conv, BatchNormalization and a Softmax over an inner axis.
Graph export_of_a_network() {
  return Builder(11)
      .input("x", {1, 2, 6, 6})
      .weights("w", {4, 2, 3, 3})
      .weights("scale", {4}, 0.5F, 2)
      .weights("shift", {4})
      .weights("mean", {4})
      .weights("variance", {4}, 0.1F, 3)
      .node("Constant", {}, {"pads"}, {{"value", ints({0, 0, 1, 1, 0, 0, 1, 1})}})
      .node("Identity", {"w"}, {"v"})
      .node("Pad", {"x", "pads"}, {"p"})
      .node("Conv", {"p", "v"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"b"})
      .node("Relu", {"b"}, {"r"})
      .node("Softmax", {"r"}, {"y"}, {{"axis", int64_t{3}}})
      .output("y")
      .build();
}

TEST(Pipeline, AllPassesTogetherKeepTheFunction) {
  Log log;
  const Graph given = export_of_a_network();
  const Graph after = run_passes(given, prepare_passes(), with_runtime(), log);
  EXPECT_EQ(models::ops(after), "Conv Relu Softmax");
  const Tensor x = outputs_of(given)[0], y = outputs_of(after)[0];
  for (size_t k = 0; k < x.as<float>().size(); ++k) ASSERT_NEAR(x.as<float>()[k], y.as<float>()[k], 1e-5);
}

TEST(Pipeline, EachPassMayBeLeftOut) {
  const Graph given = export_of_a_network();
  const Tensor x = outputs_of(given)[0];
  for (const Pass& pass : prepare_passes()) {
    PassContext context = with_runtime();
    context.disabled = {std::string(pass.name)};
    Log log;
    const Graph after = run_passes(given, prepare_passes(), context, log);
    const Tensor y = outputs_of(after)[0];
    for (size_t k = 0; k < x.as<float>().size(); ++k) ASSERT_NEAR(x.as<float>()[k], y.as<float>()[k], 1e-5) << pass.name;
    size_t said = 0;
    for (const LogRow& row : log) said += row.stage == pass.name ? 1 : 0;
    EXPECT_EQ(said, 1U) << pass.name;
    EXPECT_TRUE(
        std::any_of(log.begin(), log.end(), [&](const LogRow& r) { return r.stage == pass.name && r.what == "left out"; }));
  }
}

TEST(Pipeline, AnUnknownNameIsAUsageError) {
  PassContext context = with_runtime();
  context.disabled = {"fold_everything"};
  Log log;
  try {
    run_passes(export_of_a_network(), prepare_passes(), context, log);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage);
    EXPECT_STREQ(e.what(), "--disable-pass: there is no pass 'fold_everything'");
  }
}

TEST(Pipeline, NothingToDoGivesTheSameFile) {
  for (const int64_t opset : {13, 17, 22}) {
    const Graph given = Builder(opset)
                            .input("x", {1, 2, 6, 6})
                            .weights("w", {4, 2, 3, 3})
                            .node("Conv", {"x", "w"}, {"c"})
                            .node("Relu", {"c"}, {"y"})
                            .output("y")
                            .build();
    Log log;
    EXPECT_EQ(serialize(run_passes(given, prepare_passes(), with_runtime(), log)), serialize(given)) << opset;
    EXPECT_TRUE(log.empty());
  }
}

TEST(Pipeline, ASecondRunChangesNothing) {
  Log log;
  const Graph once = run_passes(export_of_a_network(), prepare_passes(), with_runtime(), log);
  EXPECT_EQ(serialize(run_passes(once, prepare_passes(), with_runtime(), log)), serialize(once));
}

Graph break_it(Graph graph, const PassContext& /*context*/, Log& /*log*/) {
  graph.nodes.back().inputs[0] = "gone";
  return graph;
}

TEST(Pipeline, NamesThePassThatBreaksTheGraph) {
  const Pass broken{"break_it", break_it};
  Log log;
  try {
    run_passes(Builder().input("x", {1}).node("Relu", {"x"}, {"y"}).output("y").build(), std::span(&broken, 1), {}, log);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "pass break_it: node 'y_node' (Relu): reads tensor 'gone', which nothing before it makes");
    EXPECT_EQ(e.kind(), ErrorKind::internal);
  }
}

}  // namespace
}  // namespace pare
