#include "pare/verify.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "demo/detector.h"
#include "demo/scenes.h"
#include "pare/quantize.h"
#include "tests/api/api_files.h"

namespace pare {
namespace {

using models::Builder;
using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

class Verify : public testing::Test {
 protected:
  VerifyOptions job(const std::string& reference, const std::string& test) {
    VerifyOptions o;
    o.reference = reference;
    o.test = test;
    o.data = {.data = images_, .val = "", .preprocess = "unit", .shape = ""};
    o.threads = 1;
    o.latency_rounds = 1;
    return o;
  }
  std::string error(const Builder& reference, const Builder& test) {
    const std::string a = save(scratch_, "a.onnx", reference), b = save(scratch_, "b.onnx", test);
    return error_of([&] { verify(job(a, b)); });
  }

  Scratch scratch_;
  std::string images_ = write_images(scratch_, "images", 6);
};

TEST_F(Verify, AModelAgainstItselfIsEqual) {
  const std::string model = save(scratch_, "m.onnx", classifier());
  const VerifyReport r = verify(job(model, model));
  EXPECT_EQ(r.task, "classify");
  EXPECT_EQ(r.samples, 6);
  EXPECT_EQ(r.disagreement.value().value, 0);
  EXPECT_GT(r.disagreement->high, 0);
  ASSERT_THAT(r.outputs, SizeIs(1));
  EXPECT_EQ(r.outputs[0].sqnr_db, HUGE_VAL);
  EXPECT_EQ(r.outputs[0].max_error, 0);
  ASSERT_THAT(r.models, SizeIs(3));
  EXPECT_GT(r.models[0].bytes, 0);
  EXPECT_EQ(r.models[2].bytes, r.models[0].bytes);
  EXPECT_GT(r.models[2].p50_ms, 0);
  EXPECT_EQ(r.models[2].float_kernels, r.models[0].float_kernels);
  const json j = json::parse(to_json(r));
  EXPECT_TRUE(j.at("outputs").at(0).at("sqnr_db").is_null());
  EXPECT_EQ(j.at("outputs").at(0).at("max_error"), 0);
  EXPECT_EQ(j.at("disagreement").at("value"), 0);
}

TEST_F(Verify, WithoutATaskComparesOutputsAlone) {
  const auto maps = [](float factor) {
    return Builder(13)
        .input("images", {1, 3, 32, 32})
        .constant("k", Tensor::scalar(factor))
        .node("Mul", {"images", "k"}, {"y"})
        .node("Neg", {"images"}, {"z"})
        .output("y")
        .output("z");
  };
  VerifyOptions options = job(save(scratch_, "a.onnx", maps(1)), save(scratch_, "b.onnx", maps(1.01F)));
  options.latency_rounds = 0;
  const VerifyReport r = verify(options);
  EXPECT_EQ(r.task, "none");
  EXPECT_FALSE(r.disagreement);
  EXPECT_FALSE(r.agreement);
  ASSERT_THAT(r.outputs, SizeIs(2));
  EXPECT_NEAR(r.outputs[0].sqnr_db, 40, .01);
  EXPECT_EQ(r.outputs[1].max_error, 0);
  EXPECT_EQ(r.models[0].p50_ms, 0);
  options.test = save(scratch_, "c.onnx", classifier());
  options.reference = options.test;
  options.task = "none";
  EXPECT_FALSE(verify(options).disagreement);
}

TEST_F(Verify, CountsOtherAnswers) {
  Builder other = classifier();
  other.constant("b2", models::floats({10}, {0, 0, 0, 0, 1000, 0, 0, 0, 0, 0}));
  Builder first = classifier();
  first.constant("b2", models::floats({10}, {1000, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const VerifyReport r = verify(job(save(scratch_, "a.onnx", first), save(scratch_, "b.onnx", other)));
  EXPECT_EQ(r.disagreement.value().value, 1);
  EXPECT_LT(r.disagreement->low, 1);
}

TEST_F(Verify, TakesOutputsByName) {
  const auto outputs = [](const char* one, const char* two) {
    return Builder(13)
        .input("images", {1, 3, 32, 32})
        .node("Neg", {"images"}, {"n"})
        .node("Abs", {"images"}, {"m"})
        .output(one)
        .output(two);
  };
  const VerifyReport r = verify(job(save(scratch_, "a.onnx", outputs("n", "m")), save(scratch_, "b.onnx", outputs("m", "n"))));
  EXPECT_EQ(r.outputs.at(0).max_error, 0);
  EXPECT_EQ(r.outputs.at(1).max_error, 0);
  EXPECT_EQ(r.outputs.at(0).name, "n");
}

TEST_F(Verify, NamesWhatIsNotTheSameNetwork) {
  const std::string b = "3 " + scratch_.path("b.onnx") + ": ";
  EXPECT_THAT(error(classifier(), classifier("pixels")), HasSubstr(b + "takes input 'pixels', the float model takes 'images'"));
  EXPECT_THAT(error(classifier(), classifier("images", "logits")),
              HasSubstr(b + "lacks the float model's output 'scores', it makes 'logits'"));
  EXPECT_THAT(error(classifier().output("c2"), classifier()), HasSubstr(b + "lacks the float model's output 'c2'"));
  EXPECT_EQ(error(classifier(), classifier().output("c2")), "");
  Builder wide = classifier();
  wide.weights("w2", {12, 8, 3, 3}).weights("b2", {12});
  EXPECT_THAT(error(classifier(), wide), HasSubstr(b + "makes output 'scores' of shape 1x12, the float model of 1x10"));
  const Builder cast = classifier("images", "logits").node("Cast", {"logits"}, {"scores"}, {{"to", int64_t{6}}});
  EXPECT_THAT(error(classifier().output("c2"), Builder(cast).output("scores", DType::i32).output("c2")),
              HasSubstr(b + "makes output 'scores' as int32, the float model as float"));
  const auto sized = [](int64_t side) {
    return Builder(13).input("images", {1, 3, side, side}).node("Neg", {"images"}, {"y"}).output("y");
  };
  EXPECT_THAT(error(sized(32), sized(16)),
              HasSubstr(b + "input 'images': the data is float 1x3x32x32, the model takes float 1x3x16x16"));
  EXPECT_THAT(error_of([&] {
                VerifyOptions o = job(scratch_.path("a.onnx"), scratch_.path("a.onnx"));
                o.task = "segment";
                verify(o);
              }),
              HasSubstr("2 --task: 'segment' is no task"));
}

TEST_F(Verify, MarksOutputsThatAreNotFinite) {
  Builder test = classifier();
  test.constant("b2", models::floats({10}, {3e38F, 0, 0, 0, 0, 0, 0, 0, 0, 0})).node("Add", {"scores", "scores"}, {"twice"});
  Builder reference = classifier();
  reference.node("Add", {"scores", "scores"}, {"twice"});
  const VerifyReport r =
      verify(job(save(scratch_, "a.onnx", reference.output("twice")), save(scratch_, "b.onnx", test.output("twice"))));
  EXPECT_THAT(r.warnings, testing::Contains(HasSubstr("output 'twice' of the test model holds 6 NaN or infinite values")));
  EXPECT_EQ(json::parse(to_json(r)).at("samples"), 6);
}

TEST(Demo, DetectorSurvivesQuantization) {
  const Scratch scratch;
  write_scenes(scratch.path("scenes"), 24, 24, 7);
  QuantizeOptions options;
  options.model = scratch.write("m.onnx", demo_detector());
  options.output = scratch.path("q.onnx");
  options.data.data = scratch.path("scenes/data.yaml");
  options.threads = 2;
  const QuantizeResult result = quantize(options);
  const VerifyReport& r = result.verification.value();
  EXPECT_EQ(r.task, "detect");
  EXPECT_EQ(r.samples, 24);
  EXPECT_EQ(r.labelled, 24);
  EXPECT_GT(r.models.at(0).map.value().value, .5);
  EXPECT_LT(r.models[0].map->value - r.models[2].map.value().value, .03);
  EXPECT_GT(r.agreement.value().value, .95);
  EXPECT_NEAR(r.models[2].integer_kernels, 59, 1e-6);

  VerifyOptions itself;
  itself.reference = itself.test = options.model;
  itself.data = options.data;
  itself.latency_rounds = 0;
  itself.threads = 2;
  const VerifyReport same = verify(itself);
  EXPECT_EQ(same.agreement.value().value, 1);
  EXPECT_EQ(same.models[0].map.value().value, same.models[2].map.value().value);
  EXPECT_EQ(same.models[0].map50.value(), same.models[2].map50.value());
  EXPECT_THAT(same.notices, testing::IsEmpty());
  EXPECT_THAT(same.inputs_hash, SizeIs(16));
  EXPECT_EQ(same.inputs_hash, r.inputs_hash) << "the same held-out images";
  EXPECT_EQ(same.share_outside, 0);
}

}  // namespace
}  // namespace pare
