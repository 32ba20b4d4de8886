#pragma once

#include <string>
#include <string_view>

namespace pare {

/// The whole file. Errors: input where it is missing or is a folder, system where it cannot be read.
std::string read_file(const std::string& path);

/// Writes a file whole or not at all: temporary file beside it, fsync, rename. Errors: system (disk full, permission, no folder).
void write_file(const std::string& path, std::string_view bytes);

/// Errors: system, where write_file could not make this file: no such folder, no permission, or the name of a folder.
void require_writable(const std::string& path);

/// Both names lead to one existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace pare
