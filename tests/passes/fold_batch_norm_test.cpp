#include "passes/fold_batch_norm.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

using Attributes = std::map<std::string, Attribute>;

Builder parameters(int64_t opset, int64_t channels) {
  Builder b(opset);
  b.input("x", {1, 4, 6, 6}).weights("scale", {channels}, 0.5F, 2).weights("shift", {channels}).weights("mean", {channels});
  return b.weights("variance", {channels}, 0.1F, 3);
}

Builder& normalize(Builder& b, const std::string& from, const Attributes& attributes = {}) {
  return b.node("BatchNormalization", {from, "scale", "shift", "mean", "variance"}, {"y"}, attributes).output("y");
}

std::vector<PassCase> cases() {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22}) {
    Builder b = parameters(opset, 6);
    b.weights("w", {6, 4, 3, 3}).weights("bias", {6}).node("Conv", {"x", "w", "bias"}, {"c"});
    all.push_back({"conv_" + std::to_string(opset), normalize(b, "c").build(), "Conv", "", 1e-4F});
  }
  Builder b = parameters(13, 6);
  b.weights("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"});
  all.push_back({"without_bias", normalize(b, "c", {{"epsilon", 0.1F}}).build(), "Conv", "", 1e-4F});
  b = parameters(13, 6);
  b.weights("w", {6, 2, 3, 3}).node("Conv", {"x", "w", ""}, {"c"}, {{"group", int64_t{2}}});
  all.push_back({"groups_and_absent_bias", normalize(b, "c").build(), "Conv", "", 1e-4F});
  for (const int64_t group : {1, 2, 4}) {
    b = parameters(13, 3 * group);
    b.weights("w", {4, 3, 2, 2}).node("ConvTranspose", {"x", "w"}, {"c"}, {{"group", group}});
    all.push_back({"transposed_" + std::to_string(group), normalize(b, "c").build(), "ConvTranspose", "", 1e-4F});
  }
  b = parameters(13, 4);
  b.weights("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"}).node("Conv", {"x", "w"}, {"other"}).output("other");
  all.push_back({"shared_weight", normalize(b, "c").build(), "Conv Conv", "", 1e-4F});

  b = parameters(13, 4);
  all.push_back({"on_the_input", normalize(b, "x").build(), "BatchNormalization", "no convolution stands before it"});
  b = parameters(13, 4);
  b.node("Relu", {"x"}, {"r"});
  all.push_back({"behind_relu", normalize(b, "r").build(), "Relu BatchNormalization", "no convolution"});
  b = parameters(13, 4);
  b.weights("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"}).node("Relu", {"c"}, {"r"}).output("r");
  all.push_back({"two_readers", normalize(b, "c").build(), "Conv Relu BatchNormalization", "others read"});
  b = parameters(13, 4);
  b.weights("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"}).output("c");
  all.push_back({"output_between", normalize(b, "c").build(), "Conv BatchNormalization", "others read"});
  b = parameters(13, 4);
  b.input("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"});
  all.push_back({"dynamic_weight", normalize(b, "c").build(), "Conv BatchNormalization", "weight is no float constant"});
  b = parameters(13, 4);
  b.weights("w", {4, 4, 3, 3}).input("bias", {4}).node("Conv", {"x", "w", "bias"}, {"c"});
  all.push_back({"dynamic_bias", normalize(b, "c").build(), "Conv BatchNormalization", "bias is no constant"});
  b = Builder(13);
  b.input("x", {1, 4, 6, 6}).input("scale", {4}).weights("shift", {4}).weights("mean", {4}).weights("variance", {4}, 1, 2);
  b.weights("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"});
  all.push_back({"dynamic_scale", normalize(b, "c").build(), "Conv BatchNormalization", "parameters are no float constants"});
  return all;
}

TEST(FoldBatchNorm, Cases) {
  for (const PassCase& c : cases()) expect(c, {"fold_batch_norm", fold_batch_norm});
}

std::string ops_after(const Graph& g, Log& log) { return models::ops(fold_batch_norm(g, {}, log)); }

TEST(FoldBatchNorm, TrainingModeAndParametersThatDoNotFitDecline) {  // the runtime runs neither
  Log log;
  Builder b = parameters(15, 4);
  b.weights("w", {4, 4, 3, 3}).node("Conv", {"x", "w"}, {"c"});
  EXPECT_EQ(ops_after(normalize(b, "c", {{"training_mode", int64_t{1}}}).build(), log), "Conv BatchNormalization");
  EXPECT_EQ(log.back().why, "it is in training mode");
  b = parameters(13, 4);
  b.weights("w", {4, 4, 3, 3})
      .node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"y", "m", "v", "sm", "sv"});
  EXPECT_EQ(ops_after(b.output("y").build(), log), "Conv BatchNormalization");
  for (const char* name : {"scale", "shift", "mean", "variance", "bias"}) {
    b = parameters(13, 4);
    b.weights("w", {4, 4, 3, 3}).weights("bias", {4}).node("Conv", {"x", "w", "bias"}, {"c"});
    b.weights(name, {1});
    EXPECT_EQ(ops_after(normalize(b, "c").build(), log), "Conv BatchNormalization") << name;
  }
}

}  // namespace
}  // namespace pare
