#include "passes/unfold_conv_transpose.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;
using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;

const Pass kPass{"unfold_conv_transpose", unfold_conv_transpose};
const Ints kTwo{2, 2};

Graph up(int64_t opset, Shape weight, Attributes attributes, bool bias = true, Shape x = {1, 3, 4, 5}) {
  const int64_t channels = weight[1] * std::get<int64_t>(attributes.try_emplace("group", int64_t{1}).first->second);
  Builder b(opset);
  b.input("x", std::move(x)).weights("w", std::move(weight)).weights("b", {channels});
  std::vector<std::string> inputs{"x", "w"};
  if (bias) inputs.emplace_back("b");
  return b.node("ConvTranspose", inputs, {"y"}, std::move(attributes)).output("y").build();
}

TEST(UnfoldConvTranspose, Unfolds) {
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22}) {
    all.push_back({"two", up(opset, {3, 4, 2, 2}, {{"strides", kTwo}}), "Conv DepthToSpace", "", 1e-5F});
    all.push_back({"no_bias", up(opset, {3, 4, 2, 2}, {{"strides", kTwo}}, false), "Conv DepthToSpace", "", 1e-5F});
  }
  all.push_back({"three", up(13, {3, 4, 3, 3}, {{"strides", Ints{3, 3}}}), "Conv DepthToSpace", "", 1e-5F});
  all.push_back({"free_sizes", up(13, {3, 4, 2, 2}, {{"strides", kTwo}}, true, {-1, 3, -1, 5}), "Conv DepthToSpace", "", 1e-5F});
  const Attributes stated{{"strides", kTwo}, {"kernel_shape", kTwo}, {"output_padding", Ints{0, 0}}, {"dilations", Ints{1, 1}}};
  for (const auto& [key, value] : Attributes{{"pads", Ints{0, 0, 0, 0}}, {"auto_pad", std::string("VALID")}}) {
    Attributes all_stated = stated;
    all_stated[key] = value;
    all.push_back({"stated", up(13, {3, 4, 2, 2}, all_stated), "Conv DepthToSpace", "", 1e-5F});
  }
  for (const PassCase& c : all) expect(c, kPass);
}

TEST(UnfoldConvTranspose, Declines) {
  std::vector<PassCase> all;
  const auto keep = [&](const char* why, Shape weight, Attributes attributes) {
    all.push_back({why, up(13, std::move(weight), std::move(attributes)), "ConvTranspose", why});
  };
  keep("its stride is not its kernel", {3, 4, 3, 3}, {{"strides", kTwo}});
  keep("its stride is not its kernel", {3, 4, 2, 2}, {});
  keep("its kernel is no square", {3, 4, 2, 3}, {{"strides", Ints{2, 3}}});
  keep("its stride is 1", {3, 4, 1, 1}, {});
  keep("it has groups", {3, 4, 2, 2}, {{"strides", kTwo}, {"group", int64_t{3}}});
  keep("it pads or cuts", {3, 4, 2, 2}, {{"strides", kTwo}, {"pads", Ints{1, 1, 0, 0}}});
  keep("it pads or cuts", {3, 4, 2, 2}, {{"strides", kTwo}, {"output_padding", Ints{1, 0}}});
  keep("it pads or cuts", {3, 4, 2, 2}, {{"strides", kTwo}, {"output_shape", Ints{7, 9}}});
  keep("it pads or cuts", {3, 4, 2, 2}, {{"strides", kTwo}, {"auto_pad", std::string("SAME_UPPER")}});
  keep("it is dilated", {3, 4, 2, 2}, {{"strides", kTwo}, {"dilations", kTwo}});
  Builder b;
  b.input("x", {1, 3, 4, 5}).input("w", {3, 4, 2, 2}).node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", kTwo}}).output("y");
  all.push_back({"weight_from_outside", b.build(), "ConvTranspose", "its weight is no float constant"});
  Builder c;
  c.input("x", {1, 3, 4, 5}).input("b", {4}).weights("w", {3, 4, 2, 2});
  c.node("ConvTranspose", {"x", "w", "b"}, {"y"}, {{"strides", kTwo}}).output("y");
  all.push_back({"bias_from_outside", c.build(), "ConvTranspose", "its bias is no float constant"});
  for (const PassCase& p : all) expect(p, kPass);
}

}  // namespace
}  // namespace pare
