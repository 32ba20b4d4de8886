#include <new>

#include "api/calibration.h"
#include "pare/c.h"

struct pare_calibration {
  pare::FedCalibration calibration;
  std::vector<pare::Shape> shapes;  ///< of the inputs, as pare_calibration_input tells them
  bool failed = false;              ///< a sample did, so the statistics are not whole
};

namespace pare {
namespace {

thread_local std::string last_error;

int failed(ErrorKind kind, const char* why) noexcept {
  try {
    last_error = why;
  } catch (...) {  // no memory for the words; the code stays right
    last_error.clear();
  }
  return static_cast<int>(kind);
}

/// No exception leaves the library through its C functions.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& e) {
    return failed(e.kind(), e.what());
  } catch (const std::bad_alloc&) {
    return failed(ErrorKind::system, "out of memory");
  } catch (const std::exception& e) {
    return failed(ErrorKind::internal, e.what());
  } catch (...) {
    return failed(ErrorKind::internal, "unknown exception");
  }
}

void require_whole(const pare_calibration& calibration) {
  if (calibration.failed) throw Error(ErrorKind::usage, "a sample failed, so the statistics are not whole").fix("open another");
}

void require(bool given, const char* argument) {
  if (!given) throw Error(ErrorKind::usage, "is NULL").at(argument);
}

Tensor tensor_of(const pare_array& array) {
  const auto type = static_cast<DType>(array.type);
  if (dtype_size(type) == 0) throw Error(ErrorKind::input, "is of " + dtype_name(type) + ", which cannot be fed");
  if (array.rank < 0 || (array.rank > 0 && array.shape == nullptr)) throw Error(ErrorKind::usage, "has no shape");
  Shape shape(array.shape, array.shape + array.rank);
  for (const int64_t size : shape)
    if (size < 1) throw Error(ErrorKind::input, "has no elements: its shape is " + shape_text(shape));
  require(array.data != nullptr, "data");
  const auto* bytes = static_cast<const std::byte*>(array.data);
  return {type, shape, {bytes, bytes + static_cast<size_t>(element_count(shape)) * dtype_size(type)}};
}

}  // namespace
}  // namespace pare

using pare::guarded;
using pare::require;
using pare::require_whole;

const char* pare_last_error() { return pare::last_error.c_str(); }

int pare_calibration_open(const char* model, const char* output, const char* shape, int threads, pare_calibration** calibration) {
  if (calibration != nullptr) *calibration = nullptr;
  return guarded([&] {
    require(model != nullptr, "model"), require(output != nullptr, "output"), require(calibration != nullptr, "calibration");
    auto made = std::make_unique<pare_calibration>(
        pare_calibration{pare::FedCalibration(model, output, shape != nullptr ? shape : "", threads), {}, false});
    for (const pare::Value& input : made->calibration.inputs()) {
      made->shapes.emplace_back();
      if (!input.dims) continue;
      for (const pare::Dim& d : *input.dims) made->shapes.back().push_back(d.size.value_or(-1));
    }
    *calibration = made.release();
  });
}

size_t pare_calibration_inputs(const pare_calibration* calibration) {
  return calibration != nullptr ? calibration->shapes.size() : 0;
}

int pare_calibration_input(const pare_calibration* calibration, size_t index, pare_array* input) {
  return guarded([&] {
    require(calibration != nullptr, "calibration"), require(input != nullptr, "input");
    const auto& inputs = calibration->calibration.inputs();
    if (index >= inputs.size()) throw pare::Error(pare::ErrorKind::usage, "the model has no input " + std::to_string(index));
    const pare::Value& value = inputs[index];
    const pare::Shape& shape = calibration->shapes[index];
    *input = {value.name.c_str(), static_cast<int32_t>(value.type), value.dims ? static_cast<int32_t>(shape.size()) : -1,
              shape.data(), nullptr};
  });
}

int pare_calibration_add(pare_calibration* calibration, const char* sample, const pare_array* arrays, size_t count) {
  return guarded([&] {
    require(calibration != nullptr, "calibration"), require(arrays != nullptr || count == 0, "arrays");
    require_whole(*calibration);
    calibration->failed = true;
    pare::Sample given{.inputs = {}, .placement = {}, .name = sample != nullptr ? sample : ""};
    for (size_t i = 0; i < count; ++i) {
      require(arrays[i].name != nullptr, "name");
      try {
        given.inputs.emplace_back(arrays[i].name, pare::tensor_of(arrays[i]));
      } catch (pare::Error& e) {
        throw e.at("sample '" + given.name + "': array '" + arrays[i].name + "'");
      }
    }
    calibration->calibration.add(given);
    calibration->failed = false;
  });
}

int pare_calibration_save(pare_calibration* calibration, int64_t* samples, int64_t* tensors) {
  return guarded([&] {
    require(calibration != nullptr, "calibration");
    require_whole(*calibration);
    const pare::CalibrateResult result = calibration->calibration.save();
    if (samples != nullptr) *samples = result.samples;
    if (tensors != nullptr) *tensors = result.tensors;
  });
}

void pare_calibration_close(pare_calibration* calibration) { delete calibration; }
