#include "data/metadata.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace pare {
namespace {

constexpr int kMaxSide = 1 << 16;
constexpr int kMaxClasses = 1 << 20;

std::optional<std::string_view> find(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata)
    if (name == key) return value;
  return std::nullopt;
}

// Reads the literals that Python's repr() writes. Each function moves on only when it succeeds.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<int> number() {
    skip_space();
    int value = 0;
    const auto [stop, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (fault != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
    return value;
  }

  std::optional<std::string> string() {
    skip_space();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) return std::nullopt;
    std::string value;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == rest_[0]) {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      value += rest_[i];
    }
    return std::nullopt;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \t\r\n"))); }

  std::string_view rest_;
};

std::optional<int> dict_key(Literal& literal) {
  if (const std::optional<std::string> quoted = literal.string()) return Literal(*quoted).number();
  return literal.number();
}

/// "[640, 480]"; a single number counts twice.
std::optional<std::pair<int, int>> pair_of(std::string_view text) {
  Literal literal(text);
  const bool list = literal.take('[') || literal.take('(');
  const std::optional<int> height = literal.number();
  const std::optional<int> width = list && literal.take(',') ? literal.number() : height;
  const auto fits = [](const std::optional<int>& side) { return side && *side > 0 && *side <= kMaxSide; };
  if (!fits(height) || !fits(width)) return std::nullopt;
  return std::pair(*height, *width);
}

}  // namespace

std::optional<Preprocess> from_metadata(const Metadata& metadata) {
  const auto task = find(metadata, "task");
  // YOLOv5's export writes stride and names only.
  if (!find(metadata, "stride") || !find(metadata, "names")) return std::nullopt;
  if (task == "classify") {
    Preprocess classify;
    classify.resize = Preprocess::Resize::crop;
    classify.short_side = classify.short_side_per = 1;
    return classify;
  }
  // Exported by the same code, but trained on stretched images.
  if (find(metadata, "description").value_or("").find("rtdetr") != std::string_view::npos) return preset("unit");
  constexpr std::array<std::string_view, 4> kLetterboxed{"detect", "segment", "pose", "obb"};
  if (task && std::find(kLetterboxed.begin(), kLetterboxed.end(), *task) == kLetterboxed.end()) return std::nullopt;
  return preset("yolo");
}

std::optional<std::pair<int, int>> metadata_imgsz(const Metadata& metadata) {
  const auto text = find(metadata, "imgsz");
  return text ? pair_of(*text) : std::nullopt;
}

int64_t metadata_keypoints(const Metadata& metadata) {
  const auto text = find(metadata, "kpt_shape");
  const auto shape = text ? pair_of(*text) : std::nullopt;
  return shape ? int64_t{shape->first} * shape->second : 0;
}

std::vector<std::string> metadata_names(const Metadata& metadata) {
  const auto text = find(metadata, "names");
  if (!text) return {};
  Literal literal(*text);
  const bool dict = literal.take('{');
  if (!dict && !literal.take('[')) return {};
  std::vector<std::string> names;
  while (!literal.take(dict ? '}' : ']')) {
    const std::optional<int> index = dict ? dict_key(literal) : static_cast<int>(names.size());
    if (!index || *index < 0 || *index >= kMaxClasses || (dict && !literal.take(':'))) return {};
    std::optional<std::string> name = literal.string();
    if (!name) return {};
    names.resize(std::max(names.size(), static_cast<size_t>(*index) + 1));
    names[static_cast<size_t>(*index)] = std::move(*name);
    literal.take(',');
  }
  return names;
}

}  // namespace pare
