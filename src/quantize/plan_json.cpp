#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "quantize/plan.h"

namespace pare {
namespace {

using nlohmann::ordered_json;

DType type_from(const std::string& name) {
  for (const DType type : {DType::u8, DType::i8, DType::u16, DType::i16})
    if (dtype_name(type) == name) return type;
  throw Error(ErrorKind::input, "'" + name + "' is no quantized type; known are uint8, int8, uint16, int16");
}

ordered_json to_json(const TensorPlan& t) {
  ordered_json j{{"quantized", t.quantized}};
  if (t.quantized) {
    j["type"] = dtype_name(t.type);
    j["scale"] = t.params.scale;
    j["zero_point"] = t.params.zero_point;
    j["range"] = {t.range.low, t.range.high};
    j["method"] = t.method;
    j["group"] = t.group;
    if (!t.channel_means.empty()) j["channel_means"] = t.channel_means;
  }
  if (!t.reason.empty()) j["reason"] = t.reason;
  return j;
}

void check_keys(const ordered_json& j, const std::set<std::string>& known) {
  for (const auto& [key, value] : j.items())
    if (!known.contains(key)) throw Error(ErrorKind::input, "unknown key '" + key + "'");
}

TensorPlan tensor_from(const ordered_json& j) {
  TensorPlan t;
  check_keys(j, {"quantized", "type", "scale", "zero_point", "range", "method", "group", "channel_means", "reason"});
  t.quantized = j.at("quantized");
  t.reason = j.value("reason", "");
  if (!t.quantized) return t;
  t.type = type_from(j.at("type"));
  t.params.scale = j.at("scale");
  t.range = {j.at("range").at(0), j.at("range").at(1)};
  t.method = j.value("method", "");
  t.group = j.value("group", "");
  t.channel_means = j.value("channel_means", std::vector<float>());
  if (!std::isfinite(t.params.scale) || t.params.scale <= 0)
    throw Error(ErrorKind::input, "its scale is " + std::to_string(t.params.scale) + ", allowed is finite and > 0");
  const QLimits limits = limits_of(t.type);
  const ordered_json& zero_point = j.at("zero_point");
  if (!zero_point.is_number_integer()) throw Error(ErrorKind::input, "its zero point " + zero_point.dump() + " is no integer");
  if (zero_point < limits.low || zero_point > limits.high)
    throw Error(ErrorKind::input, "its zero point " + zero_point.dump() + " lies outside " + dtype_name(t.type));
  t.params.zero_point = zero_point;
  return t;
}

}  // namespace

std::string to_json(const Plan& plan) {
  ordered_json j;
  j["pare_plan"] = 1;
  j["scheme"] = {{"activation", dtype_name(plan.scheme.activation)},
                 {"symmetric", plan.scheme.symmetric},
                 {"per_channel", plan.scheme.per_channel},
                 {"weight_bits", plan.scheme.weight_bits},
                 {"range", method_name(plan.scheme.range)},
                 {"percentile", plan.scheme.percentile},
                 {"follow_activation", plan.scheme.follow_activation},
                 {"bias_correction", plan.scheme.bias_correction}};
  j["tensors"] = j["nodes"] = ordered_json::object();
  for (const auto& [name, t] : plan.tensors) j["tensors"][name] = to_json(t);
  for (const auto& [name, n] : plan.nodes) j["nodes"][name] = {{"op", n.op}, {"integer", n.integer}, {"reason", n.reason}};
  return j.dump(1) + "\n";
}

Plan plan_from_json(const std::string& text, const std::string& file) {
  Plan plan;
  std::string place;
  try {
    const ordered_json j = ordered_json::parse(text);
    if (j.at("pare_plan") != 1) throw Error(ErrorKind::input, "made by another version of pare");
    check_keys(j, {"pare_plan", "scheme", "tensors", "nodes"});
    place = "scheme";
    const ordered_json& s = j.at("scheme");
    check_keys(s, {"activation", "symmetric", "per_channel", "weight_bits", "range", "percentile", "follow_activation",
                   "bias_correction"});
    plan.scheme.activation = type_from(s.at("activation"));
    plan.scheme.symmetric = s.at("symmetric");
    plan.scheme.per_channel = s.at("per_channel");
    plan.scheme.weight_bits = s.at("weight_bits");
    if (plan.scheme.weight_bits != 7 && plan.scheme.weight_bits != 8)
      throw Error(ErrorKind::input, "weight_bits is " + std::to_string(plan.scheme.weight_bits) + ", allowed are 7 and 8");
    plan.scheme.range = range_method(s.at("range").get<std::string>());
    plan.scheme.percentile = s.at("percentile");
    plan.scheme.follow_activation = s.at("follow_activation");
    plan.scheme.bias_correction = s.at("bias_correction");
    place = "tensors";
    for (const auto& [name, t] : j.at("tensors").items()) {
      place = "tensor '" + name + "'";
      plan.tensors[name] = tensor_from(t);
    }
    place = "nodes";
    for (const auto& [name, n] : j.at("nodes").items()) {
      place = "node of '" + name + "'";
      check_keys(n, {"op", "integer", "reason"});
      plan.nodes[name] = {n.at("op"), n.at("integer"), n.value("reason", "")};
    }
  } catch (Error& e) {
    throw Error(ErrorKind::input, e.message()).at(place.empty() ? file : file + ": " + place);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::input, std::string("not a plan: ") + e.what()).at(place.empty() ? file : file + ": " + place);
  }
  return plan;
}

}  // namespace pare
