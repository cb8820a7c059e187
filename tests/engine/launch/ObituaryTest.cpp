#include "engine/launch/Obituary.h"
#include "engine/trace/Event.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>

namespace lockstep::launch {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;  // a tick a nanosecond

Obituary read(const trace::LastWords& words) {
  return readLastWords(words, base::ClockCalibration{}, 3 * kSecond);
}

TEST(ObituaryTest, NamesTheOpenOperationAndItsAge) {
  trace::LastWords words{};
  words.step = 312;
  words.phase = static_cast<std::uint16_t>(trace::EventKind::kBackward);
  words.operation = static_cast<std::uint8_t>(trace::Operation::kAllreduce);
  words.bucket = 3;
  words.sequence = 1251;
  words.sinceTicks = 2 * kSecond;
  std::strcpy(words.hook.data(), "fp16");
  const auto obituary = read(words);
  EXPECT_EQ(obituary.lastIn,
            "in iteration 312, in backward: allreduce of bucket 3 (sequence 1251, hook fp16) "
            "for 1.00 s");
  EXPECT_EQ(obituary.diedIn,
            "in iteration 312, in backward, 1.00 s into allreduce of bucket 3 (sequence 1251, hook "
            "fp16)");
  EXPECT_TRUE(obituary.training);
}

TEST(ObituaryTest, NamesTheStartupStage) {
  trace::LastWords words{};
  words.phase = static_cast<std::uint16_t>(trace::EventKind::kStartup);
  words.startupStage = static_cast<std::uint16_t>(trace::StartupStage::kRendezvous);
  words.sinceTicks = 3 * kSecond - 1'500'000;
  const auto obituary = read(words);
  EXPECT_EQ(obituary.lastIn, "during start-up, in rendezvous for 1.50 ms");
  EXPECT_EQ(obituary.diedIn, "during start-up, 1.50 ms into rendezvous");
  EXPECT_FALSE(obituary.training);
}

TEST(ObituaryTest, KnowsARankThatNeverSpoke) {
  const auto obituary = read(trace::LastWords{});
  EXPECT_FALSE(obituary.spoke);
  EXPECT_EQ(obituary.lastIn, "before its start-up began");
}

TEST(ObituaryTest, SaysHowFarIntoAnIterationOrAPhaseARankDied) {
  trace::LastWords words{};
  words.step = 40;
  words.phase = static_cast<std::uint16_t>(trace::EventKind::kStep);
  words.sinceTicks = 3 * kSecond - 34'800'000;
  EXPECT_EQ(read(words).lastIn, "in iteration 40 for 34.8 ms");
  EXPECT_EQ(read(words).diedIn, "34.8 ms into iteration 40");
  words.phase = static_cast<std::uint16_t>(trace::EventKind::kForward);
  EXPECT_EQ(read(words).diedIn, "in iteration 40, 34.8 ms into forward");
  words.phase = 0;
  EXPECT_EQ(read(words).diedIn, "in iteration 40");
}

TEST(ObituaryTest, KnowsWhomAnErrorFindsAtFault) {
  trace::LastWords words{};
  words.sinceTicks = kSecond;
  words.fault = static_cast<std::uint8_t>(trace::Fault::kOtherCall);
  words.culprits[0] = 1;
  words.culprits[1] = 3;
  const auto obituary = read(words);
  EXPECT_EQ(obituary.fault, trace::Fault::kOtherCall);
  EXPECT_EQ(obituary.culprits, (std::vector{0, 2}));
}

TEST(ObituaryTest, BearsTextsWithoutAnEnd) {
  trace::LastWords words{};
  words.error.fill('x');
  words.error[5] = '\n';
  EXPECT_EQ(read(words).error.size(), words.error.size());
  EXPECT_EQ(read(words).error.substr(0, 7), "xxxxx x");
}

TEST(ObituaryTest, NamesSignals) {
  EXPECT_EQ(signalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signalName(63), "signal 63");
}

}  // namespace
}  // namespace lockstep::launch
