#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pare {

inline std::string golden_text(const std::string& name) {
  std::ifstream file(std::string(PARE_GOLDEN) + "/" + name);
  if (!file) throw std::runtime_error("no golden file " + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The words of a golden file, one after another; the first line, a comment, is skipped.
class Golden {
 public:
  explicit Golden(const std::string& name) : words_(golden_text(name)) {
    std::string comment;
    std::getline(words_, comment);
  }
  bool more() { return (words_ >> std::ws).good(); }
  std::string word() {
    std::string w;
    if (!(words_ >> w)) throw std::runtime_error("a golden file ends early");
    return w;
  }
  int integer() { return std::stoi(word()); }
  double number() { return std::stod(word()); }
  float real() { return std::stof(word()); }
  std::vector<float> reals(size_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = real();
    return values;
  }

 private:
  std::istringstream words_;
};

}  // namespace pare
