#include "verify/kernels.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "pare/error.h"

namespace pare {
namespace {

std::string kernel(const std::string& op, const std::string& provider, int us) {
  return R"({"cat":"Node","name":"n_kernel_time","dur":)" + std::to_string(us) + R"(,"args":{"op_name":")" + op +
         R"(","provider":")" + provider + R"("}})";
}

TEST(ReadProfile, AgreesWithJudgeOnARealProfile) {
  Golden golden("profile.txt");
  const KernelReport got = read_profile(golden_text("profile.json"), 10);
  EXPECT_NEAR(got.integer_macs, golden.number(), 1e-9);
  EXPECT_NEAR(got.float_macs, golden.number(), 1e-9);
  EXPECT_NEAR(got.conversions, 5, 1e-9);
  size_t rows = 0;
  for (; golden.more(); ++rows) {
    const std::string op = golden.word();
    const auto row = std::find_if(got.rows.begin(), got.rows.end(), [&op](const KernelRow& r) { return r.op == op; });
    ASSERT_NE(row, got.rows.end()) << op;
    EXPECT_NEAR(row->count, golden.number(), 1e-9) << op;
    EXPECT_NEAR(row->ms, golden.number(), 5e-4) << op;
    EXPECT_EQ(row->provider, "CPUExecutionProvider");
  }
  EXPECT_EQ(got.rows.size(), rows);
}

struct Kind {
  const char* op;
  double integer, floating, conversion;
};

TEST(ReadProfile, KnowsTheKinds) {
  const std::vector<Kind> cases{
      {"QLinearConv", 1, 0, 0},
      {"ConvInteger", 1, 0, 0},
      {"QLinearMatMul", 1, 0, 0},
      {"MatMulInteger", 1, 0, 0},
      {"QGemm", 1, 0, 0},
      {"MatMulIntegerToFloat", 1, 0, 0},
      {"Conv", 0, 1, 0},
      {"FusedConv", 0, 1, 0},
      {"MatMul", 0, 1, 0},
      {"Gemm", 0, 1, 0},
      {"FusedMatMul", 0, 1, 0},
      {"FusedGemm", 0, 1, 0},
      {"ConvTranspose", 0, 1, 0},
      {"DynamicQuantizeMatMul", 1, 0, 0},
      {"QuantizeLinear", 0, 0, 1},
      {"DequantizeLinear", 0, 0, 1},
      {"DynamicQuantizeLinear", 0, 0, 1},
      {"Relu", 0, 0, 0},
      {"QLinearAdd", 0, 0, 0},
  };
  for (const Kind& c : cases) {
    const KernelReport got = read_profile("[" + kernel(c.op, "CPUExecutionProvider", 5) + "]", 1);
    EXPECT_EQ(got.integer_macs, c.integer) << c.op;
    EXPECT_EQ(got.float_macs, c.floating) << c.op;
    EXPECT_EQ(got.conversions, c.conversion) << c.op;
  }
}

TEST(ReadProfile, SeparatesProvidersAndSortsByTime) {
  const KernelReport got = read_profile(
      "[" + kernel("Conv", "CPUExecutionProvider", 1000) + "," + kernel("Conv", "CUDAExecutionProvider", 3000) + "," +
          kernel("Conv", "CUDAExecutionProvider", 5000) + R"(,{"cat":"Node","name":"n_fence_before","dur":9,"args":{}},)" +
          R"({"cat":"Session","name":"session_kernel_time","dur":9,"args":{"op_name":"Conv","provider":"p"}},{"ph":"X"}])",
      2);
  ASSERT_EQ(got.rows.size(), 2);
  EXPECT_EQ(got.rows[0].provider, "CUDAExecutionProvider");
  EXPECT_EQ(got.rows[0].ms, 4);
  EXPECT_EQ(got.rows[0].count, 1);
  EXPECT_EQ(got.rows[1].ms, .5);
  EXPECT_EQ(got.float_macs, 1.5);
}

TEST(ReadProfile, RefusesWhatIsNoProfile) {
  for (const char* text : {"", "[", "7", "[1]", "{\"a\":1}", R"([{"cat":"Node","name":"n_kernel_time","dur":1,"args":{}}])",
                           R"([{"cat":"Node","name":"n_kernel_time","dur":"x","args":{"op_name":"Conv","provider":"p"}}])",
                           R"([{"cat":1,"name":"n_kernel_time"}])", "[]", "[{\"cat\":\"Session\"}]"}) {
    try {
      read_profile(text, 1);
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::input) << text;
    }
  }
}

TEST(ReadProfile, RefusesNoRuns) { EXPECT_THROW(read_profile("[]", 0), Error); }

}  // namespace
}  // namespace pare
