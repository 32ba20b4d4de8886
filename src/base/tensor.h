#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pare/error.h"

namespace pare {

/// Element types, with the numbers that ONNX gives them in TensorProto.DataType.
enum class DType : int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

/// ONNX's name of the type ("float", "uint8", ...); "type 17" for one without a row.
std::string dtype_name(DType type);
/// Bytes of one element; 0 for strings and for types that pare only carries along.
size_t dtype_size(DType type) noexcept;
/// float16 and bfloat16.
bool is_half(DType type) noexcept;

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

using Shape = std::vector<int64_t>;

/// Product of the dimensions; 1 for a scalar.
int64_t element_count(const Shape& shape) noexcept;
/// "1x3x640x640"; "scalar" for rank 0.
std::string shape_text(const Shape& shape);

/// A dense row-major array. Copies share their bytes until one of them is written to.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled.
  Tensor(DType type, Shape shape);
  /// From raw little-endian bytes whose number must fit `type` and `shape`; of any length for types without a size.
  Tensor(DType type, Shape shape, std::vector<std::byte> bytes);

  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor t(dtype_of<T>(), std::move(shape));
    t.require(dtype_of<T>(), values.size());
    if (!values.empty()) std::memcpy(t.raw_write().data(), values.data(), values.size_bytes());
    return t;
  }
  template <typename T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    return of<T>(std::move(shape), std::span<const T>(values));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }

  [[nodiscard]] DType type() const noexcept { return type_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] int64_t count() const noexcept { return element_count(shape_); }
  [[nodiscard]] std::span<const std::byte> raw() const noexcept;
  [[nodiscard]] std::span<std::byte> raw_write();

  /// The elements; asking for another type than the tensor's own is a fault of pare.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    require(dtype_of<T>(), static_cast<size_t>(count()));
    return {reinterpret_cast<const T*>(raw().data()), static_cast<size_t>(count())};
  }
  template <typename T>
  [[nodiscard]] std::span<T> write() {
    require(dtype_of<T>(), static_cast<size_t>(count()));
    return {reinterpret_cast<T*>(raw_write().data()), static_cast<size_t>(count())};
  }

  /// The same elements under another shape of equal count.
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  void require(DType type, size_t count) const;

  DType type_ = DType::undefined;
  Shape shape_{0};
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

/// The values of a float, double, half or integer tensor as float. Errors: ErrorKind::unsupported for another type.
std::vector<float> to_floats(const Tensor& tensor);
/// The same values as float, float16, bfloat16 (rounded to nearest, ties to even) or uint8 (rounded so, too, and clamped).
/// Errors: ErrorKind::unsupported for another type, or for one that to_floats does not read.
Tensor converted(const Tensor& tensor, DType type);
/// Columns of a float matrix as rows.
Tensor transposed(const Tensor& matrix);
/// The values of an integer (up to 64 bits signed, 32 unsigned) or boolean tensor. Errors: ErrorKind::unsupported for another
/// type.
std::vector<int64_t> to_ints(const Tensor& tensor);

}  // namespace pare
