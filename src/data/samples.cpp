#include "data/samples.h"

#include <algorithm>
#include <numeric>

#include "data/npy.h"

namespace pare {
namespace {

Error empty_set(const std::string& place) { return Error(ErrorKind::input, "calibration set is empty").at(place); }

std::string names_of(const NamedTensors& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays) text += (text.empty() ? "" : ", ") + name;
  return text;
}

NamedTensors select(const NamedTensors& arrays, const std::vector<std::string>& inputs) {
  if (inputs.empty()) return arrays;
  if (inputs.size() == 1 && arrays.size() == 1) return {{inputs[0], arrays[0].second}};
  NamedTensors chosen;
  for (const std::string& input : inputs) {
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto& array) { return array.first == input; });
    if (found == arrays.end())
      throw Error(ErrorKind::input, "has no array for the model's input '" + input + "', it holds: " + names_of(arrays));
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

Tensor row(const Tensor& array, size_t index) {
  Shape shape = array.shape();
  const size_t bytes = array.raw().size() / static_cast<size_t>(shape[0]);
  shape[0] = 1;
  const auto from = array.raw().subspan(index * bytes, bytes);
  return Tensor(array.type(), std::move(shape), {from.begin(), from.end()});
}

std::string SampleSource::used_text() const {
  return std::to_string(size() - skipped().size()) + " of " + std::to_string(size()) + " used";
}

ImageSource::ImageSource(std::vector<std::string> files, const Preprocess& preprocess, int height, int width, DType type)
    : files_(std::move(files)), preprocess_(preprocess), height_(height), width_(width), type_(type) {
  if (files_.empty()) throw Error(ErrorKind::input, "calibration set is empty");
}

std::optional<Sample> ImageSource::load(size_t index) {
  const std::string& file = files_.at(index);
  try {
    Sample sample{.inputs = {}, .placement = {}, .name = file};
    const Tensor pixels = apply(preprocess_, read_image(file), height_, width_, &sample.placement);
    sample.inputs.emplace_back("", converted(pixels, type_));
    return sample;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::input && e.kind() != ErrorKind::system) throw;
    const std::lock_guard lock(mutex_);
    reasons_[index] = e.message();
    if (reasons_.size() == files_.size())
      throw Error(ErrorKind::input,
                  "none of the " + std::to_string(files_.size()) + " files can be used; the first: " + reasons_.begin()->second)
          .at(files_[reasons_.begin()->first]);
    return std::nullopt;
  }
}

std::vector<Skipped> ImageSource::skipped() const {
  const std::lock_guard lock(mutex_);
  std::vector<Skipped> list;
  for (const auto& [index, reason] : reasons_) list.push_back({files_[index], reason});
  return list;
}

ArraySource::ArraySource(const std::string& file, const std::vector<std::string>& inputs) : file_(file) {
  const NamedTensors arrays = read_arrays(file);
  if (arrays.empty()) throw empty_set(file);
  try {
    arrays_ = select(arrays, inputs);
    for (const auto& [name, array] : arrays_) {
      if (array.shape().empty()) throw Error(ErrorKind::input, "is a single number, not samples").at("array '" + name + "'");
      const auto samples = static_cast<size_t>(array.shape()[0]);
      if (&array != &arrays_.front().second && samples != size_)
        throw Error(ErrorKind::input, "holds " + std::to_string(samples) + " samples, '" + arrays_.front().first + "' holds " +
                                          std::to_string(size_))
            .at("array '" + name + "'");
      size_ = samples;
    }
  } catch (Error& e) {
    throw e.at(file);
  }
  if (size_ == 0) throw empty_set(file);
  rows_.resize(size_);
  std::iota(rows_.begin(), rows_.end(), size_t{0});
}

ArraySource ArraySource::part(bool held_out) const {
  constexpr size_t kEvery = 5;
  ArraySource other = *this;
  if (size_ > 1)
    std::erase_if(other.rows_,
                  [&](size_t r) { return (r % kEvery == kEvery - 1 || (size_ < kEvery && r == size_ - 1)) != held_out; });
  return other;
}

std::optional<Sample> ArraySource::load(size_t index) {
  const size_t r = rows_.at(index);
  Sample sample{.inputs = {}, .placement = {}, .name = file_ + "[" + std::to_string(r) + "]"};
  for (const auto& [name, array] : arrays_) sample.inputs.emplace_back(name, row(array, r));
  return sample;
}

}  // namespace pare
