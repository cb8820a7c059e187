#include <gtest/gtest.h>

#include "engine/process_group/shared_memory/Waiter.h"

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A sleep that ends soon costs more than its wait.
constexpr microseconds kShort{60};

TEST(SpinLimit, DoublesAfterShortSleepsUpToItsMost) {
  SpinLimit spin;
  EXPECT_EQ(spin.value(), SpinLimit::kLeast);
  spin.slept(kShort);
  EXPECT_EQ(spin.value(), 2 * SpinLimit::kLeast);
  auto last = spin.value();
  while (spin.value() < SpinLimit::kMost) {
    spin.slept(kShort);
    ASSERT_GT(spin.value(), last);
    last = spin.value();
  }
  EXPECT_EQ(spin.value(), SpinLimit::kMost);
}

TEST(SpinLimit, StartsAnewAfterALongSleep) {
  SpinLimit spin;
  spin.slept(kShort);
  spin.slept(kShort);
  spin.slept(milliseconds(5));
  EXPECT_EQ(spin.value(), SpinLimit::kLeast);
}

TEST(SpinLimit, StartsAnewWhereEvenItsMostIsNotEnough) {
  SpinLimit spin;
  while (spin.value() < SpinLimit::kMost) {
    spin.slept(kShort);
  }
  spin.slept(SpinLimit::kMost + kShort);
  EXPECT_EQ(spin.value(), SpinLimit::kLeast);
}

}  // namespace
}  // namespace lockstep::process_group::shared_memory
