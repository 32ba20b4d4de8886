#include "runtime/cpu.h"

#include <gmock/gmock.h>

#include "pare/error.h"

namespace pare {
namespace {

struct Case {
  const char* name;
  int weight_bits;
};

TEST(CpuTarget, WeightBits) {
  for (const Case& c : {Case{"avx2", 7}, Case{"avx512", 7}, Case{"vnni", 8}, Case{"amx", 8}, Case{"arm-dot", 8}}) {
    EXPECT_EQ(cpu_target(c.name).weight_bits(), c.weight_bits) << c.name;
    EXPECT_EQ(cpu_target(c.name).name, c.name);
  }
}

TEST(CpuTarget, UnknownNameListsTheKnown) {
  try {
    cpu_target("sse");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "--target-cpu: 'sse' is no target CPU; known are avx2, avx512, vnni, amx, arm-dot");
    EXPECT_EQ(e.kind(), ErrorKind::usage);
  }
}

TEST(CpuTarget, ThisMachineIsOneOfThem) {
  EXPECT_EQ(cpu_target(this_cpu().name).int8_dot_product, this_cpu().int8_dot_product);
  EXPECT_THAT(cpu_description(), testing::AllOf(testing::HasSubstr(" ("), testing::HasSubstr(this_cpu().name)));
}

}  // namespace
}  // namespace pare
