#include "calib/statistics.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "pare/error.h"

namespace pare {
namespace {

using nlohmann::json;

constexpr int kFormat = 2;

/// Counts as [first, n, n, ..., first, n, ...]: runs of bins that are not empty, each after the position of its first bin.
json pack(const std::vector<uint64_t>& bins) {
  json runs = json::array();
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    json run = json::array({i});
    for (; i < bins.size() && bins[i] != 0; ++i) run.push_back(bins[i]);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<uint64_t> unpack(const json& runs) {
  std::vector<uint64_t> bins;
  if (!runs.empty()) bins.resize(Histogram::kBins);
  for (const json& run : runs) {
    const auto first = run.at(0).get<size_t>();
    for (size_t i = 1; i < run.size(); ++i) bins.at(first + i - 1) = run[i].get<uint64_t>();
  }
  return bins;
}

json pack(const ExactSum& sum) { return json::array({sum.high(), sum.low()}); }
json pack(const std::vector<ExactSum>& sums) {
  json all = json::array();
  for (const ExactSum& sum : sums) all.push_back(pack(sum));
  return all;
}
Histogram unpack_histogram(const json& t) {
  const int exponent = t.at("exponent");
  const float min = t.at("min");
  const float max = t.at("max");
  constexpr int kLargestExponent = std::numeric_limits<float>::max_exponent;
  if (exponent < Histogram::kMinExponent || exponent > kLargestExponent || !std::isfinite(min) || !std::isfinite(max) ||
      min > max)
    throw std::out_of_range("histogram");
  return Histogram::restore(exponent, min, max, t.at("not_finite"), unpack(t.at("bins")));
}
ExactSum unpack_sum(const json& j) { return ExactSum::restore(j.at(0).get<int64_t>(), j.at(1).get<uint64_t>()); }
std::vector<ExactSum> unpack_sums(const json& all) {
  std::vector<ExactSum> sums;
  for (const json& sum : all) sums.push_back(unpack_sum(sum));
  return sums;
}

}  // namespace

Statistics merge(Statistics a, const Statistics& b) {
  const auto differ = [](const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) throw Error(ErrorKind::input, "the parts differ in " + what + ": '" + x + "' and '" + y + "'");
  };
  differ("the model", a.key.model, b.key.model);
  differ("the input shape", a.key.inputs, b.key.inputs);
  differ("the preprocessing", a.key.preprocess, b.key.preprocess);
  if (a.key.cpu != b.key.cpu) a.key.cpu = "mixed";
  if (a.tensors.size() != b.tensors.size()) throw Error(ErrorKind::input, "the parts measured different tensors");
  for (auto& [name, tensor] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end()) throw Error(ErrorKind::input, "one part did not measure it").at("tensor '" + name + "'");
    tensor.histogram.merge(other->second.histogram);
    tensor.sum_of_minima.merge(other->second.sum_of_minima);
    tensor.sum_of_maxima.merge(other->second.sum_of_maxima);
    tensor.samples += other->second.samples;
    tensor.channels.merge(other->second.channels);
  }
  a.samples += b.samples;
  return a;
}

void save_statistics(const Statistics& statistics, const std::string& path) {
  json tensors = json::object();
  for (const auto& [name, t] : statistics.tensors) {
    tensors[name] = {{"exponent", t.histogram.exponent()},
                     {"min", t.histogram.min()},
                     {"max", t.histogram.max()},
                     {"not_finite", t.histogram.not_finite()},
                     {"bins", pack(t.histogram.bins())},
                     {"sum_of_minima", pack(t.sum_of_minima)},
                     {"sum_of_maxima", pack(t.sum_of_maxima)},
                     {"samples", t.samples},
                     {"channel_sums", pack(t.channels.sums())},
                     {"rows", t.channels.rows()}};
  }
  const StatisticsKey& key = statistics.key;
  const json file = {{"pare_statistics", kFormat},
                     {"model", key.model},
                     {"inputs", key.inputs},
                     {"preprocess", key.preprocess},
                     {"cpu", key.cpu},
                     {"samples", statistics.samples},
                     {"tensors", tensors}};
  const std::vector<uint8_t> bytes = json::to_cbor(file);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Statistics load_statistics(const std::string& path) {
  const std::string bytes = read_file(path);
  Statistics statistics;
  try {
    const json file = json::from_cbor(bytes);
    if (file.at("pare_statistics") != kFormat) throw Error(ErrorKind::input, "made by another version of pare").at(path);
    statistics.key = {file.at("model"), file.at("inputs"), file.at("preprocess"), file.at("cpu")};
    statistics.samples = file.at("samples");
    for (const auto& [name, t] : file.at("tensors").items()) {
      statistics.tensors[name] = {unpack_histogram(t), unpack_sum(t.at("sum_of_minima")), unpack_sum(t.at("sum_of_maxima")),
                                  t.at("samples"), ChannelMeans::restore(unpack_sums(t.at("channel_sums")), t.at("rows"))};
    }
  } catch (const std::exception& e) {
    if (dynamic_cast<const Error*>(&e) != nullptr) throw;
    throw Error(ErrorKind::input, "not a statistics file").at(path).fix("make one with 'pare calibrate'");
  }
  return statistics;
}

}  // namespace pare
