#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calib/channel_means.h"
#include "numeric/exact_sum.h"
#include "numeric/histogram.h"

namespace pare {

/// What calibration knows of one tensor. Every part is independent of the order of the samples and merges exactly.
struct TensorStatistics {
  Histogram histogram;
  ExactSum sum_of_minima, sum_of_maxima;  ///< of each sample's smallest and largest value
  uint64_t samples = 0;
  ChannelMeans channels;  ///< of what a layer multiplies with its weights

  friend bool operator==(const TensorStatistics&, const TensorStatistics&) = default;
};

/// Under which conditions statistics were taken; only equal ones merge or serve a quantization.
struct StatisticsKey {
  std::string model;       ///< hash of the prepared float network
  std::string inputs;      ///< names and shapes, "images:1x3x640x640"
  std::string preprocess;  ///< canonical JSON of the preprocessing; empty for arrays
  std::string cpu;         ///< instruction set: float results differ between sets in their last bits

  friend bool operator==(const StatisticsKey&, const StatisticsKey&) = default;
};

struct Statistics {
  StatisticsKey key;
  uint64_t samples = 0;
  std::map<std::string, TensorStatistics> tensors;

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// The statistics of both parts' samples. Errors: input, where the parts were taken of other models, shapes, preprocessings or
/// tensors. Parts from CPUs of different instruction sets merge; the key then says "mixed".
Statistics merge(Statistics a, const Statistics& b);

/// A statistics file (CBOR); equal statistics make equal bytes.
void save_statistics(const Statistics& statistics, const std::string& path);
/// Errors: input, for a file that is none.
Statistics load_statistics(const std::string& path);

}  // namespace pare
