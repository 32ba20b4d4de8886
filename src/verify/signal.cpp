#include "verify/signal.h"

#include <cmath>
#include <limits>
#include <string>

namespace pare {
namespace {

/// A tensor's elements as float, copied only when they are of another type.
class FloatView {
 public:
  explicit FloatView(const Tensor& tensor)
      : copy_(tensor.type() == DType::f32 ? std::vector<float>{} : to_floats(tensor)),
        values_(tensor.type() == DType::f32 ? tensor.as<float>() : std::span<const float>(copy_)) {}
  [[nodiscard]] std::span<const float> values() const { return values_; }

 private:
  std::vector<float> copy_;
  std::span<const float> values_;
};

/// The tensor as outer x channels x inner.
struct Blocks {
  int64_t outer = 1, channels = 1, inner = 1;
};

Blocks blocks_of(const Shape& shape, std::optional<int> axis) {
  if (!axis) return {1, 1, element_count(shape)};
  const auto rank = static_cast<int>(shape.size());
  const int at = *axis < 0 ? *axis + rank : *axis;
  if (at < 0 || at >= rank)
    throw Error(ErrorKind::input, "channel axis " + std::to_string(*axis) + " is outside the shape " + shape_text(shape));
  Blocks blocks;
  for (int i = 0; i < rank; ++i)
    (i < at ? blocks.outer : i == at ? blocks.channels : blocks.inner) *= shape[static_cast<size_t>(i)];
  return blocks;
}

void accumulate(SignalFigures& figures, std::span<const float> reference, std::span<const float> test, int64_t sample,
                int64_t first_index) {
  for (size_t i = 0; i < reference.size(); ++i) {
    const double wanted = reference[i];
    const double error = static_cast<double>(test[i]) - wanted;
    if (!std::isfinite(error)) {
      figures.reference_non_finite += std::isfinite(reference[i]) ? 0 : 1;
      figures.test_non_finite += std::isfinite(test[i]) ? 0 : 1;
      continue;
    }
    ++figures.count;
    figures.signal += wanted * wanted;
    figures.noise += error * error;
    figures.error_sum += error;
    if (std::abs(error) > figures.max_error || figures.max_sample < 0) {
      figures.max_error = std::abs(error);
      figures.max_sample = sample;
      figures.max_index = first_index + static_cast<int64_t>(i);
    }
  }
}

}  // namespace

double SignalFigures::sqnr_db() const {
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

double SignalFigures::mean_error() const {
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : error_sum / static_cast<double>(count);
}

SignalFigures& SignalFigures::operator+=(const SignalFigures& other) {
  const auto earlier = [](const SignalFigures& a, const SignalFigures& b) {
    return a.max_sample != b.max_sample ? a.max_sample < b.max_sample : a.max_index < b.max_index;
  };
  const bool larger = other.max_error > max_error || (other.max_error == max_error && earlier(other, *this));
  if (other.max_sample >= 0 && (max_sample < 0 || larger)) {
    max_error = other.max_error;
    max_sample = other.max_sample;
    max_index = other.max_index;
  }
  count += other.count;
  reference_non_finite += other.reference_non_finite;
  test_non_finite += other.test_non_finite;
  signal += other.signal;
  noise += other.noise;
  error_sum += other.error_sum;
  return *this;
}

void SignalError::add(const Tensor& reference, const Tensor& test) {
  if (reference.shape() != test.shape())
    throw Error(ErrorKind::input,
                "shape " + shape_text(test.shape()) + " differs from the float model's " + shape_text(reference.shape()));
  const Blocks blocks = blocks_of(reference.shape(), axis_);
  const auto channels = static_cast<size_t>(blocks.channels);
  if (parts_.empty()) parts_.resize(channels);
  if (parts_.size() != channels)
    throw Error(ErrorKind::input, std::to_string(channels) + " channels after samples with " + std::to_string(parts_.size()));

  const FloatView wanted(reference), got(test);
  const auto inner = static_cast<size_t>(blocks.inner);
  for (size_t block = 0; block < static_cast<size_t>(blocks.outer) * channels; ++block) {
    const size_t first = block * inner;
    accumulate(parts_[block % channels], wanted.values().subspan(first, inner), got.values().subspan(first, inner), samples_,
               static_cast<int64_t>(first));
  }
  ++samples_;
}

SignalFigures SignalError::total() const {
  SignalFigures sum;
  for (const SignalFigures& part : parts_) sum += part;
  return sum;
}

std::span<const SignalFigures> SignalError::channels() const {
  return axis_ ? std::span<const SignalFigures>(parts_) : std::span<const SignalFigures>();
}

}  // namespace pare
