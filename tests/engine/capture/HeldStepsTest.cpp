#include "engine/capture/HeldSteps.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"

namespace lockstep::capture {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

trace::Event event(trace::EventKind kind, std::uint32_t step) {
  trace::Event event;
  event.kind = static_cast<std::uint16_t>(kind);
  event.step = step;
  return event;
}

void endStep(HeldSteps& held, int rank, std::uint32_t step, std::int64_t nowNs = 0) {
  held.add(rank, rank, event(trace::EventKind::kStep, step), nowNs);
}

TEST(HeldStepsTest, AStepIsReadyOnceAllRanksHaveEndedTheNext) {
  HeldSteps held;
  endStep(held, 0, 0);
  endStep(held, 1, 0);
  endStep(held, 0, 1);
  EXPECT_EQ(held.ready(0), std::nullopt) << "rank 1 may still tell of step 0";
  endStep(held, 1, 1);
  EXPECT_EQ(held.ready(0), 0U);
  EXPECT_EQ(held.take(0).events.size(), 2U);
  EXPECT_EQ(held.ready(0), std::nullopt);
  EXPECT_TRUE(held.isOver(0));
  EXPECT_FALSE(held.isOver(1));
}

TEST(HeldStepsTest, ARankThatIsSilentIsWaitedForTwoSeconds) {
  HeldSteps held;
  endStep(held, 0, 0);
  held.add(1, 1, event(trace::EventKind::kForward, 0), 0);
  endStep(held, 0, 1, kSecond);
  endStep(held, 0, 2, kSecond);
  EXPECT_EQ(held.ready(kSecond), std::nullopt);
  EXPECT_EQ(held.ready(5 * kSecond / 2), 0U);
}

TEST(HeldStepsTest, WhereStepsAreLongARankMayBeSilentForThreeOfThem) {
  HeldSteps held;
  endStep(held, 0, 0);
  held.take(10 * kSecond);
  endStep(held, 0, 1);
  EXPECT_EQ(held.ready(29 * kSecond), std::nullopt);
  EXPECT_EQ(held.ready(31 * kSecond), 1U);
}

TEST(HeldStepsTest, NobodyIsWaitedForOnceAMillionEventsAreHeld) {
  HeldSteps held;
  for (int i = 0; i < 1'000'000; ++i) {
    held.add(0, 0, event(trace::EventKind::kForward, 7), 0);
  }
  EXPECT_EQ(held.ready(0), std::nullopt);
  held.add(0, 0, event(trace::EventKind::kForward, 7), 0);
  EXPECT_EQ(held.ready(0), 7U);
}

}  // namespace
}  // namespace lockstep::capture
