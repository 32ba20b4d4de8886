#include "api/digest.h"

#include <cstdio>

#include "ir/save.h"

namespace pare {

std::string digest(const Graph& graph) {
  Graph bare = graph;
  bare.metadata.clear();
  bare.values.clear();
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : serialize(bare)) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3U;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace pare
