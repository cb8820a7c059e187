#include "engine/base/Priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace lockstep::base {
namespace {

int nice() {
  return getpriority(PRIO_PROCESS, 0);
}

TEST(PriorityTest, AThreadStepsBehindWithWhatItStartsAndNobodyElse) {
  const int before = nice();
  int behind = 0;
  int childOfIt = 0;
  std::thread([&] {
    stepBehind();
    behind = nice();
    std::thread([&] { childOfIt = nice(); }).join();
  }).join();
  EXPECT_EQ(behind, std::max(before, kBehind));
  EXPECT_EQ(childOfIt, behind);
  EXPECT_EQ(nice(), before);
}

TEST(PriorityTest, WhatIsStartedInFrontStaysWhereTheProgramWas) {
  int before = 0;
  int behind = 0;
  int inFrontOfIt = 0;
  int startedThere = 0;
  std::thread([&] {
    before = nice();
    inFront([&] { inFrontOfIt = nice(); });
    EXPECT_EQ(inFrontOfIt, before) << "nothing stepped behind yet";
    stepProgramBehind();
    behind = nice();
    inFront([&] {
      inFrontOfIt = nice();
      std::thread([&] { startedThere = nice(); }).join();
    });
  }).join();
  EXPECT_EQ(behind, std::max(before, kBehind));
  EXPECT_EQ(inFrontOfIt, before);
  EXPECT_EQ(startedThere, before);
}

}  // namespace
}  // namespace lockstep::base
