#include "pare/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "command.h"

namespace pare::cli {
namespace {

constexpr size_t kRows = 10;   // of a list that grows with the model
constexpr size_t kName = 44;   // characters of a node's name
constexpr size_t kValue = 80;  // of a metadata value

std::string bytes(int64_t n) {
  if (n < 1000) return fmt::format("{} B", n);
  return n < 1'000'000 ? fmt::format("{:.1f} kB", n / 1e3) : fmt::format("{:.2f} MB", n / 1e6);
}

std::string grouped(int64_t n) {
  std::string text = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string large(int64_t n) {
  return n < 1'000'000 ? grouped(n) : n < 1'000'000'000 ? fmt::format("{:.2f} M", n / 1e6) : fmt::format("{:.2f} G", n / 1e9);
}

std::string joined(const std::vector<std::string>& words, size_t limit) {
  std::string text;
  for (size_t i = 0; i < words.size() && i < limit; ++i) text += (i == 0 ? "" : ", ") + words[i];
  return words.size() > limit ? text + fmt::format(" and {} more", words.size() - limit) : text;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

bool inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The end, with at most `limit` bytes.
std::string tail(const std::string& text, size_t limit) {
  if (text.size() <= limit) return one_line(text);
  size_t from = text.size() - limit + 2;
  while (from < text.size() && inside_character(text[from])) ++from;
  return ".." + one_line(text.substr(from));
}

/// The beginning, with at most `limit` bytes.
std::string head(const std::string& text, size_t limit) {
  if (text.size() <= limit) return one_line(text);
  size_t to = limit - 2;
  while (to > 0 && inside_character(text[to])) --to;
  return one_line(text.substr(0, to)) + "..";
}

std::string row(std::string_view title, std::string_view text) { return fmt::format("{:<14}{}\n", title, text); }

std::string ports(std::string_view title, const std::vector<PortFacts>& list, bool all) {
  std::string text;
  const size_t shown = all ? list.size() : std::min(list.size(), kRows);
  for (size_t i = 0; i < shown; ++i) {
    const PortFacts& p = list[i];
    const std::string shape = !p.shape           ? "unknown shape"
                              : p.shape->empty() ? "scalar"
                                                 : fmt::format("{}", fmt::join(*p.shape, "x"));
    text += row(i == 0 ? title : "", p.name + "  " + p.type + (p.type == "no tensor" ? "" : " " + shape));
  }
  return shown < list.size() ? text + row("", fmt::format("and {} more", list.size() - shown)) : text;
}

std::string constants(std::string_view title, const std::vector<ConstantFacts>& list) {
  int64_t elements = 0, size = 0;
  std::vector<std::string> types;
  for (const ConstantFacts& c : list) {
    elements += c.elements;
    size += c.bytes;
    types.push_back(fmt::format("{} {}", c.type, grouped(c.elements)));
  }
  if (list.empty()) return title == "parameters" ? row(title, "none") : "";
  return row(title, fmt::format("{} in {}{}", grouped(elements), bytes(size),
                                list.size() > 1 ? ": " + joined(types, types.size()) : " of " + list.front().type));
}

std::string metadata(const InspectReport& r, bool all) {
  if (r.metadata.empty()) return "";
  std::vector<std::string> keys;
  for (const auto& [key, value] : r.metadata) keys.push_back(head(key, kName));
  std::string text = row("metadata", joined(keys, all ? keys.size() : kRows));
  for (const auto& [key, value] : r.metadata)
    if (all) text += row("", head(key, kName) + ": " + head(value, kValue));
  return text;
}

std::string multiply_adds(const InspectReport& r) {
  const auto nodes = static_cast<int64_t>(r.weights.size());
  if (nodes == 0) return "";
  if (r.uncounted_nodes == nodes) return row("multiply-adds", "unknown, as the shapes of the layers are");
  return row("multiply-adds", large(r.multiply_adds) + (r.free_batch ? " for each sample of a free batch" : "") +
                                  (r.uncounted_nodes > 0 ? fmt::format(", without {} of {} layers whose shapes are unknown",
                                                                       r.uncounted_nodes, nodes)
                                                         : ""));
}

std::string quantization(const InspectReport& r) {
  std::vector<std::string> counts;
  const auto add = [&](int64_t n, const char* what) {
    if (n > 0) counts.push_back(fmt::format("{} {}", n, what));
  };
  add(r.quantize, "QuantizeLinear");
  add(r.dequantize, "DequantizeLinear");
  add(r.dynamic_quantize, "DynamicQuantizeLinear");
  add(r.qlinear, "QLinear*");
  add(r.integer, "*Integer");
  return row("quantization", counts.empty() ? "none" : joined(counts, counts.size()));
}

std::string precisions(const InspectReport& r) {
  if (r.weights.empty()) return row("weights", "no convolution or matrix product");
  std::map<std::string, int64_t> counts;
  for (const WeightFacts& w : r.weights)
    ++counts[w.precision == "integer" || w.precision == "float" ? "in " + w.type : w.precision];
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const auto& [what, n] : counts) words.push_back(fmt::format("{} {}", n, what));
  std::string text = row("weights", fmt::format("of {} layer{}, {}: {}", r.weights.size(), r.weights.size() == 1 ? "" : "s",
                                                bytes(r.weight_bytes), joined(words, words.size())));
  if (counts.contains("fake-quantized"))
    text += row("", "fake-quantized: QuantizeLinear stands behind a float weight, so the file is as large as the float one");
  if (counts.contains("unquantized"))
    text += row("", "unquantized: the input is quantized, the weight is plain float (its Q/DQ folded away, or never made)");
  return text;
}

std::string ranges(const InspectReport& r, bool all) {
  const auto measured =
      std::count_if(r.weights.begin(), r.weights.end(), [](const WeightFacts& w) { return w.range.has_value(); });
  if (measured == 0) return "";
  const auto count = static_cast<size_t>(measured);
  const size_t shown = all ? count : std::min(count, kRows);
  size_t width = 5;
  const size_t limit = all ? std::string::npos : kName;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, std::min(limit, r.weights[i].node.size()));

  std::string text = fmt::format(
      "\nweights in int8{}: largest / median output channel by max |w|; weights at zero and levels of the\n"
      "poorest channel, with one scale for each channel and with one for the tensor\n",
      shown < count ? fmt::format(", {} worst of {} layers", shown, count) : "");
  constexpr auto kLine = "{} {:<{}}  {:<14} {:<14} {:>8}  {:>7} {:>8} {:>7}  {:>8} {:>7}";
  text += fmt::format(fmt::runtime(kLine), ' ', "", width, "", "", "largest/", "zero %", "", "", "", "levels") + '\n';
  text += fmt::format(fmt::runtime(kLine), ' ', "layer", width, "operator", "weight", "median", "in file", "/channel", "/tensor",
                      "/channel", "/tensor") +
          '\n';
  const auto percent = [](double share) { return fmt::format("{:.2f}", 100 * share); };
  for (size_t i = 0; i < shown; ++i) {
    const WeightFacts& w = r.weights[i];
    const WeightRange& f = *w.range;
    text += fmt::format(fmt::runtime(kLine), f.ratio >= kOutlierRatio ? '!' : ' ', tail(w.node, limit), width, tail(w.op, 14),
                        fmt::format("{}", fmt::join(w.shape, "x")), fmt::format("{:.2f}", f.ratio), percent(f.zero),
                        percent(f.zero_per_channel), percent(f.zero_per_tensor), f.levels_per_channel, f.levels_per_tensor);
    if (f.zero_channels > 0) text += fmt::format("  {} of {} channels zero", f.zero_channels, f.channels);
    if (f.not_finite > 0) text += fmt::format("  {} NaN or infinite", f.not_finite);
    text += '\n';
  }
  const auto outliers = std::count_if(r.weights.begin(), r.weights.end(),
                                      [](const WeightFacts& w) { return w.range && w.range->ratio >= kOutlierRatio; });
  if (outliers > 0)
    text += fmt::format(
        "! {} {} a channel {:.0f} or more times as large as the median: int8 with one scale for the tensor collapses there;\n"
        "  a scale for each channel cures the weights, not the activations behind them\n",
        outliers, outliers == 1 ? "layer has" : "layers have", kOutlierRatio);
  return text;
}

std::string table(const InspectReport& r, bool all) {
  std::vector<std::string> opsets, operators;
  for (const auto& [domain, version] : r.opsets)
    opsets.push_back(domain == "ai.onnx" ? std::to_string(version) : fmt::format("{} {}", domain, version));
  for (const auto& [op, n] : r.operators) operators.push_back(fmt::format("{} {}", op, n));
  std::string text =
      row("file", fmt::format("{}, {}, IR {}, opset {}{}{}", r.file, bytes(r.bytes), r.ir_version, joined(opsets, kRows),
                              r.unused_opsets > 0 ? fmt::format(" ({} unused domains)", r.unused_opsets) : "",
                              r.producer.empty() ? "" : ", made by " + head(r.producer, kName)));
  text += ports("inputs", r.inputs, all) + ports("outputs", r.outputs, all) + metadata(r, all);
  text += row("operators", fmt::format("{}: {}", r.nodes, joined(operators, all ? operators.size() : kRows)));
  if (r.subgraphs > 0)
    text +=
        row("subgraphs", fmt::format("{} with {} nodes; their layers and constants count below", r.subgraphs, r.subgraph_nodes));
  if (r.local_functions) text += row("functions", "the model defines its own, not looked into");
  text += constants("parameters", r.parameters) + constants("scales, zeros", r.quantization_constants) +
          constants("constants", r.other_constants);
  text += multiply_adds(r) + quantization(r) + precisions(r) + ranges(r, all);
  return text;
}

}  // namespace

std::function<int()> declare_inspect(CLI::App& app, const Common& common) {
  auto options = std::make_shared<InspectOptions>();
  app.add_option("model", options->model, "ONNX file, float or quantized")->required();
  return [options, &common] {
    const InspectReport report = inspect(*options);
    if (common.json)
      fmt::print("{}", to_json(report));
    else if (!common.quiet)
      fmt::print("{}", table(report, common.verbose));
    return 0;
  };
}

}  // namespace pare::cli
