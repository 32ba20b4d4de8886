#include "base/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace pare {
namespace {

TEST(ParallelFor, RunsEachIndexOnce) {
  std::vector<int> seen(1000, 0);
  parallel_for(seen.size(), 4, [&](size_t i) { ++seen[i]; });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
}

TEST(ParallelFor, PassesTheExceptionOn) {
  EXPECT_THROW(parallel_for(8, 2,
                            [](size_t i) {
                              if (i == 5) throw std::runtime_error("five");
                            }),
               std::runtime_error);
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, 2, [](size_t) { FAIL(); });
}

}  // namespace
}  // namespace pare
