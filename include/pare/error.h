#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "pare/export.h"

namespace pare {

/// Why a command stopped. The value is the exit code of the program.
enum class ErrorKind {
  limit = 1,        ///< a limit that the user gave does not hold
  usage = 2,        ///< wrong options
  input = 3,        ///< a file that cannot be used as it is
  unsupported = 4,  ///< outside what pare does, or refused for a stated reason
  internal = 5,     ///< a fault of pare itself
  system = 6,       ///< disk, permission or memory
};

/// The only exception that the library throws on purpose: what is wrong, where, and the way out. `what()` is one line:
/// `place: message; fix`.
///
///   throw Error(ErrorKind::input, "scale is 0, allowed is > 0").at("tensor 'w'").fix("run 'pare doctor'");
class PARE_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);

  /// Adds the place; calls on the way up put the wider place in front: "m.onnx: node 'conv1' (Conv)".
  Error& at(std::string_view place) &;
  Error&& at(std::string_view place) &&;
  /// The option or command that leads on.
  Error& fix(std::string_view advice) &;
  Error&& fix(std::string_view advice) &&;

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] const std::string& advice() const noexcept { return fix_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  std::string message_, place_, fix_, text_;
};

}  // namespace pare
