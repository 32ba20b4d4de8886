#include "pare/quantize.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "ir/load.h"
#include "pare/calibrate.h"
#include "runtime/session.h"
#include "tests/api/api_files.h"

namespace pare {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;

namespace fs = std::filesystem;

class Quantize : public testing::Test {
 protected:
  QuantizeOptions job(const std::string& output, bool verify = false) {
    QuantizeOptions o;
    o.model = model_;
    o.output = scratch_.path(output);
    o.data = {.data = images_, .val = "", .preprocess = "unit", .shape = ""};
    o.verify = verify;
    o.threads = 1;
    return o;
  }
  /// Bytes of the file that these options lead to.
  std::string made(const QuantizeOptions& options) {
    quantize(options);
    return read_file(options.output);
  }

  Scratch scratch_;
  std::string model_ = save(scratch_, "model.onnx", classifier());
  std::string images_ = write_images(scratch_, "images", 12);
};

std::vector<std::string> integer_nodes(const QuantizeResult& result) {
  std::vector<std::string> names;
  const json plan = json::parse(result.plan_json);
  for (const auto& [output, node] : plan.at("nodes").items())
    if (node.at("integer")) names.push_back(output);
  return names;
}

int largest_weight(const Graph& graph) {
  int largest = 0;
  for (const auto& [name, tensor] : graph.initializers)
    if (tensor.type() == DType::i8 && tensor.count() > 10)
      for (const int8_t q : tensor.as<int8_t>()) largest = std::max(largest, std::abs(int{q}));
  return largest;
}

TEST_F(Quantize, WritesAModelThatRunsAndAReport) {
  const QuantizeOptions options = job("out.onnx", true);
  const QuantizeResult result = quantize(options);
  Session session(read_file(options.output));
  EXPECT_EQ(session.inputs()[0].name, "images");
  EXPECT_EQ(session.run({{"", Tensor(DType::f32, {1, 3, 32, 32})}})[0].shape(), (Shape{1, 10}));
  EXPECT_GE(result.integer_nodes, 3);
  EXPECT_GT(result.calibration_samples, 0);
  ASSERT_TRUE(result.verification);
  EXPECT_EQ(result.calibration_samples + result.verification->samples, 12);
  EXPECT_GE(result.verification->models.at(2).integer_kernels, 3);
  EXPECT_GT(result.verification->outputs.at(0).sqnr_db, 15);
  const json report = json::parse(read_file(options.output + ".report.json"));
  EXPECT_EQ(report.at("plan"), json::parse(result.plan_json));
  EXPECT_EQ(report.at("verification").at("task"), "classify");
  EXPECT_EQ(report.at("nodes").at("integer"), result.integer_nodes);
  EXPECT_EQ(json::parse(to_json(result)), report);
}

TEST_F(Quantize, GivesTheSameBytesTwice) { EXPECT_EQ(made(job("a.onnx")), made(job("b.onnx"))); }

TEST_F(Quantize, DryRunWritesNothingAndItsPlanLeadsToTheSameFile) {
  QuantizeOptions dry = job("dry.onnx", true);
  dry.dry_run = true;
  const QuantizeResult result = quantize(dry);
  EXPECT_FALSE(fs::exists(dry.output));
  EXPECT_FALSE(fs::exists(dry.output + ".report.json"));
  EXPECT_FALSE(result.verification);
  QuantizeOptions planned = job("planned.onnx");
  planned.plan = scratch_.write("plan.json", result.plan_json);
  EXPECT_EQ(made(planned), made(job("direct.onnx")));
}

TEST_F(Quantize, PlanDecidesTheWeightBits) {
  QuantizeOptions dry = job("dry.onnx");
  dry.dry_run = true;
  dry.target_cpu = "avx2";
  QuantizeOptions planned = job("planned.onnx");
  planned.plan = scratch_.write("plan.json", quantize(dry).plan_json);
  planned.target_cpu = "vnni";
  EXPECT_EQ(quantize(planned).weight_bits, 7);
  EXPECT_LE(largest_weight(load_model(planned.output)), 64);
}

TEST_F(Quantize, StatisticsStandForTheCalibration) {
  std::vector<std::string> all;
  for (int i = 0; i < 10; ++i) all.push_back(images_ + "/" + std::to_string(i) + ".bmp");
  const auto list = [&](const std::string& name, size_t from, size_t to) {
    std::string text;
    for (size_t i = from; i < to; ++i) text += all[i] + "\n";
    return scratch_.write(name, text);
  };
  const std::string val = list("val.txt", 9, 10);
  const auto measured = [&](const std::string& data) {
    const std::string output = data + ".stats";
    calibrate({.model = model_,
               .output = output,
               .data = {data, val, "unit", ""},
               .disabled_passes = {},
               .threads = 1,
               .progress = {}});
    return output;
  };
  const std::string whole = measured(list("whole.txt", 0, 9));
  const std::vector<std::string> parts{measured(list("b.txt", 4, 9)), measured(list("a.txt", 0, 4))};
  const CalibrateResult merged = merge_statistics(parts, scratch_.path("merged.stats"));
  EXPECT_EQ(merged.samples, 9);
  EXPECT_EQ(read_file(scratch_.path("merged.stats")), read_file(whole));

  QuantizeOptions direct = job("direct.onnx");
  direct.data.data = scratch_.path("whole.txt");
  direct.data.val = val;
  QuantizeOptions loaded = direct;
  loaded.output = scratch_.path("loaded.onnx");
  loaded.statistics = scratch_.path("merged.stats");
  EXPECT_EQ(made(loaded), made(direct));
}

TEST_F(Quantize, RefusesStatisticsOfSomethingElse) {
  const std::string stats = scratch_.path("s.stats");
  calibrate(
      {.model = model_, .output = stats, .data = {images_, "", "unit", ""}, .disabled_passes = {}, .threads = 1, .progress = {}});
  QuantizeOptions other = job("out.onnx");
  other.statistics = stats;
  other.data.preprocess = "imagenet";
  EXPECT_THAT(error_of([&] { quantize(other); }), HasSubstr("3 " + stats + ": was made for another preprocessing"));
  other.data.preprocess = "unit";
  other.data.shape = "1x3x48x32";
  EXPECT_THAT(error_of([&] { quantize(other); }), HasSubstr("was made for another "));
  other.data.shape = "";
  other.model = save(scratch_, "other.onnx", classifier().weights("w1", {8, 8, 3, 3}, -.4F, .4F));
  EXPECT_THAT(error_of([&] { quantize(other); }), HasSubstr("was made for another model"));
  EXPECT_FALSE(fs::exists(other.output));
}

TEST_F(Quantize, ExcludedNodesStayFloat) {
  EXPECT_THAT(integer_nodes(quantize(job("all.onnx"))), Contains("c1"));
  QuantizeOptions options = job("some.onnx");
  options.exclude = {"c1"};
  EXPECT_THAT(integer_nodes(quantize(options)), testing::Not(Contains("c1")));
  options.exclude = {"c1_node"};
  EXPECT_THAT(integer_nodes(quantize(options)), testing::Not(Contains("c1")));
  bool found = false;
  for (const Node& node : load_model(options.output).nodes) found = found || (node.is("Conv") && node.inputs[1] == "w1");
  EXPECT_TRUE(found);
  options.exclude = {"nowhere"};
  EXPECT_THAT(error_of([&] { quantize(options); }), HasSubstr("nowhere"));
}

struct Variant {
  const char* name;
  void (*change)(QuantizeOptions&);
};

TEST_F(Quantize, EveryVariantRunsAndStaysClose) {
  const Tensor x = models::random({1, 3, 32, 32}, 9, 0, 1);
  const Tensor wanted = Session(read_file(model_)).run({{"", x}})[0];
  const std::vector<Variant> variants{
      {"minmax", [](QuantizeOptions& o) { o.range = "minmax"; }},
      {"percentile 99", [](QuantizeOptions& o) { o.percentile = 99; }},
      {"entropy", [](QuantizeOptions& o) { o.range = "entropy"; }},
      {"l2", [](QuantizeOptions& o) { o.range = "l2"; }},
      {"mean-minmax", [](QuantizeOptions& o) { o.range = "mean-minmax"; }},
      {"per tensor", [](QuantizeOptions& o) { o.per_tensor = true; }},
      {"int8", [](QuantizeOptions& o) { o.activation = "int8"; }},
      {"symmetric", [](QuantizeOptions& o) { o.symmetric = true; }},
      {"int8, symmetric", [](QuantizeOptions& o) { o.activation = "int8", o.symmetric = true; }},
      {"no follow", [](QuantizeOptions& o) { o.follow_activation = false; }},
  };
  std::vector<std::string> files{made(job("default.onnx"))};
  for (const Variant& v : variants) {
    QuantizeOptions options = job("v.onnx");
    v.change(options);
    files.push_back(made(options));
    const Tensor got = Session(files.back()).run({{"", x}})[0];
    double signal = 0, noise = 0;
    for (size_t i = 0; i < 10; ++i) {
      signal += std::pow(wanted.as<float>()[i], 2);
      noise += std::pow(wanted.as<float>()[i] - got.as<float>()[i], 2);
    }
    EXPECT_LT(noise, .05 * signal) << v.name;
    const Graph graph = load_model(options.output);
    for (const Node& node : graph.nodes) {
      if (!node.is("QuantizeLinear")) continue;
      const Tensor& zero = *graph.constant(node.inputs[2]);
      EXPECT_EQ(zero.type(), options.activation == "int8" ? DType::i8 : DType::u8) << v.name;
      if (options.symmetric) {
        EXPECT_EQ(to_ints(zero)[0], options.activation == "int8" ? 0 : 128) << v.name;
      }
    }
    for (const auto& [name, tensor] : graph.initializers) {
      if (name.starts_with("w") && name.ends_with("_scale")) {
        EXPECT_EQ(tensor.count() == 1, options.per_tensor) << v.name << " " << name;
      }
    }
  }
  files.pop_back();  // no SiLU here: to follow changes nothing
  std::sort(files.begin(), files.end());
  EXPECT_THAT(std::vector<std::string>(files.begin(), std::unique(files.begin(), files.end())), SizeIs(Ge(9U)));
}

TEST_F(Quantize, TargetDecidesTheWeightBits) {
  QuantizeOptions options = job("out.onnx");
  options.target_cpu = "avx2";
  EXPECT_EQ(quantize(options).weight_bits, 7);
  EXPECT_EQ(largest_weight(load_model(options.output)), 64);
  options.target_cpu = "vnni";
  EXPECT_EQ(quantize(options).weight_bits, 8);
  EXPECT_EQ(largest_weight(load_model(options.output)), 127);
}

TEST_F(Quantize, TakesArraysForTwoInputs) {
  const std::map<std::string, Attribute> same{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  QuantizeOptions options = job("out.onnx", true);
  options.model = save(scratch_, "two.onnx",
                       models::Builder(13)
                           .input("a", {1, 8, 16, 16})
                           .input("b", {1, 8, 16, 16})
                           .weights("w", {16, 8, 3, 3})
                           .weights("v", {16, 8, 3, 3})
                           .node("Conv", {"a", "w"}, {"p"}, same)
                           .node("Conv", {"b", "v"}, {"q"}, same)
                           .node("Add", {"p", "q"}, {"y"})
                           .output("y"));
  options.data.data =
      scratch_.write("s.npz", npz({{"b", models::random({6, 8, 16, 16}, 1)}, {"a", models::random({6, 8, 16, 16}, 2, 0, 5)}}));
  options.data.preprocess = "";
  const QuantizeResult result = quantize(options);
  EXPECT_EQ(result.calibration_samples, 5);  // the fifth row is held out
  EXPECT_EQ(result.verification.value().samples, 1);
  EXPECT_EQ(result.verification.value().task, "none");
  EXPECT_GT(result.verification->outputs.at(0).sqnr_db, 25);
  EXPECT_GE(result.integer_nodes, 1);
}

TEST_F(Quantize, RefusesBeforeAnythingIsWritten) {
  const std::string bytes = read_file(model_);
  struct Case {
    const char* name;
    std::function<void(QuantizeOptions&)> change;
    std::vector<std::string> parts;
  };
  const std::string ready = scratch_.path("ready.onnx");
  quantize(job("ready.onnx"));
  const std::string list = scratch_.write("list.txt", images_ + "/0.bmp\n" + images_ + "/1.bmp\n");
  const Tensor nan = models::floats({8}, {0, 1, std::nanf(""), 3, 4, 5, 6, 7});
  const std::string sick = save(scratch_, "sick.onnx", classifier().constant("b1", nan));
  const std::vector<Case> cases{
      {"output is the model", [&](auto& o) { o.output = model_; }, {"2 " + model_ + ": is an input too"}},
      {"by another name", [&](auto& o) { o.output = scratch_.path("./images/../model.onnx"); }, {"2 ", "is an input too"}},
      {"report is the model", [&](auto& o) { o.report = model_; }, {"2 " + model_ + ": is an input too"}},
      {"report is the output", [&](auto& o) { o.report = o.output; }, {"2 " + scratch_.path("out.onnx") + ": cannot hold both"}},
      {"output is an image", [&](auto& o) { o.output = images_ + "/3.bmp"; }, {"2 ", "3.bmp: is an input too"}},
      {"output is the list of --val", [&](auto& o) { o.data.val = list, o.output = list; }, {"2 " + list + ": is an input too"}},
      {"no output", [](auto& o) { o.output = ""; }, {"2 no output file", "-o"}},
      {"no data", [](auto& o) { o.data.data = ""; }, {"2 no data"}},
      {"quantized already", [&](auto& o) { o.model = ready; }, {"4 " + ready + ": is quantized already"}},
      {"NaN weight", [&](auto& o) { o.model = sick; }, {"3 " + sick + ": weight 'b1': holds 1 NaN values"}},
      {"range", [](auto& o) { o.range = "max"; }, {"2 ", "max", "mean-minmax"}},
      {"percentile", [](auto& o) { o.percentile = 0; }, {"2 --percentile"}},
      {"activation", [](auto& o) { o.activation = "int4"; }, {"2 --activation: 'int4' is no activation type"}},
      {"target", [](auto& o) { o.target_cpu = "z80"; }, {"2 ", "z80", "vnni"}},
      {"task", [](auto& o) { o.task = "segment"; }, {"2 --task: 'segment' is no task; known are auto, detect, classify, none"}},
      {"no detector", [](auto& o) { o.task = "detect", o.verify = true; }, {"4 --task detect: ", "--task none"}},
      {"no such data", [](auto& o) { o.data.data = "/nowhere/at/all"; }, {"3 /nowhere/at/all: "}},
      {"no such plan", [](auto& o) { o.plan = "/nowhere/plan.json"; }, {"3 /nowhere/plan.json: "}},
  };
  for (const Case& c : cases) {
    QuantizeOptions options = job("out.onnx");
    c.change(options);
    const std::string error = error_of([&] { quantize(options); });
    for (const std::string& part : c.parts) EXPECT_THAT(error, HasSubstr(part)) << c.name;
    EXPECT_FALSE(fs::exists(scratch_.path("out.onnx"))) << c.name;
    EXPECT_FALSE(fs::exists(scratch_.path("out.onnx.report.json"))) << c.name;
  }
  EXPECT_EQ(read_file(model_), bytes);
}

TEST_F(Quantize, CalibrateAndMergeSpareTheirInputs) {
  const auto calibration = [&](const std::string& output) {
    return error_of([&] {
      calibrate({.model = model_,
                 .output = output,
                 .data = {images_, "", "unit", ""},
                 .disabled_passes = {},
                 .threads = 1,
                 .progress = {}});
    });
  };
  const std::string stats = scratch_.path("s.stats");
  EXPECT_EQ(calibration(stats), "");
  EXPECT_THAT(calibration(model_), HasSubstr("2 " + model_ + ": is an input too"));
  EXPECT_THAT(calibration(images_ + "/0.bmp"), HasSubstr("0.bmp: is an input too"));
  EXPECT_THAT(calibration(""), HasSubstr("2 no output file"));
  EXPECT_THAT(error_of([&] { merge_statistics({stats, stats}, stats); }), HasSubstr("2 " + stats + ": is an input too"));
  EXPECT_THAT(error_of([&] { merge_statistics({}, scratch_.path("o")); }), HasSubstr("2 no statistics files"));
  EXPECT_THAT(error_of([&] { merge_statistics({stats}, ""); }), HasSubstr("2 no output file"));
}

TEST_F(Quantize, NamesSkippedFiles) {
  (void)scratch_.write("images/broken.bmp", "no image");
  QuantizeOptions options = job("out.onnx", true);
  const QuantizeResult result = quantize(options);
  std::vector<std::string> skipped = result.skipped;
  skipped.insert(skipped.end(), result.verification->skipped.begin(), result.verification->skipped.end());
  EXPECT_THAT(skipped, testing::ElementsAre(HasSubstr("broken.bmp: ")));
  EXPECT_EQ(result.calibration_samples + result.verification->samples, 12);
}

}  // namespace
}  // namespace pare
