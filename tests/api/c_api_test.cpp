#include "pare/c.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <thread>

#include "base/file.h"
#include "calib/statistics.h"
#include "data/samples.h"
#include "pare/calibrate.h"
#include "pare/quantize.h"
#include "tests/api/api_files.h"

namespace pare {
namespace {

using models::Builder;
using models::random;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// Two products of 16 features; `before` may mix what comes along the axes in front of them.
Builder products(const Shape& shape, const std::string& before = "Neg") {
  Builder b(13);
  b.input("x", shape).weights("w", {16, 64}).weights("v", {64, 16}).constant("axis", models::ints({0}));
  b.node(before, before == "CumSum" ? std::vector<std::string>{"x", "axis"} : std::vector<std::string>{"x"}, {"b"});
  return b.node("MatMul", {"b", "w"}, {"h"}).node("Relu", {"h"}, {"r"}).node("MatMul", {"r", "v"}, {"y"}).output("y");
}

class CApi : public testing::Test {
 protected:
  void TearDown() override { pare_calibration_close(handle_); }

  int open(const Builder& model, const std::string& output = "s.stats", const char* shape = nullptr) {
    pare_calibration_close(handle_);
    return pare_calibration_open(save(scratch_, "m.onnx", model).c_str(), scratch_.path(output).c_str(), shape, 1, &handle_);
  }
  int add(const Inputs& inputs, const char* sample = "s") {
    std::vector<pare_array> arrays;
    for (const auto& [name, tensor] : inputs)
      arrays.push_back({name.c_str(), static_cast<int32_t>(tensor.type()), static_cast<int32_t>(tensor.shape().size()),
                        tensor.shape().data(), tensor.raw().data()});
    return pare_calibration_add(handle_, sample, arrays.data(), arrays.size());
  }
  /// The statistics file of these samples of "x".
  Statistics statistics(const Builder& model, const std::vector<Tensor>& samples) {
    EXPECT_EQ(open(model), 0) << pare_last_error();
    for (const Tensor& sample : samples) EXPECT_EQ(add({{"x", sample}}), 0) << pare_last_error();
    EXPECT_EQ(pare_calibration_save(handle_, nullptr, nullptr), 0) << pare_last_error();
    return load_statistics(scratch_.path("s.stats"));
  }

