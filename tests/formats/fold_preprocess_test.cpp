#include "formats/fold_preprocess.h"

#include <gmock/gmock.h>

#include "ir/check.h"
#include "tests/formats/format_net.h"

namespace pare {
namespace {

using models::Builder;
using Layout = Preprocess::Layout;
using Order = Preprocess::Order;

constexpr int64_t kSide = 6;

Graph net(Layout layout) {
  const Shape shape = layout == Layout::nchw ? Shape{1, 3, kSide, kSide} : Shape{1, kSide, kSide, 3};
  Builder b = Builder(13).input("x", shape).weights("w", {8, 3, 3, 3});
  std::string at = "x";
  if (layout == Layout::nhwc) b.node("Transpose", {"x"}, {at = "t"}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  return b.node("Conv", {at, "w"}, {"y"}).output("y").build();
}

/// The float input that `p` makes of pixels r, g, b.
Tensor by_hand(const std::vector<uint8_t>& pixels, const Preprocess& p) {
  const bool first = p.layout == Layout::nchw;
  Tensor x(DType::f32, first ? Shape{1, 3, kSide, kSide} : Shape{1, kSide, kSide, 3});
  for (size_t i = 0; i < kSide * kSide; ++i)
    for (size_t c = 0; c < 3; ++c) {
      const size_t to = p.order == Order::rgb ? c : 2 - c;
      x.write<float>()[first ? to * kSide * kSide + i : i * 3 + to] =
          (static_cast<float>(pixels[i * 3 + c]) - p.mean[c]) / p.std[c];
    }
  return x;
}

TEST(FoldPreprocess, PixelsGiveWhatTheFloatInputGives) {
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < kSide * kSide * 3; ++i) pixels.push_back(static_cast<uint8_t>(i * 37 % 256));
  const Tensor image = Tensor::of<uint8_t>({1, kSide, kSide, 3}, pixels);
  for (const Layout layout : {Layout::nchw, Layout::nhwc})
    for (const Order order : {Order::rgb, Order::bgr})
      for (const bool quantized : {false, true})
        for (const auto& [mean, std] : std::vector<std::pair<std::array<float, 3>, std::array<float, 3>>>{
                 {{0, 0, 0}, {255, 255, 255}}, {{124, 116, 104}, {58, 57, 50}}, {{0, 0, 0}, {1, 1, 1}}}) {
          Preprocess p;
          p.layout = layout, p.order = order, p.mean = mean, p.std = std;
          const Graph graph = quantized ? quantized_form(net(layout)) : net(layout);
          const Graph made = fold_preprocess(graph, p);
          EXPECT_NO_THROW(check_structure(made));
          EXPECT_EQ(made.inputs[0].type, DType::u8);
          EXPECT_EQ(made.inputs[0].shape(), (Shape{1, kSide, kSide, 3}));
          const Tensor wanted = Session(graph).run({{"x", by_hand(pixels, p)}})[0], found = Session(made).run({{"x", image}})[0];
          for (size_t i = 0; i < wanted.as<float>().size(); ++i)
            ASSERT_NEAR(wanted.as<float>()[i], found.as<float>()[i], quantized ? .05 : 1e-3 * p.std[0] / 50) << mean[0] << std[0];
        }
}

TEST(FoldPreprocess, AQThatGivesThePixelsBackGoes) {
  Preprocess p;  // x / 255, which ranges over [0, 1): the Q's scale is 1 / 255
  Graph graph = quantized_form(net(Layout::nchw));
  for (auto& [name, tensor] : graph.initializers)
    if (name == "x_scale") tensor = Tensor::scalar(1.F / 255);
  EXPECT_EQ(count(fold_preprocess(graph, p), "QuantizeLinear"), count(graph, "QuantizeLinear") - 1);
  p.std = {128, 128, 128};
  EXPECT_EQ(count(fold_preprocess(graph, p), "QuantizeLinear"), count(graph, "QuantizeLinear"));
}

}  // namespace
}  // namespace pare
