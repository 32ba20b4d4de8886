#include "tests/numeric/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pare {
namespace {

double uniform(uint64_t seed, uint64_t index) {  // splitmix64, upper 24 bits
  uint64_t z = seed + 0x9E3779B97F4A7C15U * (index + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-24;
}

double sample(const std::string& name, const double* u, size_t i) {
  double normal = -6;
  for (size_t k = 0; k < 12; ++k) normal += u[k];
  if (name == "uniform") return u[0] * 4 - 1;
  if (name == "normal") return normal;
  if (name == "relu") return std::max(normal, 0.0);
  if (name == "sparse") return u[0] < 0.9 ? 0 : std::abs(normal);
  if (name == "heavy") return (u[1] < 0.5 ? -1 : 1) * u[0] / (1.0009765625 - u[0]);
  if (name == "outlier") return i == 0 ? 60 : normal;
  if (name == "skewed") return normal < 0 ? normal / 16 : normal * 2;
  throw Error(ErrorKind::internal, "no samples " + name);
}

}  // namespace

std::vector<std::vector<std::string>> golden_rows(const std::string& file) {
  std::ifstream in(std::string(PARE_GOLDEN) + "/" + file);
  if (!in) throw Error(ErrorKind::input, "no golden file " + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

DType quantized_type(const std::string& text) {
  return text == "u8" ? DType::u8 : text == "i8" ? DType::i8 : text == "u16" ? DType::u16 : DType::i16;
}

std::vector<float> samples(const std::string& name, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    double u[12];
    for (size_t k = 0; k < 12; ++k) u[k] = uniform(7, 12 * i + k);
    values[i] = static_cast<float>(sample(name, u, i));
  }
  return values;
}

}  // namespace pare
