#include "engine/cost/Forecaster.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::cost {
namespace {

using test::planWith;
using test::SleepingRun;
using testing::HasSubstr;
using testing::StartsWith;

/// The median over its steps of one rank's exposed time.
double exposedOf(const SleepingRun& run, int perBucket, std::uint64_t seed) {
  SleepingRun other = run;
  other.perBucket = perBucket;
  std::vector<double> exposed;
  for (const StepRecord& step : other.steps(40, seed)) {
    exposed.push_back(measuredOutcome(step).ranks[0].exposedNs);
  }
  std::nth_element(exposed.begin(), exposed.begin() + 20, exposed.end());
  return exposed[20];
}

/// What the settings of the link of a SleepingRun say.
KnownTransfer settings(const SleepingRun& run) {
  return {run.nsPerByte, run.latencyNs};
}

std::string whyNot(const RecordedRun& run) {
  const auto made = Forecaster::make(run);
  return made.ok() ? "it can" : made.error().what;
}

TEST(Forecaster, ItsIntervalContainsWhatARunWithTheseBucketsMeasures) {
  SleepingRun run;
  run.noise = 0.1;
  run.nsPerByte = 12;
  int within = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto made = Forecaster::make({run.steps(40, seed), settings(run), 1, {}});
    ASSERT_TRUE(made.ok()) << made.error().what;
    for (const int perBucket : {1, 20}) {
      const auto told = made.value().forecast(planWith(run, perBucket));
      ASSERT_TRUE(told.ok()) << told.error().what;
      const Estimate& exposed = told.value()[0].exposedNs;
      const double truth = exposedOf(run, perBucket, 100 + seed);
      EXPECT_NEAR(exposed.value, truth, 0.1 * truth) << perBucket;
      EXPECT_LE(exposed.low, exposed.value);
      EXPECT_GE(exposed.high, exposed.value);
      within += exposed.low <= truth && truth <= exposed.high ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(within, 18) << "of " << all;
}

TEST(Forecaster, SaysTheSameEachTime) {
  SleepingRun run;
  run.noise = 0.2;
  const RecordedRun recorded{run.steps(20), settings(run), 1, {}};
  const auto plan = planWith(run, 2);
  const auto once = Forecaster::make(recorded).value().forecast(plan);
  const auto again = Forecaster::make(recorded).value().forecast(plan);
  EXPECT_EQ(once.value()[0].exposedNs.low, again.value()[0].exposedNs.low);
  EXPECT_EQ(once.value()[1].stepNs.high, again.value()[1].stepNs.high);
}

// The last ten of thirty steps take 5 ms longer, behind the last bucket.
TEST(Forecaster, ItsIntervalIsAsWideAsTheThirdsOfTheRunDiffer) {
  const SleepingRun run;
  RecordedRun recorded{run.steps(30), settings(run), 1, {}};
  const auto plan = planWith(run, 10);
  const auto even = Forecaster::make(recorded).value().forecast(plan);
  for (std::size_t i = 20; i < 30; ++i) {
    for (RankStep& rank : recorded.steps[i].ranks) {
      rank.endNs += 5e6;
    }
  }
  const auto uneven = Forecaster::make(recorded).value().forecast(plan);
  const auto width = [](const Estimate& estimate) { return estimate.high - estimate.low; };
  EXPECT_LT(width(even.value()[0].stepNs), 5e6);
  EXPECT_GE(width(uneven.value()[0].stepNs), 10e6) << "5 ms both ways";
  EXPECT_DOUBLE_EQ(width(uneven.value()[0].exposedNs), width(even.value()[0].exposedNs));
}

/// By how much more exposed time than was forecast a run of such buckets is expected to have.
double reachOfExposed(const SleepingRun& run, int perBucket) {
  const auto made = Forecaster::make({run.steps(30), settings(run), 1, {}});
  EXPECT_TRUE(made.ok()) << made.error().what;
  const Estimate exposed = made.value().forecast(planWith(run, perBucket)).value()[0].exposedNs;
  return exposed.high - exposed.value;
}

// Of steps of 34.2 ms 2.2 are exposed, with ten times the time a byte 65.8 of 97.8 ms.
TEST(Forecaster, TwoRunsDifferInExposedTimeByAPartOfTheStepHoweverMuchIsExposed) {
  SleepingRun run;
  EXPECT_NEAR(reachOfExposed(run, 5), 0.01 * 34.2e6, 1);
  run.nsPerByte = 40;
  EXPECT_NEAR(reachOfExposed(run, 5), 0.01 * 97.8e6, 1);
}

// In one bucket, 8.2 ms are exposed of a step of 40.2 ms.
TEST(Forecaster, OtherBucketsAreTheLessSureTheMoreTheyChange) {
  EXPECT_NEAR(reachOfExposed(SleepingRun{}, 20),
              std::hypot(0.01 * 40.2e6, 0.1 * (8.2e6 - 2.2e6)), 1);
}

TEST(Forecaster, AHookIsNoSurerThanTheRunThatItIsOf) {
  const SleepingRun run;
  const auto made = Forecaster::make({run.steps(30), settings(run), 1, {}});
  ASSERT_TRUE(made.ok()) << made.error().what;
  const auto told = [&](const StepChange& change) {
    return made.value().forecast(change).value()[0].stepNs;
  };
  const auto reach = [](const Estimate& estimate) { return estimate.high - estimate.value; };
  StepChange change;
  const Estimate own = told(change);
  change.hook = HookWork{};
  const Estimate sure = told(change);
  EXPECT_NEAR(sure.value, own.value, 1);
  EXPECT_GT(reach(sure), 1.3 * reach(own)) << "it rests on two runs";
  change.hook->runOffStepNs = 5e6;
  EXPECT_GE(reach(told(change)), 5e6);
}

// Steps of 34.2 ms keep 0.6 of a core busy, 20.52 ms a step. The hook works 2 ms on each of four
// buckets, of which those of the last lengthen the step, to 36.2 ms: while it works, on two ranks,
// 2.567 cores are wanted.
TEST(Forecaster, WhereCoresAreShortAHooksWorkIsNotAllHidden) {
  const SleepingRun run;
  StepChange change;
  change.hook = HookWork{};
  change.hook->encode.latencyNs = 2e6;
  const auto told = [&](const std::optional<Cores>& cores) {
    RecordedRun recorded{run.steps(30), settings(run), 1, {}};
    recorded.cores = cores;
    return Forecaster::make(std::move(recorded)).value().forecast(change).value()[0];
  };
  const RankForecast unknown = told(std::nullopt);
  const RankForecast enough = told(Cores{3, 0.6, 2});
  EXPECT_NEAR(unknown.stepNs.value, 36.2e6, 1);
  EXPECT_EQ(enough.heldUpNs, 0);
  EXPECT_EQ(enough.stepNs.high, unknown.stepNs.high);
  const RankForecast scarce = told(Cores{2, 0.6, 2});
  const double held = 8e6 * (2.0 + 20.52 / 36.2) / 2 - 8e6;
  EXPECT_NEAR(scarce.heldUpNs, held, 1);
  EXPECT_NEAR(scarce.stepNs.value, enough.stepNs.value + held, 1);
  EXPECT_NEAR(scarce.exposedNs.value, enough.exposedNs.value + held, 1);
  EXPECT_GT(scarce.stepNs.high, enough.stepNs.high + held) << "how much of it waits is not known";
  EXPECT_LT(scarce.stepNs.low, enough.stepNs.low + held);
}

// Four transfers of 20.2 ms from 15 ms on, and 2 ms after them: of the 97.8 ms 1.2 cores were
// busy. With a tenth of the bytes a step would take 34.2 ms, and has 117.36 ms to compute.
TEST(Forecaster, AStepTakesNoLessThanItsProcessorTimeOverTheCores) {
  SleepingRun run;
  run.nsPerByte = 40;
  RecordedRun recorded{run.steps(30), settings(run), 1, {}};
  recorded.cores = Cores{2, 1.2, 2};
  const auto made = Forecaster::make(std::move(recorded));
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(made.value().forecast(StepChange{}).value()[0].heldUpNs, 0) << "it is as it was";
  const RankForecast told = made.value().forecast(planWith(run, 5), 0.1).value()[0];
  EXPECT_NEAR(told.stepNs.value, 117.36e6 / 2, 1);
  StepChange change;
  change.bytesTimes = 0.1;
  EXPECT_NEAR(made.value().replayedStepNs(change).value(), 117.36e6 / 2, 1);
  change.without = RankExcess{0, {}};
  EXPECT_NEAR(made.value().replayedStepNs(change).value(), 34.2e6, 1)
      << "what a rank does not compute then is not known";
}

TEST(Forecaster, NeedsAFewWholeSteps) {
  const SleepingRun run;
  EXPECT_EQ(whyNot({run.steps(5), settings(run), 1, {}}), "it can");
  EXPECT_THAT(whyNot({run.steps(4), settings(run), 1, {}}),
              StartsWith("only 4 of its steps with these buckets were recorded whole by all ranks, "
                         "and 5 are needed: every gradient"));
  EXPECT_THAT(whyNot({run.steps(1), settings(run), 1, {}}),
              StartsWith("only 1 of its steps with these buckets was recorded whole by all ranks"));
  EXPECT_THAT(whyNot({}), HasSubstr("only 0 of its steps"));
}

// All buckets are of one size, and nothing is known of the link.
TEST(Forecaster, WithoutSettingsItNeedsTransfersOfUnlikeSizes) {
  const SleepingRun run;
  RecordedRun recorded{run.steps(10), std::nullopt, 1, {}};
  EXPECT_THAT(whyNot(recorded), HasSubstr("too alike in size"));
  for (const std::uint64_t bytes : {4'096u, 65'536u, 1'048'576u}) {
    recorded.probes.push_back(
        {bytes, run.latencyNs + run.nsPerByte * static_cast<double>(bytes), false});
  }
  const auto probed = Forecaster::make(recorded);
  ASSERT_TRUE(probed.ok()) << probed.error().what;
  EXPECT_NEAR(probed.value().fit().cost.nsPerByte, run.nsPerByte, 1e-6);
  const auto told = probed.value().forecast(planWith(run, 20));
  ASSERT_TRUE(told.ok());
  EXPECT_NEAR(told.value()[0].exposedNs.value, exposedOf(run, 20, 1), 1e3);
}

TEST(Forecaster, DoesNotSpeakOfBucketsFarBeyondWhatWasMeasured) {
  SleepingRun run;
  run.layers = 100;
  run.perBucket = 3;  // the last is of one alone: 100 and 300 KB
  const auto made = Forecaster::make({run.steps(10), std::nullopt, 1, {}});
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(made.value().mostBytes(), 1'200'000u);
  EXPECT_TRUE(made.value().forecast(planWith(run, 12)).ok());
  const auto far = made.value().forecast(planWith(run, 13));
  ASSERT_FALSE(far.ok());
  EXPECT_THAT(far.error().what, HasSubstr("1.24 MiB are asked for"));
  const auto known = Forecaster::make({run.steps(10), settings(run), 1, {}});
  EXPECT_TRUE(known.value().forecast(planWith(run, 100)).ok());
}

// 0 ns a byte would make one bucket of all the best of plans.
TEST(Forecaster, DoesNotSpeakOfLargerBucketsWhereMoreBytesTookNoLonger) {
  SleepingRun run;
  run.layers = 16;
  run.perBucket = 3;
  run.nsPerByte = 0;
  const auto made = Forecaster::make({run.steps(10), std::nullopt, 1, {}});
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_TRUE(made.value().forecast(planWith(run, 2)).ok());
  const auto larger = made.value().forecast(planWith(run, 16));
  ASSERT_FALSE(larger.ok());
  EXPECT_THAT(larger.error().what, HasSubstr("more bytes took no longer"));
}

/// The last transfer of each step stands still for 30 ms, for no reason that a replay knows.
RecordedRun standingStill() {
  const SleepingRun run;
  RecordedRun recorded{run.steps(10), settings(run), 1, {}};
  for (StepRecord& step : recorded.steps) {
    for (BucketPart& part : step.buckets.back().parts) {
      part.endedNs = part.copyOutNs = part.copiedOutNs = part.endedNs + 3e7;
    }
    for (RankStep& rank : step.ranks) {
      rank.endNs += 3e7;
    }
  }
  return recorded;
}

// 0.2 ms and 4 ns for each of 500 KB are exposed without the 30.
TEST(Forecaster, AbstainsWhereItDoesNotReplayItsOwnSteps) {
  EXPECT_EQ(whyNot(standingStill()),
            "a replay of its own steps misses what was measured: 2.20 ms of exposed time on rank 0 "
            "where 32.20 ms were measured");
}

// 10 ms forward, 20 of gradients, 2.2 in flight, 2 of the optimizer: 34.2 without the 30. Nothing
// is exposed, since the ranks computed all the while.
TEST(Forecaster, AbstainsWhereItReplaysExposedTimeAndNotTheStep) {
  RecordedRun recorded = standingStill();
  for (StepRecord& step : recorded.steps) {
    for (RankStep& rank : step.ranks) {
      rank.computing = {{0, rank.endNs}};
    }
  }
  EXPECT_EQ(whyNot(recorded),
            "a replay of its own steps misses what was measured: steps of 34.20 ms on rank 0 where "
            "64.20 ms were measured");
}

}  // namespace
}  // namespace lockstep::cost
