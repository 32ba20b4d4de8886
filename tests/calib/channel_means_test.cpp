#include "calib/channel_means.h"

#include <gmock/gmock.h>

#include "tests/models/builder.h"

namespace pare {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> naive(const Tensor& t, size_t axis) {
  std::vector<double> sums(static_cast<size_t>(t.shape()[axis]));
  size_t inner = 1;
  for (size_t d = axis + 1; d < t.shape().size(); ++d) inner *= static_cast<size_t>(t.shape()[d]);
  const auto values = t.as<float>();
  for (size_t i = 0; i < values.size(); ++i) sums[i / inner % sums.size()] += static_cast<double>(values[i]);
  std::vector<float> means;
  for (const double s : sums)
    means.push_back(static_cast<float>(s * static_cast<double>(sums.size()) / static_cast<double>(values.size())));
  return means;
}

ChannelMeans added(const std::vector<Tensor>& tensors, size_t axis) {
  ChannelMeans m;
  for (const Tensor& t : tensors) m.add(t.as<float>(), t.shape(), axis);
  return m;
}

TEST(ChannelMeans, OfEveryLayout) {
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, size_t>>{
           {{1, 3, 5, 7}, 1}, {{4, 3, 9, 1}, 1}, {{2, 5, 6}, 2}, {{3, 4}, 1}, {{6}, 0}, {{2, 3, 4, 5}, 3}}) {
    const Tensor t = models::random(shape, 3, -1, 5);
    EXPECT_THAT(added({t}, axis).means(), Pointwise(FloatNear(1e-5F), naive(t, axis))) << shape_text(shape);
  }
}

TEST(ChannelMeans, OrderAndPartsDoNotMatter) {
  std::vector<Tensor> all;
  for (uint64_t s = 0; s < 6; ++s) all.push_back(models::random({1, 3, 5, 5}, s));
  const ChannelMeans whole = added(all, 1);
  ChannelMeans parts = added({all[5], all[1]}, 1);
  parts.merge(added({all[3], all[0], all[4], all[2]}, 1));
  parts.merge(ChannelMeans());
  EXPECT_EQ(parts, whole);
}

TEST(ChannelMeans, ABatchIsItsRows) {
  const Tensor a = models::random({1, 3, 4, 4}, 1), b = models::random({1, 3, 4, 4}, 2);
  std::vector<float> both(a.as<float>().begin(), a.as<float>().end());
  both.insert(both.end(), b.as<float>().begin(), b.as<float>().end());
  EXPECT_EQ(added({Tensor::of<float>({2, 3, 4, 4}, both)}, 1), added({a, b}, 1));
}

TEST(ChannelMeans, AnotherNumberOfChannelsIsLeftOut) {
  ChannelMeans m = added({models::random({1, 3, 4, 4}, 1)}, 1);
  const Tensor other = models::random({1, 4, 4, 4}, 1);
  const ChannelMeans before = m;
  m.add(other.as<float>(), other.shape(), 1);
  EXPECT_EQ(m, before);
}

}  // namespace
}  // namespace pare
