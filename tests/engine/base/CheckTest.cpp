#include "engine/base/Check.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(CheckDeathTest, NamesThePlaceTheConditionAndTheValues) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const int rank = 3;
  EXPECT_DEATH(LOCKSTEP_CHECK(rank < 2, "rank {} of {}", rank, 2),
               "CheckTest.cpp:[0-9]+: check failed: rank < 2: rank 3 of 2");
}

TEST(CheckTest, DoesNotBuildItsMessageWhenAllIsWell) {
  int built = 0;
  LOCKSTEP_CHECK(true, "{}", ++built);
  EXPECT_EQ(built, 0);
}

}  // namespace
}  // namespace lockstep::base
