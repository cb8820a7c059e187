#include "engine/trace/RecorderPace.h"

#include <gtest/gtest.h>

namespace lockstep::trace {
namespace {

using namespace std::chrono_literals;

TEST(RecorderPace, StartsAsItWasTold) {
  EXPECT_EQ(RecorderPace(20ms).wait(), 20ms);
}

TEST(RecorderPace, WaitsLongerWhereLittleComes) {
  RecorderPace pace(20ms);
  pace.passed(20ms, 0, 0);
  EXPECT_EQ(pace.wait(), 100ms);
  pace.passed(100ms, 1'000, 0.01);
  EXPECT_EQ(pace.wait(), 100ms);
}

TEST(RecorderPace, ComesForSomeThousandEvents) {
  RecorderPace pace(20ms);
  pace.passed(100ms, 4'000, 0.01);
  EXPECT_EQ(pace.wait(), 50ms);
  pace.passed(50ms, 10'000, 0.01);
  EXPECT_EQ(pace.wait(), 20ms) << "no oftener than it was told";
}

TEST(RecorderPace, LetsNoRingFillUp) {
  RecorderPace pace(20ms);
  pace.passed(100ms, 100, 0.25);
  EXPECT_EQ(pace.wait(), 50ms) << "a small ring, an eighth of it until then";
}

}  // namespace
}  // namespace lockstep::trace
