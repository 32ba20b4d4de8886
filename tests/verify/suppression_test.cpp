#include "verify/suppression.h"

#include <gmock/gmock.h>

#include "tests/models/builder.h"

namespace pare {
namespace {

using models::Builder;

Builder selecting(std::vector<std::string> thresholds) {
  Builder b(13);
  b.input("boxes", {1, 8, 4}).input("scores", {1, 2, 8}).input("computed", {1});
  b.constant("most", models::ints({100})).constant("iou", models::floats({1}, {.7F})).constant("low", models::floats({}, {.25F}));
  std::vector<std::string> inputs{"boxes", "scores", "most"};
  inputs.insert(inputs.end(), thresholds.begin(), thresholds.end());
  return b.node("NonMaxSuppression", inputs, {"kept"}).output("kept", DType::i64);
}

TEST(FindSuppression, ReadsTheThresholds) {
  const auto both = find_suppression(selecting({"iou", "low"}).build());
  ASSERT_TRUE(both);
  EXPECT_EQ(both->iou, .7F);
  EXPECT_EQ(both->score, .25F);
  const auto one = find_suppression(selecting({"", "low"}).build());
  EXPECT_EQ(one->iou, 0);
  EXPECT_EQ(one->score, .25F);
  EXPECT_FALSE(find_suppression(selecting({"computed"}).build())->iou);
  EXPECT_FALSE(find_suppression(selecting({"iou"}).build())->score);
  EXPECT_FALSE(find_suppression(Builder(13).input("x", {1}).node("Neg", {"x"}, {"y"}).output("y").build()));
}

}  // namespace
}  // namespace pare
