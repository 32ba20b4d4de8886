#include "calib/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/data/scratch.h"
#include "tests/models/builder.h"

namespace pare {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const StatisticsKey kKey{"0123456789abcdef", "x:1x3x4x4", R"({"std": 255})", "avx2"};

void add(TensorStatistics& t, const std::vector<float>& values) {
  t.histogram.add(values);
  const Extremes e = extremes(values);
  t.sum_of_minima.add(e.min);
  t.sum_of_maxima.add(e.max);
  ++t.samples;
}

std::vector<float> sample(uint64_t seed) {
  const float size = std::ldexp(1.F, static_cast<int>(seed * 7 % 40) - 20);
  return to_floats(models::random({100}, seed, -size, 2 * size));
}

/// Statistics of samples first .. last - 1, of two tensors and one that never had a value.
Statistics part(uint64_t first, uint64_t last) {
  Statistics s{kKey, last - first, {}};
  s.tensors["never"];
  for (uint64_t i = first; i < last; ++i) add(s.tensors["a"], sample(i)), add(s.tensors["b"], sample(1000 + i));
  return s;
}

std::string saved(const Statistics& statistics) {
  const Scratch scratch;
  save_statistics(statistics, scratch.path("s"));
  return read_file(scratch.path("s"));
}

Statistics through_file(const Statistics& statistics) {
  const Scratch scratch;
  save_statistics(statistics, scratch.path("s"));
  return load_statistics(scratch.path("s"));
}

TEST(Statistics, SurviveTheFile) {
  Statistics s = part(0, 5);
  add(s.tensors["tiny"], {1e-38F, -1e-45F, 0});
  add(s.tensors["huge"], {3e38F, -3e38F});
  add(s.tensors["name with ' and \n"], {1});
  EXPECT_EQ(through_file(s), s);
  EXPECT_EQ(saved(through_file(s)), saved(s));
  EXPECT_EQ(through_file({}), Statistics{});
}

TEST(Statistics, PartsMergeToTheBit) {
  const Statistics whole = part(0, 12);
  const std::vector<Statistics> parts{through_file(part(0, 1)), through_file(part(1, 7)), through_file(part(7, 12))};
  std::vector<size_t> order{0, 1, 2};
  do {
    const Statistics left = merge(merge(parts[order[0]], parts[order[1]]), parts[order[2]]);
    const Statistics right = merge(parts[order[0]], merge(parts[order[1]], parts[order[2]]));
    EXPECT_EQ(left, whole);
    EXPECT_EQ(saved(left), saved(whole));
    EXPECT_EQ(saved(right), saved(whole));
  } while (std::next_permutation(order.begin(), order.end()));
}

// -0 and 0 are equal, but not the same bytes.
TEST(Statistics, ZerosOfBothSignsMakeTheSameFile) {
  Statistics a{kKey, 2, {}}, b = a;
  add(a.tensors["t"], {-0.F, -0.F}), add(a.tensors["t"], {0.F});
  add(b.tensors["t"], {0.F}), add(b.tensors["t"], {-0.F, -0.F});
  EXPECT_EQ(saved(a), saved(b));
}

struct Refusal {
  const char* name;
  void (*change)(Statistics& other);
  const char* what;
};

TEST(Statistics, RefuseWhatDoesNotBelongTogether) {
  const std::vector<Refusal> cases{
      {"model", [](Statistics& s) { s.key.model = "ffff"; }, "3 the parts differ in the model: '0123456789abcdef' and 'ffff'"},
      {"shape", [](Statistics& s) { s.key.inputs = "x:1x3x8x8"; },
       "3 the parts differ in the input shape: 'x:1x3x4x4' and 'x:1x3x8x8'"},
      {"preprocessing", [](Statistics& s) { s.key.preprocess = ""; }, "3 the parts differ in the preprocessing: "},
      {"one tensor less", [](Statistics& s) { s.tensors.erase("a"); }, "3 the parts measured different tensors"},
      {"one tensor more", [](Statistics& s) { s.tensors["c"]; }, "3 the parts measured different tensors"},
      {"another tensor", [](Statistics& s) { s.tensors.erase("a"), s.tensors["c"]; },
       "3 tensor 'a': one part did not measure it"},
  };
  for (const Refusal& c : cases) {
    Statistics other = part(1, 2);
    c.change(other);
    EXPECT_THAT(error_of([&] { merge(part(0, 1), other); }), HasSubstr(c.what)) << c.name;
  }
}

TEST(Statistics, MarkMixedProcessors) {
  Statistics other = part(1, 2);
  other.key.cpu = "avx512";
  EXPECT_EQ(merge(part(0, 1), part(1, 2)).key.cpu, "avx2");
  const Statistics mixed = merge(part(0, 1), other);
  EXPECT_EQ(mixed.key.cpu, "mixed");
  EXPECT_EQ(merge(other, part(0, 1)), mixed);
  EXPECT_EQ(merge(part(2, 3), mixed).key.cpu, "mixed");
  EXPECT_EQ(merge(mixed, mixed).key.cpu, "mixed");
}

TEST(Statistics, RefuseForeignAndTruncatedFiles) {
  const std::string whole = saved(part(0, 2));
  const Scratch scratch;
  const auto error = [&](const std::string& bytes) {
    const std::string file = scratch.write("f.stats", bytes);
    return error_of([&] { load_statistics(file); });
  };
  EXPECT_EQ(error(whole), "");
  for (const size_t length : {size_t{0}, size_t{1}, size_t{30}, whole.size() / 2, whole.size() - 1})
    EXPECT_THAT(error(whole.substr(0, length)),
                AllOf(HasSubstr("3 " + scratch.path("f.stats") + ": not a statistics file"), HasSubstr("pare calibrate")))
        << length;
  for (const char* foreign : {"{}", "\x08", "PK\x03\x04", "0123456789", "\xA0", "\x80"})
    EXPECT_THAT(error(foreign), HasSubstr("f.stats: not a statistics file")) << foreign;
  EXPECT_THAT(error(whole + "x"), HasSubstr("not a statistics file"));
  EXPECT_THAT(error_of([&] { load_statistics(scratch.path("none")); }), HasSubstr("3 " + scratch.path("none")));
}

struct Damage {
  const char* name;
  void (*change)(json& file, json& tensor);
  const char* what = "not a statistics file";
};

TEST(Statistics, RefuseDamagedContents) {
  const std::vector<Damage> cases{
      {"another version", [](json& f, json&) { f["pare_statistics"] = 99; }, "made by another version of pare"},
      {"no model", [](json& f, json&) { f.erase("model"); }},
      {"samples as text", [](json& f, json&) { f["samples"] = "5"; }},
      {"tensors as list",
       [](json& f, json&) {
         f["tensors"] = json::array({1, 2});
       }},
      {"no bins", [](json&, json& t) { t.erase("bins"); }},
      {"bin outside",
       [](json&, json& t) {
         t["bins"] = json::array({json::array({8192, 1})});
       }},
      {"bin before",
       [](json&, json& t) {
         t["bins"] = json::array({json::array({-1, 1})});
       }},
      {"empty run", [](json&, json& t) { t["bins"] = json::array({json::array()}); }},
      {"exponent too large", [](json&, json& t) { t["exponent"] = 5000; }},
      {"exponent too small", [](json&, json& t) { t["exponent"] = -5000; }},
      {"min above max", [](json&, json& t) { t["min"] = 1e6; }},
      {"no number", [](json&, json& t) { t["max"] = nullptr; }},
      {"NaN", [](json&, json& t) { t["max"] = std::numeric_limits<double>::quiet_NaN(); }},
      {"infinite", [](json&, json& t) { t["max"] = std::numeric_limits<double>::infinity(); }},
      {"half a sum", [](json&, json& t) { t["sum_of_minima"] = json::array({1}); }},
  };
  const json whole = json::from_cbor(saved(part(0, 2)));
  const Scratch scratch;
  for (const Damage& c : cases) {
    json file = whole;
    c.change(file, file["tensors"]["a"]);
    const std::vector<uint8_t> bytes = json::to_cbor(file);
    const std::string path = scratch.write("f.stats", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_THAT(error_of([&] { load_statistics(path); }), HasSubstr("3 " + path + ": " + c.what)) << c.name;
  }
}

}  // namespace
}  // namespace pare
