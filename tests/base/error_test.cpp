#include "pare/error.h"

#include <gtest/gtest.h>

namespace pare {
namespace {

TEST(Error, ReadsPlaceMessageFix) {
  Error e = Error(ErrorKind::input, "scale is 0, allowed is > 0").at("tensor 'w'").fix("run 'pare doctor'");
  e.at("m.onnx");
  EXPECT_STREQ(e.what(), "m.onnx: tensor 'w': scale is 0, allowed is > 0; run 'pare doctor'");
  EXPECT_EQ(static_cast<int>(e.kind()), 3);
}

TEST(Error, NeedsNoPlaceAndNoFix) { EXPECT_STREQ(Error(ErrorKind::usage, "no model").what(), "no model"); }

}  // namespace
}  // namespace pare
