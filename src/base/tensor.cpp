#include "base/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace pare {
namespace {

struct TypeRow {
  DType type;
  const char* name;
  size_t size;
};

constexpr std::array<TypeRow, 14> kTypes{{
    {DType::f32, "float", 4},
    {DType::u8, "uint8", 1},
    {DType::i8, "int8", 1},
    {DType::u16, "uint16", 2},
    {DType::i16, "int16", 2},
    {DType::i32, "int32", 4},
    {DType::i64, "int64", 8},
    {DType::string, "string", 0},
    {DType::boolean, "bool", 1},
    {DType::f16, "float16", 2},
    {DType::f64, "double", 8},
    {DType::u32, "uint32", 4},
    {DType::u64, "uint64", 8},
    {DType::bf16, "bfloat16", 2},
}};

const TypeRow* find(DType type) noexcept {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

float half_to_float(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  uint32_t half = 0;
  if (magnitude > 0x7F800000U)
    half = 0x7E00U;                   // NaN
  else if (magnitude >= 0x477FF000U)  // 65520, half way from the largest to the next power of two
    half = 0x7C00U;
  else if (magnitude < 0x38800000U)  // below 2^-14: a multiple of 2^-24
    half = static_cast<uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F));
  else
    half = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  return static_cast<uint16_t>(sign | half);
}

uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

template <typename To, typename From>
std::vector<To> convert(const Tensor& tensor) {
  const auto values = tensor.as<From>();
  return {values.begin(), values.end()};
}

}  // namespace

std::string dtype_name(DType type) {
  const TypeRow* row = find(type);
  return row != nullptr ? row->name : "type " + std::to_string(static_cast<int>(type));
}

size_t dtype_size(DType type) noexcept {
  const TypeRow* row = find(type);
  return row != nullptr ? row->size : 0;
}

bool is_half(DType type) noexcept { return type == DType::f16 || type == DType::bf16; }

int64_t element_count(const Shape& shape) noexcept {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t d : shape) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

Tensor::Tensor(DType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  bytes_ = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count()) * dtype_size(type));
}

Tensor::Tensor(DType type, Shape shape, std::vector<std::byte> bytes) : type_(type), shape_(std::move(shape)) {
  const size_t wanted = static_cast<size_t>(count()) * dtype_size(type);
  if (wanted != bytes.size() && dtype_size(type) != 0)
    throw Error(ErrorKind::input, "holds " + std::to_string(bytes.size()) + " bytes, its shape " + shape_text(shape_) + " of " +
                                      dtype_name(type) + " needs " + std::to_string(wanted));
  bytes_ = std::make_shared<std::vector<std::byte>>(std::move(bytes));
}

std::span<const std::byte> Tensor::raw() const noexcept {
  return bytes_ ? std::span<const std::byte>(*bytes_) : std::span<const std::byte>();
}

std::span<std::byte> Tensor::raw_write() {
  if (!bytes_) return {};
  if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<std::byte>>(*bytes_);
  return *bytes_;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor other = *this;
  if (element_count(shape) != count())
    throw Error(ErrorKind::internal, "cannot view " + shape_text(shape_) + " as " + shape_text(shape));
  other.shape_ = std::move(shape);
  return other;
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.type_ != b.type_ || a.shape_ != b.shape_) return false;
  const auto x = a.raw();
  const auto y = b.raw();
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

void Tensor::require(DType type, size_t count) const {
  if (type != type_ || count != static_cast<size_t>(this->count()))
    throw Error(ErrorKind::internal, "tensor of " + dtype_name(type_) + " " + shape_text(shape_) + " read as " +
                                         std::to_string(count) + " of " + dtype_name(type));
}

std::vector<float> to_floats(const Tensor& tensor) {
  switch (tensor.type()) {
    case DType::f32: return convert<float, float>(tensor);
    case DType::f64: return convert<float, double>(tensor);
    case DType::u8: return convert<float, uint8_t>(tensor);
    case DType::i8: return convert<float, int8_t>(tensor);
    case DType::i16: return convert<float, int16_t>(tensor);
    case DType::u16: return convert<float, uint16_t>(tensor);
    case DType::i32: return convert<float, int32_t>(tensor);
    case DType::i64: return convert<float, int64_t>(tensor);
    case DType::boolean: return convert<float, bool>(tensor);
    case DType::f16:
    case DType::bf16: {
      const auto raw = tensor.raw();
      std::vector<float> values(static_cast<size_t>(tensor.count()));
      for (size_t i = 0; i < values.size(); ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, raw.data() + 2 * i, 2);
        values[i] = tensor.type() == DType::f16 ? half_to_float(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
      }
      return values;
    }
    default: throw Error(ErrorKind::unsupported, "a tensor of " + dtype_name(tensor.type()) + " has no values as float");
  }
}

Tensor converted(const Tensor& tensor, DType type) {
  if (tensor.type() == type) return tensor;
  const std::vector<float> values = to_floats(tensor);
  if (type == DType::f32) return Tensor::of<float>(tensor.shape(), values);
  Tensor result(type, tensor.shape());
  if (type == DType::u8) {
    const auto pixel = [](float v) { return static_cast<uint8_t>(std::clamp(std::nearbyint(v), 0.F, 255.F)); };
    std::transform(values.begin(), values.end(), result.write<uint8_t>().begin(), pixel);
  } else if (is_half(type)) {
    const auto to = result.raw_write();
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t bits = type == DType::f16 ? float_to_half(values[i]) : float_to_bfloat(values[i]);
      std::memcpy(to.data() + 2 * i, &bits, 2);
    }
  } else {
    throw Error(ErrorKind::unsupported, "no values are converted to " + dtype_name(type));
  }
  return result;
}

Tensor transposed(const Tensor& matrix) {
  const Shape& shape = matrix.shape();
  const auto rows = static_cast<size_t>(shape.at(0)), columns = static_cast<size_t>(shape.at(1));
  Tensor result(DType::f32, {shape[1], shape[0]});
  const auto from = matrix.as<float>();
  const auto to = result.write<float>();
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  return result;
}

std::vector<int64_t> to_ints(const Tensor& tensor) {
  switch (tensor.type()) {
    case DType::u8: return convert<int64_t, uint8_t>(tensor);
    case DType::i8: return convert<int64_t, int8_t>(tensor);
    case DType::i16: return convert<int64_t, int16_t>(tensor);
    case DType::u16: return convert<int64_t, uint16_t>(tensor);
    case DType::i32: return convert<int64_t, int32_t>(tensor);
    case DType::u32: return convert<int64_t, uint32_t>(tensor);
    case DType::i64: return convert<int64_t, int64_t>(tensor);
    case DType::boolean: return convert<int64_t, bool>(tensor);
    default: throw Error(ErrorKind::unsupported, "a tensor of " + dtype_name(tensor.type()) + " has no values as integers");
  }
}

}  // namespace pare
