#include "quantize/weight_view.h"

#include "numeric/quantization.h"

namespace pare {

WeightView::WeightView(const Tensor& weight, int64_t channel_axis, bool per_channel) : axis(channel_axis) {
  const Shape& shape = weight.shape();
  if (!per_channel || shape.empty()) {
    inner = static_cast<size_t>(weight.count());
    return;
  }
  split = true;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    (d < axis ? outer : d == axis ? channels : inner) *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
}

Int8Weight int8_weight(const Tensor& weight, int64_t channel_axis, bool per_channel, int limit) {
  const WeightView view(weight, channel_axis, per_channel);
  const auto values = weight.as<float>();
  const std::vector<float> scales = channel_scales(values, view.outer, view.channels, view.inner, limit);
  return {Tensor::of<int8_t>(weight.shape(), quantize_channels(values, view.outer, view.channels, view.inner, scales, limit)),
          Tensor::of<float>(view.split ? Shape{static_cast<int64_t>(scales.size())} : Shape{}, scales),
          view.split ? std::optional(view.axis) : std::nullopt};
}

}  // namespace pare
