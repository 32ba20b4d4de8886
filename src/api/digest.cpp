#include "api/digest.h"

#include <cstdio>

#include "base/fnv1a.h"
#include "ir/save.h"

namespace pare {

std::string digest(const Graph& graph) {
  Graph bare = graph;
  bare.metadata.clear();
  bare.values.clear();
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fnv1a(serialize(bare))));
  return text;
}

}  // namespace pare
