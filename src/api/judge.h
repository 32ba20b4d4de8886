#pragma once

#include "api/network_input.h"
#include "pare/verify.h"

namespace pare {

/// The models of one verification. `prepared` is the float model after the passes that the test model went through.
struct Judged {
  const Graph& original;
  const Graph& prepared;
  const Graph& test;
  std::string original_file, test_file;  ///< for bytes; may be empty
  int64_t test_bytes = 0;
};

struct JudgeOptions {
  std::string task = "auto";
  int threads = 1;
  uint64_t seed = 0;
  int latency_rounds = 8;
  Progress progress;
};

/// Runs all three models over the held-out samples and compares: task metric, agreement, outputs, ranges, kernels, latency,
/// bytes.
VerifyReport judge(const Judged& models, const NetworkInput& input, SampleSource& held_out, const JudgeOptions& options);

}  // namespace pare
