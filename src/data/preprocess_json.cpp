#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/preprocess.h"

namespace pare {
namespace {

// Numbers as float, so that they print in the digits that the user gave.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;
using Resize = Preprocess::Resize;

Error wrong(const Json& found, const std::string& allowed) {
  return Error(ErrorKind::input, "is " + found.dump(-1, ' ', false, Json::error_handler_t::replace) + ", allowed is " + allowed);
}

int whole(const Json& value, int low, int high, const std::string& allowed) {
  if (!value.is_number_integer() || value.get<double>() < low || value.get<double>() > high) throw wrong(value, allowed);
  return value.get<int>();
}

constexpr int kMaxSide = 1 << 16;

void set_letterbox(Preprocess& preprocess, const Json& value) {
  if (!value.is_boolean()) throw wrong(value, "true or false");
  if (value.get<bool>()) preprocess.resize = Resize::letterbox;
}

void set_crop(Preprocess& preprocess, const Json& value) {
  if (value == false) return;
  preprocess.resize = Resize::centre_crop_only;
  preprocess.crop_size = value == true ? 0 : whole(value, 1, kMaxSide, "true, false or a number of pixels");
}

void set_resize(Preprocess& preprocess, const Json& value) {
  const std::string allowed = R"(a number of pixels, a share such as "256/224", or "stretch")";
  if (value == "stretch") return;
  preprocess.resize = Resize::crop;
  preprocess.short_side_per = 0;
  if (!value.is_string()) {
    preprocess.short_side = whole(value, 1, kMaxSide, allowed);
    return;
  }
  const auto text = value.get<std::string>();
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, preprocess.short_side);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') throw wrong(value, allowed);
  const auto second = std::from_chars(first.ptr + 1, end, preprocess.short_side_per);
  if (second.ec != std::errc() || second.ptr != end) throw wrong(value, allowed);
  const int low = std::min(preprocess.short_side, preprocess.short_side_per);
  const int high = std::max(preprocess.short_side, preprocess.short_side_per);
  if (low < 1 || high > kMaxSide) throw wrong(value, allowed);
}

void set_pad(Preprocess& preprocess, const Json& value) { preprocess.pad = whole(value, 0, 255, "a grey level 0 to 255"); }

std::array<float, 3> channels(const Json& value, float low, const std::string& allowed) {
  std::array<float, 3> result{};
  if (value.is_array() && value.size() != 3) throw wrong(value, allowed);
  for (size_t c = 0; c < 3; ++c) {
    const Json& number = value.is_array() ? value[c] : value;
    if (!number.is_number()) throw wrong(value, allowed);
    result[c] = number.get<float>();
    if (!(result[c] >= low && result[c] <= 65535.F)) throw wrong(value, allowed);
  }
  return result;
}

void set_mean(Preprocess& preprocess, const Json& value) {
  preprocess.mean = channels(value, -65535.F, "a number or [r, g, b], in pixel values 0..255");
}

void set_std(Preprocess& preprocess, const Json& value) {
  preprocess.std = channels(value, 1, "a number or [r, g, b] in pixel values 0..255, at least 1 (0.229 of 0..1 is 58.395)");
}

void set_order(Preprocess& preprocess, const Json& value) {
  if (value != "rgb" && value != "bgr") throw wrong(value, R"("rgb" or "bgr")");
  preprocess.order = value == "rgb" ? Preprocess::Order::rgb : Preprocess::Order::bgr;
}

void set_layout(Preprocess& preprocess, const Json& value) {
  if (value != "nchw" && value != "nhwc") throw wrong(value, R"("nchw" or "nhwc")");
  preprocess.layout = value == "nchw" ? Preprocess::Layout::nchw : Preprocess::Layout::nhwc;
}

struct Key {
  const char* name;
  void (*set)(Preprocess&, const Json&);
};

// resize after crop: a crop behind a resized short side is another way to resize than a crop alone.
constexpr std::array<Key, 8> kKeys{{{"letterbox", set_letterbox},
                                    {"crop", set_crop},
                                    {"resize", set_resize},
                                    {"mean", set_mean},
                                    {"std", set_std},
                                    {"order", set_order},
                                    {"layout", set_layout},
                                    {"pad", set_pad}}};

void check_keys(const Json& json) {
  if (!json.is_object()) throw Error(ErrorKind::input, "holds no JSON object");
  std::string known;
  for (const Key& key : kKeys) known += (known.empty() ? "" : ", ") + std::string(key.name);
  for (const auto& [name, value] : json.items())
    if (std::none_of(kKeys.begin(), kKeys.end(), [&, &text = name](const Key& key) { return text == key.name; }))
      throw Error(ErrorKind::input, std::string("unknown key '").append(name).append("', allowed are ").append(known));
  const bool letterbox = json.contains("letterbox") && json["letterbox"] == true;
  const bool crop = json.contains("crop") && json["crop"] != false;
  if (letterbox && (json.contains("resize") || crop))
    throw Error(ErrorKind::input, "letterbox goes with neither resize nor crop");
  if (crop && json.contains("resize") && json["resize"] == "stretch")
    throw Error(ErrorKind::input, R"(resize "stretch" does not go with crop)");
  if (json.contains("pad") && !letterbox) throw Error(ErrorKind::input, "pad goes with letterbox only");
}

Preprocess parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error(ErrorKind::input, "is not valid JSON");
  check_keys(json);
  Preprocess preprocess;
  for (const Key& key : kKeys) {
    if (!json.contains(key.name)) continue;
    try {
      key.set(preprocess, json[key.name]);
    } catch (Error& e) {
      throw e.at("key '" + std::string(key.name) + "'");
    }
  }
  return preprocess;
}

}  // namespace

Preprocess read_preprocess(const std::string& argument) {
  const std::vector<std::string> presets = preset_names();
  if (std::find(presets.begin(), presets.end(), argument) != presets.end()) return preset(argument);
  std::error_code fault;
  if (!argument.ends_with(".json") && !std::filesystem::is_regular_file(argument, fault)) return preset(argument);
  const std::string text = read_file(argument);
  try {
    return parse(text);
  } catch (Error& e) {
    throw e.at(argument);
  }
}

std::string to_json(const Preprocess& preprocess) {
  Json json;
  const Json crop = preprocess.crop_size == 0 ? Json(true) : Json(preprocess.crop_size);
  switch (preprocess.resize) {
    case Resize::letterbox:
      json["letterbox"] = true;
      json["pad"] = preprocess.pad;
      break;
    case Resize::stretch: json["resize"] = "stretch"; break;
    case Resize::crop:
      json["crop"] = crop;
      if (preprocess.short_side_per == 0)
        json["resize"] = preprocess.short_side;
      else
        json["resize"] = std::to_string(preprocess.short_side) + "/" + std::to_string(preprocess.short_side_per);
      break;
    case Resize::centre_crop_only: json["crop"] = crop; break;
  }
  json["mean"] = preprocess.mean;
  json["std"] = preprocess.std;
  json["order"] = preprocess.order == Preprocess::Order::rgb ? "rgb" : "bgr";
  json["layout"] = preprocess.layout == Preprocess::Layout::nchw ? "nchw" : "nhwc";
  return json.dump();
}

}  // namespace pare
