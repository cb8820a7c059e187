#include "engine/cost/Cores.h"

#include <gtest/gtest.h>

namespace lockstep::cost {
namespace {

constexpr double kMillisecond = 1e6;

/// By how much in ms a step of 100 ms is held up, with `work` ms of all ranks and `hook` ms of
/// each.
double heldUp(const Cores& cores, double work, double hook) {
  return heldUpNs(cores, 100 * kMillisecond, work * kMillisecond, hook * kMillisecond) / kMillisecond;
}

TEST(CoresTest, NothingIsHeldUpWhereCoresSuffice) {
  EXPECT_EQ(heldUp({4, 2, 2}, 200, 50), 0) << "two ranks and two hooks on four";
  EXPECT_EQ(heldUp({2, 2, 2}, 200, 0), 0) << "all cores are busy, and no hook works";
  EXPECT_EQ(heldUp({2, 1, 1}, 100, 50), 0);
  EXPECT_EQ(heldUp({0, 2, 2}, 200, 50), 0) << "no cores are known";
  EXPECT_EQ(heldUpNs({2, 2, 2}, 0, 1, 1), 0) << "there is no step";
}

// While two hooks work, half a core is wanted beside theirs: 20 ms take 25.
TEST(CoresTest, WhatAHookWantsBeyondTheCoresIsDoneLater) {
  EXPECT_NEAR(heldUp({2, 0.5, 2}, 50, 20), 5, 1e-9);
  EXPECT_NEAR(heldUp({1, 0.5, 2}, 50, 20), 30, 1e-9);
}

// 200 ms of work, and 40 of two hooks, on two cores.
TEST(CoresTest, WhereTheyNeverSufficeAllWorkOverTheCoresIsTheStep) {
  EXPECT_NEAR(heldUp({2, 2, 2}, 200, 20), 20, 1e-9);
  EXPECT_NEAR(heldUp({2, 2, 2}, 300, 0), 50, 1e-9);
  EXPECT_NEAR(heldUp({2, 2, 2}, 300, 20), 70, 1e-9);
}

TEST(CoresTest, AHookWorksNoLongerThanTheStep) {
  EXPECT_NEAR(heldUp({2, 2, 4}, 0, 500), 100, 1e-9);
  EXPECT_EQ(heldUp({2, 2, 2}, -50, -5), 0);
}

}  // namespace
}  // namespace lockstep::cost
