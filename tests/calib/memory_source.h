#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/samples.h"
#include "pare/error.h"

namespace pare {

/// Samples "s0", "s1", ... held in memory; one without a tensor cannot be used.
class MemorySource : public SampleSource {
 public:
  explicit MemorySource(std::vector<std::optional<Tensor>> tensors, std::string input = "")
      : tensors_(std::move(tensors)), input_(std::move(input)) {}
  [[nodiscard]] size_t size() const override { return tensors_.size(); }
  [[nodiscard]] std::optional<Sample> load(size_t index) override {
    const std::optional<Tensor>& tensor = tensors_.at(index);
    if (!tensor) return std::nullopt;
    return Sample{.inputs = {{input_, *tensor}}, .placement = {}, .name = "s" + std::to_string(index)};
  }
  [[nodiscard]] std::vector<Skipped> skipped() const override {
    std::vector<Skipped> list;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!tensors_[i]) list.push_back({"s" + std::to_string(i), "broken"});
    return list;
  }

 private:
  std::vector<std::optional<Tensor>> tensors_;
  std::string input_;
};

}  // namespace pare
