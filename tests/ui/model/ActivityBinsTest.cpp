#include "engine/trace/Event.h"
#include "ui/model/ActivityBins.h"

#include <gtest/gtest.h>

#include "tests/ui/model/Feed.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

constexpr std::uint64_t kFar = 1'000'000'000'000;

TEST(ActivityBins, AddUpWhatWasSpentInAnyStretch) {
  ActivityBins bins;
  bins.add(Activity::kForward, kFar, 1'000'000);
  bins.add(Activity::kBackward, kFar + 1'000'000, 2'000'000);
  bins.add(Activity::kForward, kFar + 500'000, 500'000);  // of another rank
  const auto all = bins.between(0, 2.0 * kFar);
  EXPECT_NEAR(all.of(Activity::kForward), 1'500'000, 1);
  EXPECT_NEAR(all.of(Activity::kBackward), 2'000'000, 1);
  EXPECT_EQ(all.of(Activity::kExposed), 0);
}

TEST(ActivityBins, KeepTheSumsWhenTheRunOutgrowsThem) {
  ActivityBins bins;
  double sum = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    bins.add(Activity::kForward, kFar + i * 1'000'000, 300'000);
    sum += 300'000;
  }
  EXPECT_NEAR(bins.between(0, 2.0 * kFar).of(Activity::kForward), sum, 1);
  const double half = bins.between(kFar, kFar + 10'000.0 * 1'000'000).of(Activity::kForward);
  EXPECT_NEAR(half, sum / 2, sum / ActivityBins::kBins);
}

TEST(ActivityBins, TakeWhatComesLateBeforeAllTheRest) {
  ActivityBins bins;
  bins.add(Activity::kForward, kFar, 1'000'000);
  bins.add(Activity::kData, kFar - 50'000'000, 10'000'000);
  EXPECT_NEAR(bins.between(kFar, kFar + 1'000'000).of(Activity::kForward), 1'000'000, 20'000);
  EXPECT_NEAR(bins.between(0, kFar).of(Activity::kData), 10'000'000, 1);
}

TEST(ActivityBins, KeepWhatIsNearTheFirstTickInItsPlace) {
  ActivityBins bins;
  bins.add(Activity::kForward, 900'000, 100'000);
  bins.add(Activity::kData, 0, 50'000);
  bins.add(Activity::kOptimizer, 300'000'000, 1'000'000);  // makes bins longer
  EXPECT_NEAR(bins.between(0, 300'000).of(Activity::kData), 50'000, 1);
  EXPECT_NEAR(bins.between(600'000, 1'400'000).of(Activity::kForward), 100'000, 1);
  EXPECT_NEAR(bins.between(299'000'000, 302'000'000).of(Activity::kOptimizer), 1'000'000, 1);
}

TEST(ActivityBins, IgnoreTimesThatNoRunHas) {
  ActivityBins bins;
  bins.add(Activity::kForward, kFar, 1000);
  bins.add(Activity::kForward, ~std::uint64_t{0} - 10, 100);
  bins.add(Activity::kForward, 0, ~std::uint64_t{0});
  EXPECT_NEAR(bins.between(kFar - 40'000, kFar + 40'000).of(Activity::kForward), 1000, 1);
}

TEST(ActivityBins, SpreadLostEventsOverTheirStretch) {
  ActivityBins bins;
  bins.add(Activity::kForward, kFar, 100'000'000);
  bins.addLost(kFar + 40'000'000, 20'000'000, 1003);
  EXPECT_NEAR(bins.between(0, 2.0 * kFar).lostEvents, 1003, 1e-6);
  EXPECT_EQ(bins.between(kFar, kFar + 39'000'000).lostEvents, 0);
  EXPECT_GT(bins.between(kFar + 45'000'000, kFar + 50'000'000).lostEvents, 0);
}

// Two ranks, 1 tick = 1 ns. Forward: rank 0 0..100, rank 1 0..120. Waits: rank 0 150..180.
// Collectives: 110..170 and 130..170, so 60 + 40 in communication. 7 events lost at 200..210.
TEST(ActivityBins, AreFedByTheModelByWhatSpansAre) {
  RunModel model;
  model.applyUpdate(
      test::Feed()
          .span(1, trace::EventKind::kForward, 0, 100)
          .span(3, trace::EventKind::kForward, 0, 120)
          .span(1, trace::EventKind::kWait, 150, 180)
          .span(2, trace::EventKind::kCollective, 110, 170, 0, test::sequence(1), test::kAllreduce)
          .span(4, trace::EventKind::kCollective, 130, 170, 0, test::sequence(1), test::kAllreduce)
          .span(1, trace::EventKind::kGap, 200, 210, 0, 7)
          .take());
  const auto sums = model.activity().between(0, 1e9);
  EXPECT_NEAR(sums.of(Activity::kForward), 220, 1e-6);
  EXPECT_NEAR(sums.of(Activity::kExposed), 30, 1e-6);
  EXPECT_NEAR(sums.of(Activity::kCommunication), 100, 1e-6);
  EXPECT_NEAR(sums.lostEvents, 7, 1e-6);
}

}  // namespace
}  // namespace lockstep::ui
