#include "engine/analysis/Compare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/ComparedRuns.h"

namespace lockstep::analysis {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using trace::EventKind;

const MetricRow& rowOf(const Comparison& comparison, Metric metric) {
  for (const MetricRow& row : comparison.metrics) {
    if (row.metric == metric) {
      return row;
    }
  }
  throw std::runtime_error("no such row");
}

bool holds(const Comparison& comparison, Metric metric) {
  for (const MetricRow& row : comparison.metrics) {
    if (row.metric == metric) {
      return true;
    }
  }
  return false;
}

// A's eight steps take 10.001 .. 10.008 ms, B's 20.001 .. 20.008: means 10.0045 and 20.0045.
TEST(CompareTest, TwoRunsThatDifferInEveryIterationAreStillTooFew) {
  Runs runs;
  runs.add(stepsOf(10'000, 8));
  runs.add(stepsOf(20'000, 8));
  const Comparison comparison = compare(runs.all);
  const MetricRow& row = rowOf(comparison, Metric::kStep);
  EXPECT_DOUBLE_EQ(row.values[0].value(), 10.0045);
  EXPECT_DOUBLE_EQ(row.values[1].value(), 20.0045);
  ASSERT_EQ(row.deltas.size(), 1u);
  const Delta& delta = row.deltas[0];
  EXPECT_DOUBLE_EQ(delta.difference.value(), 10.0);
  EXPECT_NEAR(delta.percent.value(), 99.955, 0.001);
  EXPECT_NEAR(delta.low.value(), 10.0, 0.01);
  EXPECT_NEAR(delta.high.value(), 10.0, 0.01);
  EXPECT_EQ(delta.verdict, Verdict::kTooFewRuns);
  EXPECT_EQ(delta.reason,
            "One run each: B's iterations are greater than A's beyond chance, but two runs of one "
            "experiment may be as far apart. Repeat both to tell.");
  EXPECT_EQ(comparison.runs[0].counts, "8 iterations measured, 1 of warm-up left out");
}

TEST(CompareTest, TwoRunsOfOneExperimentAreRepeatsAndNeitherIsWorse) {
  Runs runs;
  runs.add(stepsOf(10'000, 8), 7);
  runs.add(stepsOf(28'000, 8), 7);
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_EQ(delta.verdict, Verdict::kSameExperiment);
  EXPECT_EQ(delta.reason,
            "A and B ran the same experiment: two runs of it are this far apart here.");
}

// Like A 10.0 and 10.2 ms, like B 20.0 and 20.2: each mean is known to 0.1, the difference to
// sqrt(0.02), on 2 degrees, whose t for 99 % is 9.925: 10 ± 1.40.
TEST(CompareTest, RepeatsTellWhatTheExperimentsDifferBy) {
  Runs runs;
  runs.add(stepsOf(10'000, 8), 1);
  runs.add(stepsOf(20'000, 8), 2);
  runs.add(stepsOf(10'200, 8), 1);
  runs.add(stepsOf(20'200, 8), 2);
  const MetricRow row = rowOf(compare(runs.all), Metric::kStep);
  ASSERT_EQ(row.deltas.size(), 3u);
  EXPECT_EQ(row.deltas[0].verdict, Verdict::kWorse);
  EXPECT_NEAR(row.deltas[0].low.value(), 10 - 9.925 * std::sqrt(0.02), 0.001);
  EXPECT_NEAR(row.deltas[0].high.value(), 10 + 9.925 * std::sqrt(0.02), 0.001);
  EXPECT_EQ(row.deltas[0].reason, "Means of 2 runs like A and 2 like B (Welch's t, 99 %) differ.");
  EXPECT_EQ(row.deltas[1].verdict, Verdict::kSameExperiment);
  EXPECT_EQ(row.deltas[2].verdict, Verdict::kWorse);
}

// A is repeated and C is not: what is missing is another run like C.
TEST(CompareTest, SaysOfWhichSideThereIsOneRunAlone) {
  Runs runs;
  runs.add(stepsOf(10'000, 8), 1);
  runs.add(stepsOf(10'200, 8), 1);
  runs.add(stepsOf(20'000, 8), 2);
  runs.add(stepsOf(20'000, 8), 3);
  runs.add(stepsOf(20'200, 8), 3);
  const MetricRow row = rowOf(compare(runs.all), Metric::kStep);
  EXPECT_EQ(row.deltas[1].verdict, Verdict::kTooFewRuns);
  EXPECT_STREQ(name(row.deltas[1].verdict), "too few runs");
  EXPECT_EQ(row.deltas[1].reason,
            "One run like C: C's iterations are greater than A's beyond chance, but two runs of "
            "one experiment may be as far apart. Repeat C to tell.");
  Runs other;
  other.add(stepsOf(10'000, 8), 1).outcome.finalLoss = 1;
  other.add(stepsOf(20'000, 8), 2).outcome.finalLoss = 2;
  other.add(stepsOf(20'200, 8), 2).outcome.finalLoss = 2;
  const Comparison comparison = compare(other.all);
  EXPECT_THAT(rowOf(comparison, Metric::kStep).deltas[0].reason,
              testing::AllOf(StartsWith("One run like A: B's"), EndsWith("Repeat A to tell.")));
  EXPECT_EQ(rowOf(comparison, Metric::kFinalLoss).deltas[0].reason,
            "Not tested: a run has one value of it. Repeat A to tell chance from effect.");
}

// Like A 10 and 13 ms, like B 12 and 16: as far apart as repeats.
TEST(CompareTest, ADifferenceThatRepeatsHaveTooIsNotSignificant) {
  Runs runs;
  runs.add(stepsOf(10'000, 8), 1);
  runs.add(stepsOf(12'000, 8), 2);
  runs.add(stepsOf(13'000, 8), 1);
  runs.add(stepsOf(16'000, 8), 2);
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_EQ(delta.verdict, Verdict::kNoDifference);
  EXPECT_THAT(delta.reason, HasSubstr("do not differ by more than repeats do"));
}

// The difference of the table and that of the reasons are the same number.
TEST(CompareTest, TheTableAndTheReasonsAgree) {
  Runs runs;
  runs.add(stepsOf(10'000, 8));
  HandMadeRun uneven = stepsOf(10'000, 8);
  uneven.spans.back().durationTicks = 90'000;
  runs.add(uneven);
  const Comparison comparison = compare(runs.all);
  EXPECT_NEAR(rowOf(comparison, Metric::kStep).deltas[0].difference.value(),
              comparison.why[0].stepDeltaMs, 1e-9);
}

// 8 steps of together 80.036 ms: 99.955 a second.
TEST(CompareTest, StepsASecondAreThoseOfTheMeasuredSteps) {
  Runs runs;
  runs.add(stepsOf(20'000, 8));
  runs.add(stepsOf(10'000, 8));
  const MetricRow row = rowOf(compare(runs.all), Metric::kStepsPerSecond);
  EXPECT_NEAR(row.values[1].value(), 99.955, 0.0001);
  EXPECT_EQ(row.deltas[0].verdict, Verdict::kTooFewRuns);
  EXPECT_GT(row.deltas[0].low.value(), 0);
}

// 10.001 .. 10.008 against 10.002 .. 10.009: as mixed as two runs can be.
TEST(CompareTest, WhatIterationsOfOneRunDifferByIsNotSignificant) {
  Runs runs;
  runs.add(stepsOf(10'000, 8));
  runs.add(stepsOf(10'001, 8));
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_NEAR(delta.difference.value(), 0.001, 1e-9);
  EXPECT_EQ(delta.verdict, Verdict::kNoDifference);
  EXPECT_THAT(delta.reason, HasSubstr("Not significant"));
}

TEST(CompareTest, TooFewIterationsAreNotTestedAndSaySo) {
  Runs runs;
  runs.add(stepsOf(10'000, 3));
  runs.add(stepsOf(20'000, 8));
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_EQ(delta.verdict, Verdict::kUntested);
  EXPECT_FALSE(delta.low.has_value());
  EXPECT_EQ(delta.reason,
            "Not tested: A has 3 measured iterations of it and B has 8; 8 of each are needed.");
}

TEST(CompareTest, WhatARunHasOneValueOfIsNotTested) {
  Runs runs;
  runs.add(stepsOf(10'000, 8)).outcome.testAccuracy = 0.94;
  runs.add(stepsOf(10'000, 8)).outcome.testAccuracy = 0.955;
  const Comparison comparison = compare(runs.all);
  const MetricRow& row = rowOf(comparison, Metric::kTestAccuracy);
  EXPECT_DOUBLE_EQ(row.values[1].value(), 95.5);
  EXPECT_NEAR(row.deltas[0].difference.value(), 1.5, 1e-9);
  EXPECT_FALSE(row.deltas[0].percent.has_value()) << "a percentage of a percentage misleads";
  EXPECT_EQ(row.deltas[0].verdict, Verdict::kUntested);
  EXPECT_THAT(row.deltas[0].reason, HasSubstr("a run has one value of it"));
  EXPECT_FALSE(holds(comparison, Metric::kFinalLoss)) << "no run knows it";
}

TEST(CompareTest, OneValueARunThatIsTheSameInBothIsEqual) {
  Runs runs;
  runs.add(stepsOf(10'000, 8), 1).outcome.finalLoss = 0.25;
  runs.add(stepsOf(20'000, 8), 2).outcome.finalLoss = 0.25;
  const Delta delta = rowOf(compare(runs.all), Metric::kFinalLoss).deltas[0];
  EXPECT_EQ(delta.verdict, Verdict::kEqual);
  EXPECT_EQ(delta.reason, "The same in both runs.");
}

TEST(CompareTest, AValueThatOneRunDoesNotKnowIsUnknownAndNotNothing) {
  Runs runs;
  runs.add(stepsOf(10'000, 8)).outcome.finalLoss = 0.25;
  runs.add(stepsOf(10'000, 8)).outcome.finalLoss = std::nan("");
  const MetricRow row = rowOf(compare(runs.all), Metric::kFinalLoss);
  EXPECT_FALSE(row.values[1].has_value());
  EXPECT_EQ(row.deltas[0].verdict, Verdict::kUnknown);
  EXPECT_FALSE(row.deltas[0].difference.has_value());
  EXPECT_EQ(row.deltas[0].reason, "Unknown in run B.");
}

// Two ranks that meet in one collective of 400 bytes a step: the mean over ranks is what one
// rank sends.
TEST(CompareTest, BytesAStepAreWhatOneRankHandsOver) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, EventKind::kStep, 0, 1'000, 0);
    run.add(rank, EventKind::kStep, 1'000, 2'000, 1);
    run.addCollective(rank, 1'100, 1'200, 1, 1);
    run.addCollective(rank, 1'300, 1'400, 2, 1);
    run.addCollective(rank, 1'500, 1'600, 3, 1, trace::Operation::kRecv);
  }
  EXPECT_EQ(iterationSamples(run.data(), analyse(run.data()), Metric::kPayload),
            std::vector<double>{800});
}

TEST(CompareTest, OnlyKeysThatDifferAreListedBesideEachOther) {
  const auto keys = differingKeys(
      {settingsOf("name = \"a\"\n[hook]\nname = \"allreduce\"\n[train]\nsteps = 3\n"),
       settingsOf("name = \"b\"\n[hook]\nname = \"topk\"\ndensity = 0.1\n[train]\nsteps = 3\n"
                  "[ddp]\nbucket_cap_mb = 1.0\n")});
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].key, "ddp.bucket_cap_mb");
  EXPECT_EQ(keys[0].label, "Bucket cap");
  EXPECT_EQ(keys[0].unit, "MiB");
  EXPECT_EQ(keys[1].key, "hook.name");
  EXPECT_EQ(keys[1].values, (std::vector<std::optional<std::string>>{"\"allreduce\"", "\"topk\""}));
  EXPECT_EQ(keys[2].key, "hook.density");
  EXPECT_EQ(keys[2].values, (std::vector<std::optional<std::string>>{std::nullopt, "0.1"}));
}

TEST(CompareTest, AJobOfPyTorchIsComparedInWhatItTells) {
  const auto keys = differingKeys(
      {settingsOf("[model]\nkind = \"mlp\"\n[processes]\nbackend = \"gloo\"\nworld_size = 4\n"
                  "[ddp]\nbucket_cap_mb = 25.0\nstatic_graph = false\n"
                  "find_unused_parameters = false\n"),
       jobOf("python train.py", "26214400")});
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].key, "processes.world_size");
  EXPECT_EQ(keys[0].values, (std::vector<std::optional<std::string>>{"4", "2"}));
  EXPECT_EQ(keys[1].key, "ddp.find_unused_parameters");
  EXPECT_EQ(keys[1].values, (std::vector<std::optional<std::string>>{"false", "true"}));
}

TEST(CompareTest, JobsOfPyTorchDifferInTheirCommandsAndInWhatTheyTell) {
  const auto keys = differingKeys(
      {jobOf("python train.py", "26214400"), jobOf("python train.py --cap 1", "1048576")});
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].key, "ddp.bucket_cap_mb");
  EXPECT_EQ(keys[0].values, (std::vector<std::optional<std::string>>{"25", "1"}));
  EXPECT_EQ(keys[1].key, "command");
}

TEST(CompareTest, AMissingKeyOfAJobHidesNoDifferenceAmongExperiments) {
  const auto keys = differingKeys({settingsOf("[train]\nseed = 1\n"), jobOf("a", "1048576"),
                                   settingsOf("[train]\nseed = 2\n")});
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].values, (std::vector<std::optional<std::string>>{"1", std::nullopt, "2"}));
}

TEST(CompareTest, AJobIsNoRepeatOfAnExperimentAndOneOfAJobOfTheSameCommand) {
  Runs runs;
  runs.add(stepsOf(10'000, 8)).settings = settingsOf("[processes]\nworld_size = 2\n");
  runs.add(stepsOf(10'000, 8)).settings = jobOf("a", "1048576");
  const Comparison mixed = compare(runs.all);
  EXPECT_NE(rowOf(mixed, Metric::kStep).deltas[0].verdict, Verdict::kSameExperiment);
  EXPECT_EQ(mixed.keysNote,
            "B is a job of PyTorch: what the script sets without telling DDP (model, data, "
            "optimizer) is not known, and not compared.");
  runs.all[0].settings = jobOf("a", "1048576");
  const Comparison jobs = compare(runs.all);
  EXPECT_EQ(rowOf(jobs, Metric::kStep).deltas[0].verdict, Verdict::kSameExperiment);
  EXPECT_EQ(rowOf(jobs, Metric::kStep).deltas[0].reason,
            "A and B ran the same command with the same settings of DDP: unless the script was "
            "changed, two runs of it are this far apart here.");
  EXPECT_THAT(jobs.keysNote, HasSubstr("A, B are jobs of PyTorch: "));
}

TEST(CompareTest, TheLossOfAJobIsItsLast) {
  const LastMetrics metrics{{"loss", {{0, 1.0}, {1, 2.0}}}};
  EXPECT_EQ(outcomeOf(metrics, {}, {}).finalLoss, 1.5);
  EXPECT_EQ(outcomeOf({{"loss", {{0, 1.0}}}, {"final_loss", {{0, 0.5}}}}, {}, {}).finalLoss, 0.5);
}

// A: rank 1 is 1 ms late, transfer 2 ms. B: 3 ms late, transfer 2.5 ms. Means over the two ranks:
//   waiting for rank 1   A (1 + 0) / 2 = 0.5    B (3 + 0) / 2 = 1.5      +1.0
//   transfer             A 2                    B 2.5                    +0.5
//   else                 A 10 - 4 - 2 - 0.5 = 3.5   B 10 - 4 - 2.5 - 1.5 = 2   -1.5
// The step is as long in both: the reasons add up to 0, the exposed ones to 1.5.
TEST(CompareTest, ReasonsAreRankedAndAddUpToTheDifference) {
  Runs runs;
  runs.add(exchange(1'000, 2'000));
  runs.add(exchange(3'000, 2'500));
  const Why why = compare(runs.all).why[0];
  ASSERT_EQ(why.reasons.size(), 3u);
  EXPECT_EQ(why.reasons[0].key, (CauseKey{Cause::kOther}));
  EXPECT_EQ(why.reasons[1].key, (CauseKey{Cause::kWaiting, 3, 1}));
  EXPECT_EQ(
      why.reasons[1].sentence,
      "Exposed waiting for rank 1 in bucket 3 takes 1.00 ms more a step (0.50 \u2192 1.50 ms).");
  EXPECT_EQ(why.reasons[1].place->rank, 0);
  EXPECT_EQ(why.reasons[1].place->step, 1u);
  EXPECT_EQ(why.reasons[2].key, (CauseKey{Cause::kTransfer, 3}));
  EXPECT_DOUBLE_EQ(why.reasons[2].deltaMs, 0.5);
  double sum = 0;
  for (const Reason& reason : why.reasons) {
    sum += reason.deltaMs;
  }
  EXPECT_NEAR(sum, why.stepDeltaMs, 1e-9);
  EXPECT_NEAR(why.stepDeltaMs, 0, 1e-9);
  EXPECT_DOUBLE_EQ(why.exposedDeltaMs, 1.5);
  EXPECT_THAT(why.summary, HasSubstr("exposed communication 1.50 ms more"));
  EXPECT_EQ(why.reasons[2].sentence,
            "Exposed transfer of bucket 3 takes 0.50 ms more a step (2.00 \u2192 2.50 ms).");
}

/// A's measured step computes; B's has a millisecond of each other cause.
TEST(CompareTest, EveryCauseOfADifferenceIsSaid) {
  const auto made = [](bool busy) {
    HandMadeRun run(2);
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, EventKind::kStep, 0, 0, 0);
      run.add(rank, EventKind::kStep, 0, 10'000, 1);
      run.add(rank, EventKind::kBackward, 0, busy ? 4'000 : 10'000, 1);
    }
    if (busy) {
      const auto bucket = [&run] { run.spans.back().bucket = 3; };
      run.add(0, EventKind::kBucketReady, 2'000, 2'000, 1), bucket();
      run.add(0, EventKind::kHookEncode, 4'000, 5'000, 1), bucket();
      run.addCollective(0, 6'000, 7'000, 1, 1);  // rank 1 has no record of it
      run.add(0, EventKind::kHookDecode, 7'000, 8'000, 1), bucket();
      run.addCollective(0, 8'000, 9'000, 2, 1, trace::Operation::kSend);
      run.spans.back().bucket = trace::kNoBucket;
      run.add(1, EventKind::kOffCore, 0, 2'000, 1, 1'000'000);
      run.add(1, EventKind::kOffCore, 2'000, 4'000, 1, 1'000'000);
      run.addCollective(1, 3'000, 4'000, 3, 1, trace::Operation::kRecv);
    }
    return run;
  };
  Runs runs;
  runs.add(made(false));
  runs.add(made(true));
  const Why why = compare(runs.all).why[0];
  std::string all = why.summary;
  for (const Reason& reason : why.reasons) {
    all += "\n" + reason.sentence;
  }
  EXPECT_THAT(all, HasSubstr("B's mean step takes 0 ms more than A's (10.00 \u2192 10.00 ms): "
                             "exposed communication "));
  for (const char* subject :
       {"Having no core takes ", "Having no core, communication in flight, takes ",
        "Exposed communication of bucket 3, waiting and transfer together, takes ",
        "Exposed communication of what has no bucket, waiting",
        "Encoding of bucket 3 by the hook takes ", "Decoding of bucket 3 by the hook takes ",
        "Launch of bucket 3 once it is ready takes ",
        "All else (data, copies, bookkeeping) takes "}) {
    EXPECT_THAT(all, HasSubstr(subject));
  }
}

// Iterations of 5 and 15 ms in both: what is between the runs is nothing beside that.
TEST(CompareTest, RunsThatDifferLessThanTheirIterationsAreNotSaidToDiffer) {
  const auto swinging = [](std::uint64_t more) {
    HandMadeRun run(1);
    run.add(0, EventKind::kStep, 0, 500'000, 0);
    for (std::uint32_t step = 1; step <= 40; ++step) {
      const std::uint64_t at = 1'000'000 + 100'000 * std::uint64_t{step};
      run.add(0, EventKind::kStep, at, at + (step * 7 % 5 < 2 ? 5'000 : 15'000) + more, step);
    }
    return run;
  };
  Runs runs;
  runs.add(swinging(0));
  runs.add(swinging(100));
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_EQ(delta.verdict, Verdict::kNoDifference);
  EXPECT_EQ(delta.reason,
            "Not significant: iterations of one run differ as much (block bootstrap).");
}

TEST(CompareTest, WhatNoIterationHasOtherwiseIsEqualAndNotInsignificant) {
  const auto constant = [] {
    HandMadeRun run(1);
    for (std::uint32_t step = 0; step <= 40; ++step) {
      const std::uint64_t at = 100'000 * std::uint64_t{step};
      run.add(0, EventKind::kStep, at, at + 10'000, step);
    }
    return run;
  };
  Runs runs;
  runs.add(constant(), 1);
  runs.add(constant(), 2);
  const Delta delta = rowOf(compare(runs.all), Metric::kStep).deltas[0];
  EXPECT_STREQ(name(delta.verdict), "equal");
  EXPECT_EQ(delta.difference, 0);
  EXPECT_EQ(delta.reason, "The same in every measured iteration of both.");
}

// 10.000 .. 10.039 ms in both, as the bytes of a run of which every tenth iteration sends more.
TEST(CompareTest, WhatVariesAlikeInBothIsEqual) {
  Runs runs;
  runs.add(stepsOf(10'000, 40), 1);
  runs.add(stepsOf(10'000, 40), 2);
  EXPECT_EQ(rowOf(compare(runs.all), Metric::kStep).deltas[0].verdict, Verdict::kEqual);
}

TEST(CompareTest, IterationsThatLostEventsAreCountedApart) {
  Runs runs;
  HandMadeRun gap = stepsOf(10'000, 8);
  gap.add(0, EventKind::kGap, 1'100'500, 1'100'600, 2, 12);
  runs.add(gap);
  runs.add(stepsOf(10'000, 8));
  EXPECT_EQ(compare(runs.all).runs[0].counts,
            "7 iterations measured, 1 of warm-up left out, 1 with lost events left out");
}

TEST(CompareTest, WaitsForACoreThatOnlyOneRunKnowsAreSaid) {
  HandMadeRun waits = exchange(1'000, 2'000);
  for (std::uint32_t step = 0; step < 2; ++step) {
    waits.add(0, EventKind::kOffCore, 20'000 * step + 1'000, 20'000 * step + 2'000, step,
              1'000'000);
  }
  Runs runs;
  runs.add(waits);
  runs.add(exchange(1'000, 2'500)).settings = jobOf("a", "1048576");
  EXPECT_THAT(compare(runs.all).why[0].summary,
              HasSubstr(" A had no core for 0.50 ms a step; of B that is not known and counts as "
                        "computing, so that their overlap and exposed communication are not "
                        "alike."));
  runs.all[1].settings.coreWaits = true;
  EXPECT_THAT(compare(runs.all).why[0].summary, testing::Not(HasSubstr("had no core")));
}

TEST(CompareTest, ARunWithoutMeasuredIterationsIsSaidToHaveNone) {
  Runs runs;
  runs.add(HandMadeRun(2));
  runs.add(stepsOf(10'000, 8));
  const Comparison comparison = compare(runs.all);
  EXPECT_EQ(comparison.runs[0].measuredIterations, 0u);
  EXPECT_TRUE(comparison.why[0].reasons.empty());
  EXPECT_THAT(comparison.why[0].summary, HasSubstr("Run A has no measured iteration"));
  EXPECT_EQ(rowOf(comparison, Metric::kStep).deltas[0].verdict, Verdict::kUnknown);
}

TEST(CompareTest, ThreeRunsAreEachSetAgainstTheFirst) {
  Runs runs;
  runs.add(stepsOf(10'000, 8));
  runs.add(stepsOf(20'000, 8));
  runs.add(stepsOf(5'000, 8));
  const Comparison comparison = compare(runs.all);
  const MetricRow& row = rowOf(comparison, Metric::kStep);
  EXPECT_EQ(row.deltas[0].verdict, Verdict::kTooFewRuns);
  EXPECT_EQ(row.deltas[1].verdict, Verdict::kTooFewRuns);
  EXPECT_NEAR(row.deltas[1].difference.value(), -5, 1e-9);
  ASSERT_EQ(comparison.why.size(), 2u);
  EXPECT_THAT(comparison.why[1].summary, HasSubstr("C's mean step takes 5.00 ms less than A's"));
}

}  // namespace
}  // namespace lockstep::analysis
