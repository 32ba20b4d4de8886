#pragma once

#include <cstdint>
#include <string_view>

namespace pare {

/// 64-bit FNV-1a of the bytes (Fowler, Noll, Vo; IETF draft-eastlake-fnv): the same on every machine. Tells things apart and
/// splits them evenly; it is no cryptographic hash. `hash` continues that of the bytes before.
constexpr uint64_t fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325U) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace pare
