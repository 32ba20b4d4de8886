#pragma once

#include <map>
#include <string>
#include <vector>

#include "numeric/quantization.h"
#include "quantize/scheme.h"

namespace pare {

/// What happens to one activation tensor.
struct TensorPlan {
  bool quantized = false;
  DType type = DType::u8;
  QParams params;                    ///< meaningful where quantized
  Range range;                       ///< calibrated, before zero is included
  std::vector<float> channel_means;  ///< measured, of what a layer multiplies; empty elsewhere
  std::string group;                 ///< tensors of one group share one scale; the name of its first tensor
  std::string method;                ///< where the range comes from: "percentile", "Sigmoid of 'x'", "widest of a group", ...
  std::string reason;                ///< why float, or what was special
};

/// What happens to one operator.
struct NodePlan {
  std::string op;
  bool integer = false;
  std::string reason;  ///< why float, or the kernel that runs it
};

/// Every decision of a quantization, before anything is written. Saved as JSON, editable, accepted back by --plan.
struct Plan {
  Scheme scheme;
  std::map<std::string, TensorPlan> tensors;  ///< by tensor name
  std::map<std::string, NodePlan> nodes;      ///< by the name of the node's first output
};

std::string to_json(const Plan& plan);
/// Errors: input, naming the file, key or tensor that is wrong (unknown key, scale <= 0 or not finite, zero point outside its
/// type).
Plan plan_from_json(const std::string& text, const std::string& file);

}  // namespace pare
