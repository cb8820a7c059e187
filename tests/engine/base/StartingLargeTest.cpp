#include "engine/base/StartingLarge.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(StartingLarge, ALetterBecomesACapital) {
  EXPECT_EQ(startingLarge("rank 2 is late"), "Rank 2 is late");
  EXPECT_EQ(startingLarge("Rank 2 is late"), "Rank 2 is late");
}

TEST(StartingLarge, WhatIsNoLetterStays) {
  EXPECT_EQ(startingLarge(""), "");
  EXPECT_EQ(startingLarge("3 ranks"), "3 ranks");
  EXPECT_EQ(startingLarge("µs"), "µs");
}

}  // namespace
}  // namespace lockstep::base
