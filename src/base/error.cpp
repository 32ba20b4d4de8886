#include "pare/error.h"

#include <utility>

namespace pare {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) { compose(); }

Error& Error::at(std::string_view place) & {
  place_ = place_.empty() ? std::string(place) : std::string(place) + ": " + place_;
  compose();
  return *this;
}

Error&& Error::at(std::string_view place) && { return std::move(this->at(place)); }

Error& Error::fix(std::string_view advice) & {
  fix_ = advice;
  compose();
  return *this;
}

Error&& Error::fix(std::string_view advice) && { return std::move(this->fix(advice)); }

void Error::compose() {
  text_ = place_.empty() ? message_ : place_ + ": " + message_;
  if (!fix_.empty()) text_ += "; " + fix_;
}

}  // namespace pare
