#include "engine/base/RangesText.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(RangesText, WritesNeighboursAsOneRange) {
  EXPECT_EQ(rangesText({}), "none");
  EXPECT_EQ(rangesText({3}), "3");
  EXPECT_EQ(rangesText({0, 1, 2, 5}), "0-2, 5");
  EXPECT_EQ(rangesText({0, 2, 3}), "0, 2-3");
}

TEST(RangesText, CountsTheNumbersThatAreTooManyToBeNamed) {
  EXPECT_EQ(rangesText({0, 2, 4, 6, 7}, 3), "0, 2, 4 and 2 more");
  EXPECT_EQ(rangesText({0, 1, 2, 3}, 1), "0-3");
}

}  // namespace
}  // namespace lockstep::base
