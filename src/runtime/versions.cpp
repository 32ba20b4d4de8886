#include "runtime/versions.h"

#include <array>
#include <charconv>

#include "pare/error.h"

namespace pare {
namespace {

constexpr std::array<RuntimeVersion, 8> kVersions{
    {{15, 19, 9}, {17, 20, 9}, {18, 21, 10}, {21, 22, 10}, {23, 23, 11}, {24, 25, 13}, {26, 26, 13}, {32, 28, 14}}};

/// 17 of "1.17" and "1.17.3"; -1 for anything else.
int minor(std::string_view version) {
  if (!version.starts_with("1.")) return -1;
  int value = -1;
  const auto [end, error] = std::from_chars(version.data() + 2, version.data() + version.size(), value);
  return error == std::errc() && (end == version.data() + version.size() || *end == '.') ? value : -1;
}

}  // namespace

const RuntimeVersion& runtime_version_row(const std::string& version) {
  const RuntimeVersion* found = nullptr;
  for (const RuntimeVersion& row : kVersions)
    if (row.minor <= minor(version)) found = &row;
  if (found == nullptr)
    throw Error(ErrorKind::usage, "'" + version + "' is no version of ONNX Runtime that is known here; from 1.15 on")
        .at("--runtime");
  return *found;
}

}  // namespace pare
