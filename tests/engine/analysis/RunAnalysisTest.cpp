#include "engine/analysis/RunAnalysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/trace/Event.h"
#include "engine/trace/WholeRun.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using testing::HasSubstr;
using trace::EventKind;

/// Step s lasts 10 ms with the communication of each rank 4 ms long, `exposed[s]` of it after
/// the backward. Rank 1 arrives `late` later than rank 0.
HandMadeRun twoRanks(const std::vector<std::uint64_t>& exposed, std::uint64_t late = 0) {
  HandMadeRun run(2);
  for (std::uint32_t s = 0; s < exposed.size(); ++s) {
    const std::uint64_t t0 = s * 20'000;
    const std::uint64_t backwardEnd = t0 + 8'000;
    for (int rank = 0; rank < 2; ++rank) {
      const std::uint64_t end = backwardEnd + exposed[s];
      run.add(rank, EventKind::kForward, t0, t0 + 2'000, s);
      run.add(rank, EventKind::kBackward, t0 + 2'000, backwardEnd, s);
      run.addCollective(rank, end - 4'000 + (rank == 1 ? late : 0), end, s, s);
      run.add(rank, EventKind::kStep, t0, t0 + 10'000, s);
    }
  }
  return run;
}

TEST(RunAnalysisTest, LeavesTheWarmUpOutAndSaysSo) {
  HandMadeRun run = twoRanks({1'900, 1'800, 400, 1'200, 800});
  run.tables.layouts = {{0, 0, "construction", {}}, {1, 1, "rebuild", {}}};
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.warmUp.firstMeasured, 2);
  EXPECT_THAT(analysis.warmUp.reason, HasSubstr("steps 0 to 1"));
  ASSERT_EQ(analysis.ranks.size(), 2);
  EXPECT_EQ(analysis.ranks[0].measuredSteps, 3);
  EXPECT_EQ(analysis.exposedMs, 0.8);
  EXPECT_EQ(analysis.overlapPercent, 80);
  EXPECT_EQ(analysis.ranks[1].exposedMs, 0.8);
  EXPECT_EQ(analysis.ranks[1].inFlightMs, 4);
  EXPECT_EQ(analysis.ranks[1].stepMs, 10);
  EXPECT_EQ(analysis.ranks[1].forwardMs, 2);
  EXPECT_EQ(analysis.stepsPerSecond, 100);
  EXPECT_EQ(analysis.stepRows.size(), 10) << "the steps themselves are all there";
}

TEST(RunAnalysisTest, LeavesOneStepOutWithoutARebuild) {
  EXPECT_EQ(warmUp({{0, 0, "construction", {}}}).firstMeasured, 1);
  EXPECT_EQ(warmUp({{1, 3, "rebuild", {}}}).reason,
            "steps 0 to 3 are left out as warm-up: the buckets were rebuilt for step 3");
  EXPECT_EQ(analyse(twoRanks({100, 200}).data()).ranks[0].measuredSteps, 1);
}

TEST(RunAnalysisTest, LeavesTheFirstStepOfAResumedRunOut) {
  HandMadeRun run = twoRanks({1'900, 400, 400});
  for (trace::SpanRow& span : run.spans) {
    span.step += 300;
  }
  EXPECT_EQ(analyse(run.data()).warmUp.reason, "step 300 is left out as warm-up");
  EXPECT_EQ(analyse(run.data()).exposedMs, 0.4);
  EXPECT_EQ(analyse(run.data()).ranks[0].measuredSteps, 2);

  run.tables.layouts = {{0, 300, "construction", {}}, {1, 301, "rebuild", {}}};
  EXPECT_THAT(analyse(run.data()).warmUp.reason, HasSubstr("steps 300 to 301"));
  EXPECT_EQ(analyse(run.data()).ranks[0].measuredSteps, 1);
}

TEST(RunAnalysisTest, HasNoMediansOfARunThatIsAllWarmUp) {
  const RunAnalysis analysis = analyse(twoRanks({100}).data());
  EXPECT_EQ(analysis.stepsPerSecond, std::nullopt);
  EXPECT_EQ(analysis.overlapPercent, std::nullopt);
  EXPECT_EQ(analysis.ranks.at(0).measuredSteps, 0);
  EXPECT_EQ(analysis.ranks.at(0).stepMs, std::nullopt);
  EXPECT_EQ(analysis.stepRows.size(), 2);
}

TEST(RunAnalysisTest, DoesNotCountWaitingForALateRankAsWorkOfTheCheck) {
  HandMadeRun run = twoRanks({400, 400});  // 40 ms of steps in all
  for (std::uint32_t step = 0; step < 2; ++step) {
    const std::uint64_t begin = step * 20'000;
    run.addCheck(0, begin + 1'000, begin + 4'100, step, step);
    run.addCheck(1, begin + 4'000, begin + 4'300, step, step);
  }
  run.addCheck(0, 30'000, 39'000, 2, 1);  // rank 1's record was dropped
  const std::optional<CheckCost> checks = analyse(run.data()).checks;
  ASSERT_TRUE(checks.has_value());
  EXPECT_EQ(checks->calls, 2);
  EXPECT_NEAR(checks->ownMs, 0.8, 1e-9);
  EXPECT_NEAR(checks->waitingMs, 6, 1e-9);
  EXPECT_NEAR(checks->ownPercent, 2, 1e-9);
  EXPECT_NEAR(checks->waitingPercent, 15, 1e-9);
  EXPECT_FALSE(analyse(twoRanks({400, 400}).data()).checks.has_value());
}

TEST(RunAnalysisTest, SaysNothingOfAnEmptyRun) {
  const RunAnalysis analysis = analyse(RunData{});
  EXPECT_TRUE(analysis.ranks.empty());
  EXPECT_EQ(analysis.exposedMs, std::nullopt);
  EXPECT_EQ(analysis.lateRank, std::nullopt);
}

TEST(RunAnalysisTest, HasStepTimesButNoOverlapOfARankAlone) {
  HandMadeRun run(1);
  for (std::uint32_t s = 0; s < 3; ++s) {
    run.add(0, EventKind::kStep, s * 10'000, s * 10'000 + 5'000, s);
  }
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.stepsPerSecond, 200);
  EXPECT_EQ(analysis.overlapPercent, std::nullopt);
  EXPECT_EQ(analysis.exposedMs, std::nullopt);
  EXPECT_EQ(analysis.ranks.at(0).waitingMs, std::nullopt);
  EXPECT_EQ(analysis.ranks.at(0).overlapPercent, std::nullopt);
}

TEST(RunAnalysisTest, LeavesOutStepsInWhichEventsWereDropped) {
  HandMadeRun run = twoRanks({0, 400, 1'900, 400});
  run.add(1, EventKind::kGap, 45'000, 45'100, 2, 9);
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.ranks[0].measuredSteps, 3);
  EXPECT_EQ(analysis.ranks[1].measuredSteps, 2);
  EXPECT_EQ(analysis.ranks[1].incompleteSteps, 1);
  EXPECT_EQ(analysis.ranks[1].exposedMs, 0.4);
}

TEST(RunAnalysisTest, NamesTheRankThatTheOthersWaitFor) {
  const RunAnalysis analysis = analyse(twoRanks(std::vector<std::uint64_t>(11), 1'500).data());
  EXPECT_EQ(analysis.lateRank, 1);
  EXPECT_EQ(analysis.lateShare, 1);
  EXPECT_EQ(analysis.ranks[1].lastArrivals, 10);
  EXPECT_EQ(analysis.ranks[1].waitingCausedMs, 15);
  EXPECT_EQ(analysis.ranks[0].waitingMs, 1.5);
  EXPECT_EQ(analysis.ranks[0].transferMs, 2.5);
  EXPECT_EQ(analysis.ranks[1].waitingMs, 0);
}

TEST(RunAnalysisTest, BlamesNobodyForACollectiveThatOneRankHasNoRecordOf) {
  HandMadeRun run(3);
  for (std::uint32_t s = 0; s < 12; ++s) {
    const std::uint64_t t0 = s * 20'000;
    for (int rank = 0; rank < 3; ++rank) {
      run.add(rank, EventKind::kStep, t0, t0 + 10'000, s);
      if (rank == 2 && s == 11) {
        continue;  // dropped: it was the last here, too
      }
      run.addCollective(rank, t0 + 1'000 * (static_cast<std::uint64_t>(rank) + 1), t0 + 5'000, s,
                        s);
    }
  }
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.lateRank, 2);
  EXPECT_EQ(analysis.lateShare, 1);
  EXPECT_EQ(analysis.ranks[1].lastArrivals, 0);
  EXPECT_EQ(analysis.ranks[2].lastArrivals, 10);
  EXPECT_EQ(analysis.ranks[0].waitingMs, 2) << "step 11, where that is unknown, is left out";
}

TEST(RunAnalysisTest, NamesNobodyWhenNobodyWaited) {
  EXPECT_EQ(analyse(twoRanks({0, 0, 0}).data()).lateRank, std::nullopt);
}

TEST(RunAnalysisTest, GivesTheSpeedOfTheSlowestRank) {
  HandMadeRun run(2);
  for (std::uint32_t s = 0; s < 3; ++s) {
    run.add(0, EventKind::kStep, s * 10'000, s * 10'000 + 5'000, s);
    run.add(1, EventKind::kStep, s * 10'000, s * 10'000 + 8'000, s);
  }
  EXPECT_EQ(analyse(run.data()).stepsPerSecond, 125);
}

TEST(RunAnalysisTest, AnalysesTheGoldenRun) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("lockstep-analysis-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::filesystem::path(LOCKSTEP_GOLDEN) / "run-1.0.lockstep",
                             folder / "run.lockstep",
                             std::filesystem::copy_options::overwrite_existing);
  const auto data = readRunData(folder / "run.lockstep");
  ASSERT_TRUE(data.ok()) << data.error().message();
  const RunAnalysis analysis = analyse(data.value());
  auto again = trace::RunFileReader::open(folder / "run.lockstep");
  ASSERT_TRUE(again.ok()) << again.error().message();
  RunData piecewise;
  ASSERT_TRUE(trace::readWholeRun(
                  *again.value(),
                  [&piecewise](const trace::RunUpdate& update) { piecewise.take(update); }, 2)
                  .ok());
  EXPECT_EQ(piecewise.tracks.size(), data.value().tracks.size());
  EXPECT_EQ(piecewise.layouts.size(), data.value().layouts.size());
  EXPECT_EQ(piecewise.spans.size(), data.value().spans.size());
  EXPECT_FALSE(piecewise.tracks.empty());
  std::filesystem::remove_all(folder);
  // Steps of 0.49 ms, of which step 2 of rank 0 is measured; on rank 1 it has a gap.
  EXPECT_EQ(analysis.warmUp.firstMeasured, 2);
  EXPECT_NEAR(analysis.stepsPerSecond.value(), 1e3 / 0.49, 1e-6);
  EXPECT_EQ(analysis.overlapPercent, 0) << "its only gradient is ready when the first begins";
  EXPECT_EQ(analysis.ranks.at(0).measuredSteps, 1);
  EXPECT_EQ(analysis.ranks.at(1).incompleteSteps, 1);
  EXPECT_EQ(analysis.collectives.size(), 6);
}

}  // namespace
}  // namespace lockstep::analysis
