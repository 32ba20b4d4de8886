#pragma once

#include <string>
#include <vector>

namespace pare {

/// One decision of a stage: what was done (or declined) where, and why. Rows go into the report; nothing is printed here.
struct LogRow {
  std::string stage;  ///< pass or step, e.g. "fold_batch_norm"
  std::string place;  ///< node or tensor
  std::string what;   ///< "folded", "kept", ...
  std::string why;    ///< reason or number behind it; may be empty
};

using Log = std::vector<LogRow>;

}  // namespace pare
