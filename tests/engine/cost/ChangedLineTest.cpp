#include "engine/cost/ChangedLine.h"

#include <gmock/gmock.h>

#include "engine/cost/Forecaster.h"
#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::cost {
namespace {

using test::SleepingRun;
using testing::HasSubstr;

/// SleepingRun's steps: buckets of 500 KB are full at 15, 20, 25 and 30 ms and take 2.2 ms each, so
/// that 2.2 are exposed, and a step takes 34.2.
RecordedRun shapedRun(const SleepingRun& run = {}) {
  RecordedRun recorded{run.steps(10), KnownTransfer{run.nsPerByte, run.latencyNs}, 1, {}};
  recorded.shaped = true;
  return recorded;
}

/// The same of a backend alone; the probe tells its line.
RecordedRun plainRun() {
  RecordedRun recorded{SleepingRun{}.steps(10), std::nullopt, 1, {}};
  for (const std::uint64_t bytes : {4'096u, 1'048'576u}) {
    recorded.probes.push_back({bytes, 2e5 + 4 * static_cast<double>(bytes), false});
  }
  return recorded;
}

/// Lets the backend of a shaped run be done 2 ns a byte after the last rank came.
RecordedRun withBackend(RecordedRun recorded) {
  for (StepRecord& step : recorded.steps) {
    for (BucketRecord& bucket : step.buckets) {
      for (BucketPart& part : bucket.parts) {
        part.backendEndedNs = part.beganNs + 1e6;
      }
    }
  }
  return recorded;
}

base::Result<std::vector<RankForecast>> forecast(const RecordedRun& run, const StepChange& change) {
  const auto made = Forecaster::make(run);
  return made.ok() ? made.value().forecast(change)
                   : base::Result<std::vector<RankForecast>>(made.error());
}

double stepMs(const RecordedRun& run, const StepChange& change) {
  const auto told = forecast(run, change);
  EXPECT_TRUE(told.ok()) << (told.ok() ? "" : told.error().what);
  return told.ok() ? told.value()[0].stepNs.value / 1e6 : 0;
}

std::string whyNot(const RecordedRun& run, const StepChange& change) {
  const auto told = forecast(run, change);
  return told.ok() ? "it can" : told.error().what;
}

StepChange withLink(double nsPerByte, double latencyNs) {
  StepChange change;
  change.link = KnownTransfer{nsPerByte, latencyNs};
  return change;
}

// 5 ms each, one every 5 ms: from 30 ms on the last takes 4 ms of bytes and 1 of latency.
TEST(ChangedLineTest, OfAShapedRunASlowerLinkTakesWhatItsModelSays) {
  EXPECT_NEAR(stepMs(shapedRun(), withLink(8, 1e6)), 37, 1e-3);
}

// Each of its transfers takes 0.1 ms more than its link's 2.1; with the other link, too.
TEST(ChangedLineTest, OfAShapedRunWhatItsTransfersTookBeyondTheModelStays) {
  RecordedRun recorded = shapedRun();
  recorded.known->latencyNs -= 1e5;
  EXPECT_NEAR(stepMs(recorded, withLink(8, 1e6)), 37.1, 1e-3);
}

TEST(ChangedLineTest, OfAShapedRunAFasterLinkShowsItsBackend) {
  EXPECT_EQ(whyNot(shapedRun(), withLink(1, 1e5)),
            "its own link hid what its backend takes by itself, which a faster one would show");
  const RecordedRun recorded = withBackend(shapedRun());
  ASSERT_TRUE(backendOf(recorded));
  EXPECT_NEAR(backendOf(recorded)->cost.nsPerByte, 2, 1e-9);
  // Not the 0.5 ms of the link, but the 1 ms of the backend, and a latency of 0.1.
  EXPECT_NEAR(stepMs(recorded, withLink(1, 1e5)), 33.1, 1e-3);
  EXPECT_NEAR(stepMs(recorded, withLink(8, 1e6)), 37, 1e-3) << "a slower link hides it";
}

TEST(ChangedLineTest, OfARunWithoutALinkWhatWasMeasuredIsTheBackends) {
  EXPECT_NEAR(stepMs(plainRun(), withLink(8, 1e6)), 37, 1e-3);
  EXPECT_NEAR(stepMs(plainRun(), withLink(1, 1e5)), 34.3, 1e-3) << "2.2 of the backend, and 0.1";
}

// 6 ms of latency and 2 of bytes, one every 5 ms: one after the other the last ends at 47 ms. Two
// at once: 15 to 23, 20 to 28, 25 to 33, 30 to 38.
TEST(ChangedLineTest, MoreInFlightHideLatencies) {
  const RecordedRun recorded = shapedRun(SleepingRun{.latencyNs = 6e6});
  StepChange change;
  EXPECT_NEAR(stepMs(recorded, change), 49, 1e-3);
  change.inFlight = 2;
  EXPECT_NEAR(stepMs(recorded, change), 40, 1e-3);
  EXPECT_THAT(whyNot(plainRun(), change), HasSubstr("its link is not a modelled one"));
  change.link = KnownTransfer{4, 6e6};
  EXPECT_NEAR(stepMs(plainRun(), change), 40.2, 1e-3);
}

// Full at 30, encoded at 31, 0.2 + 1 ms on the line, 0.5 decoded: 32.7, and 2 of the optimizer.
TEST(ChangedLineTest, AHookSendsLessAndWorksBeforeAndAfter) {
  StepChange change;
  change.hook = HookWork{0.5, std::nullopt, {1e6, 0, 0}, {0, 1, 0}, 0, 0};
  EXPECT_NEAR(stepMs(withBackend(shapedRun()), change), 34.7, 1e-3);
  EXPECT_NEAR(stepMs(plainRun(), change), 34.7, 1e-3);
  change.hook->aroundStepNs = 4e5;
  EXPECT_NEAR(stepMs(plainRun(), change), 35.1, 1e-3);
  const double sure = forecast(plainRun(), change).value()[0].stepNs.high;
  change.hook->offNs = 5e5;
  EXPECT_GT(forecast(plainRun(), change).value()[0].stepNs.high, sure);
}

// Encoding takes 6 ms, and a bucket is full every 5: they queue for the thread of the hook. Encoded
// at 21, 27, 33 and 39.
TEST(ChangedLineTest, AHookWorksOnOneBucketAtATime) {
  StepChange change;
  change.hook = HookWork{1, std::nullopt, {6e6, 0, 0}, {}, 0, 0};
  EXPECT_NEAR(stepMs(plainRun(), change), 43.2, 1e-3);
  // What has come meanwhile is decoded first, 1 ms: encoded at 21, 27, 34 and 41. The last comes at
  // 43.2, and is decoded at 44.2.
  change.hook->decode = {1e6, 0, 0};
  EXPECT_NEAR(stepMs(plainRun(), change), 46.2, 1e-3);
}

TEST(ChangedLineTest, AHookOfSeveralCollectivesIsKnownOnItsOwnLinkAlone) {
  StepChange change;
  change.hook = HookWork{std::nullopt, TransferCost{1e6, 1, 0}, {}, {}, 0, 0};
  EXPECT_NEAR(stepMs(plainRun(), change), 33.5, 1e-3);
  change.link = KnownTransfer{4, 2e5};
  EXPECT_THAT(whyNot(plainRun(), change), HasSubstr("and was measured on another link"));
}

TEST(ChangedLineTest, SaysWhatItsOwnHookHides) {
  RecordedRun recorded = plainRun();
  recorded.share.reset();
  EXPECT_THAT(whyNot(recorded, withLink(4, 2e5)),
              HasSubstr("its hook makes more of a bucket than one allreduce of always the same "
                        "part, and what that takes on another link is not known"));
  StepChange change;
  change.hook = HookWork{};
  EXPECT_THAT(whyNot(recorded, change), HasSubstr("so that what one takes is not known"));
  recorded.hook.reset();
  EXPECT_THAT(whyNot(recorded, change),
              HasSubstr("its own hook works on each bucket, and what that takes by itself is not "
                        "known"));
}

// Buckets are full at 7.5, 10, 12.5 and 15 ms.
TEST(ChangedLineTest, FasterComputingLeavesTheTransfers) {
  StepChange change;
  change.computeFactor = 0.5;
  EXPECT_NEAR(stepMs(plainRun(), change), 19.2, 1e-3);
}

TEST(ChangedLineTest, ChangesCombineAndWidenTheInterval) {
  StepChange change = withLink(8, 1e6);
  change.computeFactor = 0.5;
  change.buckets = test::planWith(SleepingRun{}, 20);
  // All 2 MB from 15 ms on: 16 ms and 1.
  EXPECT_NEAR(stepMs(shapedRun(), change), 34, 1e-3);
  const auto width = [](const RankForecast& of) {
    return (of.stepNs.high - of.stepNs.low) / of.stepNs.value;
  };
  const double narrow = width(forecast(shapedRun(), StepChange{}).value()[0]);
  EXPECT_GT(width(forecast(shapedRun(), withLink(80, 1e6)).value()[0]), 1.5 * narrow);
}

}  // namespace
}  // namespace lockstep::cost