  Scratch scratch_;
  pare_calibration* handle_ = nullptr;
};

// Fault 13: every element of every sample counts once, and none is padded.
TEST_F(CApi, TakesSequencesOfAnyLength) {
  const Statistics s = statistics(products({1, -1, 16}), {random({1, 3, 16}, 1), random({1, 7, 16}, 2), random({1, 5, 16}, 3)});
  EXPECT_EQ(s.samples, 3U);
  ASSERT_TRUE(s.tensors.contains("b") && s.tensors.contains("r"));
  EXPECT_EQ(s.tensors.at("b").histogram.count(), 15U * 16U);
  EXPECT_EQ(s.tensors.at("r").histogram.count(), 15U * 64U);
}

TEST_F(CApi, MeasuresTheRowsOfABatchOneAtATime) {
  const Tensor batch = random({2, 16}, 1), other = random({3, 16}, 2);
  const std::vector<Tensor> rows{row(batch, 0), row(batch, 1), row(other, 0), row(other, 1), row(other, 2)};
  for (const int64_t rows_of_model : {-1, 1, 4}) {
    const Builder model = products({rows_of_model, 16});
    const Statistics s = statistics(model, {batch, other});
    EXPECT_EQ(s, statistics(products({rows_of_model == 4 ? 4 : rows_of_model, 16}), rows)) << rows_of_model;
    EXPECT_EQ(s.samples, 5U);
    EXPECT_EQ(s.tensors.at("b").samples, 5U);
    EXPECT_EQ(s.tensors.at("b").histogram.count(), 5U * 16U);
  }
}

// The leading axis is time there: step by step, the network would answer otherwise.
TEST_F(CApi, LeavesRowsTogetherThatDependOnEachOther) {
  Tensor x = Tensor::of<float>({4, 1, 16}, std::vector<float>(64, 1.F));
  const Statistics s = statistics(products({-1, 1, 16}, "CumSum"), {x, random({3, 1, 16}, 2)});
  EXPECT_EQ(s.samples, 2U);
  EXPECT_EQ(s.tensors.at("b").histogram.count(), 7U * 16U);
  EXPECT_EQ(s.tensors.at("b").histogram.max(), 4.F);
}

TEST_F(CApi, TakesTokenNumbers) {
  Builder b(13);
  b.input("ids", {-1, -1}, DType::i64)
      .input("mask", {-1, -1})
      .weights("table", {9, 16})
      .weights("w", {16, 64})
      .weights("v", {64, 16});
  b.constant("last", models::ints({-1})).node("Unsqueeze", {"mask", "last"}, {"m"}).node("Gather", {"table", "ids"}, {"e"});
  b.node("Mul", {"e", "m"}, {"b"}).node("MatMul", {"b", "w"}, {"h"}).node("Relu", {"h"}, {"r"}).node("MatMul", {"r", "v"}, {"y"});
  ASSERT_EQ(open(b.output("y")), 0) << pare_last_error();
  ASSERT_EQ(pare_calibration_inputs(handle_), 2U);
  pare_array input{};
  ASSERT_EQ(pare_calibration_input(handle_, 0, &input), 0);
  EXPECT_STREQ(input.name, "ids");
  EXPECT_EQ(input.type, 7);
  ASSERT_EQ(input.rank, 2);
  EXPECT_EQ(input.shape[1], -1);
  EXPECT_EQ(pare_calibration_input(handle_, 2, &input), 2);
  for (const int64_t length : {3, 7, 5}) {
    const Tensor ids = Tensor::of<int64_t>({1, length}, std::vector<int64_t>(static_cast<size_t>(length), length));
    ASSERT_EQ(add({{"mask", Tensor::of<float>({1, length}, std::vector<float>(static_cast<size_t>(length), 1))}, {"ids", ids}}),
              0)
        << pare_last_error();
  }
  int64_t samples = 0, tensors = 0;
  ASSERT_EQ(pare_calibration_save(handle_, &samples, &tensors), 0) << pare_last_error();
  EXPECT_EQ(samples, 3);
  const Statistics s = load_statistics(scratch_.path("s.stats"));
  EXPECT_EQ(tensors, static_cast<int64_t>(s.tensors.size()));
  EXPECT_EQ(s.tensors.at("r").histogram.count(), 15U * 64U);
}

TEST_F(CApi, MakesTheFileOfCalibrate) {
  const Tensor images = random({6, 3, 32, 32}, 1);
  const std::string npy_file = scratch_.write("all.npy", npy(images));
  ASSERT_EQ(open(classifier()), 0) << pare_last_error();
  for (size_t i = 0; i < 6; ++i) ASSERT_EQ(add({{"images", row(images, i)}}), 0) << pare_last_error();
  ASSERT_EQ(pare_calibration_save(handle_, nullptr, nullptr), 0) << pare_last_error();
  calibrate({.model = scratch_.path("m.onnx"),
             .output = scratch_.path("whole.stats"),
             .data = {.data = npy_file, .val = npy_file, .preprocess = "", .shape = ""},
             .disabled_passes = {},
             .threads = 1,
             .progress = {}});
  EXPECT_TRUE(read_file(scratch_.path("s.stats")) == read_file(scratch_.path("whole.stats")));
}

TEST_F(CApi, SaysWhatIsWrong) {
  const Tensor x = random({1, 3, 16}, 1);
  Tensor broken = random({1, 3, 16}, 2);
  broken.write<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  struct Wrong {
    Inputs inputs;
    const char* first;
    const char* second;
  };
  for (const Wrong& c : {Wrong{{{"x", broken}}, "1 NaN or infinite values for sample 's1'", "tensor 'x'"},
                         {{{"z", x}}, "sample 's1': ", "no array for the model's input 'x'"},
                         {{{"x", x}, {"z", x}}, "sample 's1': ", "input 'z': the model has no input of this name"},
                         {{{"x", random({1, 3, 15}, 1)}}, "sample 's1': input 'x'", "1x3x15"},
                         {{{"x", random({3, 16}, 1)}}, "sample 's1", "3x16"},
                         {{{"x", Tensor(DType::i64, {1, 3, 16})}}, "sample 's1': input 'x'", "int64"},
                         {{{"x", Tensor(DType::f32, {1, 0, 16})}}, "sample 's1': array 'x'", "no elements"},
                         {{{"x", Tensor(DType::string, {1})}}, "sample 's1': array 'x'", "string"},
                         {{}, "sample 's1': ", "no array for the model's input 'x'"}}) {
    ASSERT_EQ(open(products({1, -1, 16}, "Identity"), "wrong.stats"), 0) << pare_last_error();
    ASSERT_EQ(add({{"x", x}}, "s0"), 0) << pare_last_error();
    EXPECT_EQ(add(c.inputs, "s1"), 3);
    EXPECT_THAT(pare_last_error(), AllOf(HasSubstr(c.first), HasSubstr(c.second)));
    EXPECT_EQ(add({{"x", x}}, "s2"), 2) << "part of a sample is counted";
    EXPECT_EQ(pare_calibration_save(handle_, nullptr, nullptr), 2);
    EXPECT_FALSE(std::filesystem::exists(scratch_.path("wrong.stats")));
  }
  std::string elsewhere = "?";
  std::thread([&] { elsewhere = pare_last_error(); }).join();
  EXPECT_EQ(elsewhere, "") << "errors are the thread's own";
}

TEST_F(CApi, OpensOnlyWhatItCanFinish) {
  const std::string model = save(scratch_, "m.onnx", products({1, -1, 16}));
  const auto opened = [this](const char* m, const std::string& output, const char* shape = nullptr) {
    const int code = pare_calibration_open(m, output.c_str(), shape, 1, &handle_);
    EXPECT_EQ(handle_, nullptr);
    return std::to_string(code) + " " + pare_last_error();
  };
  EXPECT_THAT(opened("nowhere.onnx", scratch_.path("s")), StartsWith("3 nowhere.onnx: no such file"));
  EXPECT_THAT(opened(nullptr, scratch_.path("s")), StartsWith("2 model: is NULL"));
  EXPECT_THAT(opened(model.c_str(), scratch_.path("none/s")), StartsWith("6 "));
  EXPECT_THAT(opened(model.c_str(), model), AllOf(StartsWith("2 "), HasSubstr("is an input too")));
  EXPECT_THAT(opened(model.c_str(), scratch_.path("s"), "1x"), StartsWith("2 "));
  EXPECT_EQ(pare_calibration_open(model.c_str(), "s", nullptr, 1, nullptr), 2);
  ASSERT_EQ(open(products({1, -1, 16})), 0) << pare_last_error();
  EXPECT_EQ(pare_calibration_save(handle_, nullptr, nullptr), 3);
  EXPECT_STREQ(pare_last_error(), "calibration set is empty");
  EXPECT_EQ(pare_calibration_add(nullptr, "s", nullptr, 0), 2);
  EXPECT_EQ(pare_calibration_inputs(nullptr), 0U);
}

}  // namespace
}  // namespace pare
