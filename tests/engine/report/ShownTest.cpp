#include <gmock/gmock.h>

#include "engine/report/html/ShownRanks.h"
#include "engine/report/html/Timeline.h"

namespace lockstep::report::html {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

RunReport reportOf(int ranks) {
  RunReport report;
  for (int rank = 0; rank < ranks; ++rank) {
    report.ranks.emplace_back().rank = rank;
  }
  return report;
}

TEST(ShownRanks, AreAllOfAFew) {
  const ShownRanks shown = shownRanks(reportOf(3), 4);
  EXPECT_THAT(shown.ranks, ElementsAre(0, 1, 2));
  EXPECT_TRUE(shown.complete());
  EXPECT_EQ(shown.text(), "");
}

TEST(ShownRanks, AreOfManyThoseThatEndedBadlyTheUnlikeOnesAndTheMiddleOne) {
  RunReport report = reportOf(100);
  report.ranks[63].signal = 9;
  report.likeness.emplace();
  report.likeness->middle = 41;
  diagnosis::UnlikeRanks unlike;
  unlike.ranks = {77};
  report.likeness->unlike = {unlike};
  const ShownRanks shown = shownRanks(report, 5);
  EXPECT_THAT(shown.ranks, SizeIs(5));
  for (const int rank : {41, 63, 77}) {
    EXPECT_TRUE(shown.holds(rank)) << rank;
  }
  EXPECT_THAT(shown.text(),
              HasSubstr("Shown are 5 of 100 ranks: those that ended badly or are unlike the rest"));
}

/// Steps of one rank that took so long, the first of them warm-up.
ReportedRun runOf(const std::vector<double>& stepMs) {
  ReportedRun run;
  run.report.info.state = trace::RunState::kFinished;
  for (std::size_t step = 0; step < stepMs.size(); ++step) {
    analysis::StepOverlap& overlap = run.evidence.steps.emplace_back();
    overlap.times.step = static_cast<std::uint32_t>(step);
    overlap.times.stepMs = stepMs[step];
  }
  run.evidence.run.warmUp.firstMeasured = 1;
  return run;
}

std::vector<std::uint32_t> stepsOf(const std::vector<ShownIteration>& iterations) {
  std::vector<std::uint32_t> steps;
  for (const ShownIteration& iteration : iterations) {
    steps.push_back(iteration.step);
  }
  return steps;
}

TEST(ShownIterations, AreTheLongestMeasuredOnesAndOneThatIsAsLongAsMost) {
  const auto shown = shownIterations(runOf({90, 5, 9, 6, 30, 7, 8}), 6);
  EXPECT_THAT(stepsOf(shown), ElementsAre(4, 2, 6, 5));
  EXPECT_EQ(shown[0].why, "the longest: 30.00 ms on rank 0");
  EXPECT_EQ(shown[1].why, "number 2 by length: 9.00 ms on rank 0");
  EXPECT_EQ(shown[3].why, "as long as most: 7.00 ms on rank 0");
}

TEST(ShownIterations, OfAShortRunAreThoseThatThereAre) {
  EXPECT_THAT(stepsOf(shownIterations(runOf({90}), 0)), ElementsAre(0));
  EXPECT_THAT(shownIterations(runOf({}), 0), SizeIs(0));
}

TEST(ShownIterations, OfAFailedRunBeginWithItsEnd) {
  ReportedRun run = runOf({90, 5, 9});
  run.report.info.state = trace::RunState::kFailed;
  const auto shown = shownIterations(run, 3);
  EXPECT_THAT(stepsOf(shown), ElementsAre(3, 2, 1));
  EXPECT_EQ(shown[0].why, "the last of which anything was recorded");
}

TEST(ShownIterations, AreNoneOfWhichOnlySumsWereKept) {
  ReportedRun run = runOf({90, 5, 9});
  run.evidence.steps[2].times.kept = trace::KeptDetail::kSums;
  EXPECT_THAT(stepsOf(shownIterations(run, 2)), ElementsAre(1));
}

}  // namespace
}  // namespace lockstep::report::html
