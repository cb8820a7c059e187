#include "engine/export/Nesting.h"

#include <gtest/gtest.h>

namespace lockstep::exports {
namespace {

TEST(NestingRows, WhatHoldsOrFollowsAnotherSharesItsRow) {
  // Ends 3, 5, 9, 10: the last holds the three before it.
  NestingRows rows;
  EXPECT_EQ(rows.take(1, 3, 0), 0u);
  EXPECT_EQ(rows.take(3, 5, 0), 0u);
  EXPECT_EQ(rows.take(5, 9, 0), 0u);
  EXPECT_EQ(rows.take(0, 10, 0), 0u);
  EXPECT_EQ(rows.take(10, 12, 0), 0u);
  EXPECT_EQ(rows.rows(), 1u);
}

TEST(NestingRows, WhatOverlapsInPartGetsAnother) {
  NestingRows rows;
  EXPECT_EQ(rows.take(0, 10, 0), 0u);
  EXPECT_EQ(rows.take(5, 15, 0), 1u) << "it begins inside the first";
  EXPECT_EQ(rows.take(12, 20, 0), 0u) << "the first is over, the second is not";
  EXPECT_EQ(rows.take(11, 30, 0), 0u) << "it holds the one before";
  EXPECT_EQ(rows.take(14, 31, 0), 2u) << "both rows are taken at 14";
}

TEST(NestingRows, WhatIsHeldNoLongerCountsByItself) {
  NestingRows rows;
  rows.take(2, 4, 0);
  rows.take(1, 6, 0);
  EXPECT_EQ(rows.take(3, 8, 0), 1u) << "from within both";
  EXPECT_EQ(rows.take(0, 9, 0), 0u);
}

TEST(NestingRows, OneThatComesLateGoesToAnotherRow) {
  NestingRows rows;
  rows.take(10, 20, 0);
  EXPECT_EQ(rows.take(0, 5, 0), 1u);
  EXPECT_EQ(rows.take(6, 9, 0), 1u);
}

TEST(NestingRows, WhatBeganTogetherIsHeldOnlyIfItIsNotWrittenYet) {
  NestingRows rows;
  rows.take(0, 5, 1);
  EXPECT_EQ(rows.take(0, 9, 1), 0u) << "of one block: the outer one is written first";
  rows.take(10, 15, 1);
  EXPECT_EQ(rows.take(10, 19, 2), 1u) << "the inner one has been written already";
}

TEST(NestingRows, ARowRemembersNotMoreThanItNeeds) {
  NestingRows rows;
  constexpr std::int64_t kMany = 200'000;
  for (std::int64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(rows.take(2 * i, 2 * i + 1, 0), 0u);
  }
  EXPECT_EQ(rows.take(2 * kMany - 2'000, 2 * kMany, 0), 0u) << "holds a thousand of them";
  EXPECT_EQ(rows.take(0, 2 * kMany + 1, 0), 1u) << "holds what is forgotten: a row of its own";
}

}  // namespace
}  // namespace lockstep::exports
