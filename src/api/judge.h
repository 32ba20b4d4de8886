#pragma once

#include "api/network_input.h"
#include "pare/verify.h"
#include "verify/head.h"

namespace pare {

/// The models of one verification. `prepared` is the float model after the passes that the test model went through.
struct Judged {
  const Graph& original;
  const Graph& prepared;
  const Graph& test;
  std::string original_file, test_file;  ///< for bytes; may be empty
  int64_t test_bytes = 0;
  const Graph* with_ranges = nullptr;  ///< Q/DQ form of `test`, whose ranges are checked; null = test itself
};

struct JudgeOptions {
  std::string task = "auto";
  std::string head;  ///< "" or "auto": recognised
  int threads = 1;
  uint64_t seed = 0;
  int latency_rounds = 7;
  Progress progress;
};

/// Errors: usage for a task or a head that is none, and for a head with a task that has none.
void check_task(const std::string& task, const std::string& head);

struct Task {
  std::string name;                    ///< detect, classify or none
  std::optional<HeadLayout> head;      ///< of a detector
  std::vector<std::string_view> fits;  ///< values of --head to choose from, where no head was found
};
/// "auto" decided by the outputs. Errors: unsupported where a detector or a head is asked for and not found.
Task settle_task(const std::string& task, const std::string& head, const Graph& model, const NetworkInput& input);

/// Runs all three models over the held-out samples and compares: task metric, agreement, outputs, ranges, kernels, latency,
/// bytes. Errors: input, naming the test model, where its inputs or outputs are not the float model's.
VerifyReport judge(const Judged& models, const NetworkInput& input, SampleSource& held_out, const JudgeOptions& options);

}  // namespace pare
