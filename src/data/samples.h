#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "data/preprocess.h"

namespace pare {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// One sample, batch axis 1 included.
struct Sample {
  NamedTensors inputs;  ///< by input of the model; an empty name is the model's only input
  Placement placement;  ///< of an image
  std::string name;     ///< file, or "file[row]"
};

/// Row `index` of an array, with leading axis 1.
Tensor row(const Tensor& array, size_t index);

struct Skipped {
  std::string file;
  std::string reason;
};

/// Samples by index. `load` may be called from several threads and more than once for an index.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual size_t size() const = 0;
  /// Nothing for a file that cannot be used: it is then in `skipped`. Errors: ErrorKind::input once every file proved unusable.
  [[nodiscard]] virtual std::optional<Sample> load(size_t index) = 0;
  /// What `load` skipped so far, in the order of the files.
  [[nodiscard]] virtual std::vector<Skipped> skipped() const = 0;
  /// "7 of 10 used".
  [[nodiscard]] std::string used_text() const;
};

/// Image files, read and preprocessed one at a time; holds no pixels.
class ImageSource : public SampleSource {
 public:
  /// The samples are of this `type` (see converted). Errors: ErrorKind::input "calibration set is empty".
  ImageSource(std::vector<std::string> files, const Preprocess& preprocess, int height, int width, DType type = DType::f32);
  [[nodiscard]] size_t size() const override { return files_.size(); }
  [[nodiscard]] std::optional<Sample> load(size_t index) override;
  [[nodiscard]] std::vector<Skipped> skipped() const override;

 private:
  std::vector<std::string> files_;
  Preprocess preprocess_;
  int height_, width_;
  DType type_;
  mutable std::mutex mutex_;
  std::map<size_t, std::string> reasons_;
};

/// The rows of the arrays of a .npy or .npz, which are held in memory.
class ArraySource : public SampleSource {
 public:
  /// `inputs` are the model's: an array for each is wanted by name, others are left out; a single array serves a single input
  /// whatever its name. Empty: all arrays. Errors: ErrorKind::input if an input has no array, one has no sample axis or numbers
  /// differ, or "calibration set is empty".
  explicit ArraySource(const std::string& file, const std::vector<std::string>& inputs = {});
  /// Every 5th row (of fewer than 5 the last, of a single one itself), or all others; shares the arrays' memory.
  [[nodiscard]] ArraySource part(bool held_out) const;
  [[nodiscard]] size_t size() const override { return rows_.size(); }
  [[nodiscard]] std::optional<Sample> load(size_t index) override;
  [[nodiscard]] std::vector<Skipped> skipped() const override { return {}; }

 private:
  std::string file_;
  NamedTensors arrays_;
  size_t size_ = 0;           ///< rows of the arrays
  std::vector<size_t> rows_;  ///< that this source gives
};

}  // namespace pare
