#pragma once

#include <string>
#include <vector>

#include "pare/data_options.h"
#include "pare/export.h"
#include "pare/progress.h"
#include "pare/verify.h"

namespace pare {

struct QuantizeOptions {
  std::string model;   ///< float ONNX file
  std::string output;  ///< INT8 ONNX file to write
  DataOptions data;
  std::string report;                ///< JSON report; "" = output with .report.json
  std::string statistics;            ///< use this statistics file instead of calibrating; data.data may then be empty
  std::string plan;                  ///< use this plan instead of making one
  std::vector<std::string> exclude;  ///< nodes (name or output) that stay float
  std::vector<std::string> disabled_passes;
  std::string range = "percentile";  ///< minmax, percentile, entropy, l2, mean-minmax
  double percentile = 99.999;        ///< (0, 100], for range = percentile
  std::string activation = "uint8";  ///< uint8 or int8
  bool symmetric = false;            ///< activations with zero in the middle
  bool per_tensor = false;           ///< one scale for a whole weight
  bool follow_activation = true;     ///< cut ranges where the activation behind is flat
  bool bias_correction = true;       ///< biases take up what the weights' rounding shifts on average
  std::string format = "qdq";        ///< qdq, qoperator; dynamic (ranges measured in each run), weights (int8 weights only)
  std::string io = "float";          ///< of the written model's inputs and outputs: float, uint8, int8
  bool fold_preprocess = false;      ///< the image input takes uint8 pixels, N x H x W x 3; mean and std move inside
  std::string runtime;               ///< oldest ONNX Runtime that must load the file, "1.17"; "" = the present one
  std::string target_cpu;            ///< avx2, avx512, vnni, amx, arm-dot; "" = this machine's
  std::string task = "auto";         ///< for the verification: auto, detect, classify, none
  std::string head;                  ///< layout of the detection head, as in VerifyOptions
  bool dry_run = false;              ///< plan only; writes nothing
  bool verify = true;                ///< measure the result on held-out images
  int threads = 0;                   ///< 0 = all processors
  uint64_t seed = 0;                 ///< of bootstrap intervals
  Progress progress;
};

/// One decision in words.
struct Decision {
  std::string stage, place, what, why;
};

struct QuantizeResult {
  std::string plan_json;            ///< every tensor's and node's decision; accepted by --plan
  std::vector<Decision> decisions;  ///< of the prepare passes, the head and the writer
  int64_t integer_nodes = 0;
  int64_t float_nodes = 0;
  std::vector<std::pair<std::string, int64_t>> float_reasons;  ///< reason -> number of nodes, most first
  int64_t calibration_samples = 0;
  std::vector<std::string> skipped;  ///< calibration files that could not be used: "file: reason"
  std::string format;
  std::string target_cpu;
  int weight_bits = 8;
  std::optional<VerifyReport> verification;
  std::string not_verified;  ///< why there is none
};

/// Float ONNX and data -> INT8 ONNX, verified. The story is in src/api/quantize.cpp. Writes output and report whole or not at
/// all.
PARE_API QuantizeResult quantize(const QuantizeOptions& options);

/// The whole run as JSON: decisions, plan, verification; what the report file holds.
PARE_API std::string to_json(const QuantizeResult& result);

}  // namespace pare
