#include "engine/diagnosis/Diagnose.h"

#include <gmock/gmock.h>

#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

using test::addSpan;
using test::healthy;
using testing::StartsWith;

TEST(DiagnoseTest, TellsWhatIsWrongFirstAndThenWhatCostsMost) {
  Evidence evidence;
  evidence.measuredSteps = 20;
  evidence.info.state = trace::RunState::kFailed;
  evidence.info.failure = "rank 0 said so";
  evidence.run.lateness = {{0, 5, cost::MeanInterval{5, 4, 6}, true},
                           {2, 9, cost::MeanInterval{9, 8, 10}, true}};
  const Diagnosis diagnosis = diagnose(evidence);
  ASSERT_EQ(diagnosis.findings.size(), 3u);
  EXPECT_EQ(diagnosis.findings[0].rule, "failed");
  EXPECT_EQ(diagnosis.findings[1].place.rank, 2);
  EXPECT_EQ(diagnosis.findings[2].place.rank, 0);
  const std::string text = textOf(diagnosis);
  EXPECT_NE(text.find("1. The run failed\n   Rank 0 said so.\n   Look at what the ranks wrote "
                      "last: the log has it.\n2. Rank 2 is late\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Without it a step takes at most 9.00 ms less (8.00 to 10.00)."),
            std::string::npos)
      << text;
  EXPECT_EQ(headlineOf(diagnosis.findings[1]),
            "rank 2 is late: at most 9.00 ms a step (8.00 to 10.00)");
}

// A search of 1 ms a step is needless; copies of at most 4 ms are what DDP does by default.
TEST(DiagnoseTest, NotesTheLeastCertainLast) {
  Evidence evidence = healthy();
  evidence.experiment->ddp.findUnusedParameters = true;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    for (const std::int32_t track : {0, 10}) {
      addSpan(evidence, trace::EventKind::kSearchUnused, step, step * 100'000, 1'000, track);
      addSpan(evidence, trace::EventKind::kCopyOut, step, step * 100'000 + 50'000, 4'000, track);
    }
  }
  const Diagnosis diagnosis = diagnose(evidence);
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[0].rule, "search_unused");
  EXPECT_EQ(diagnosis.findings[1].rule, "copies");
}

TEST(DiagnoseTest, OfAShortRunSaysThatItCannotTell) {
  Evidence evidence;
  evidence.measuredSteps = 3;
  EXPECT_EQ(diagnose(evidence).nothing,
            "This run cannot tell, because only 3 of its steps are measured, and 8 are needed to "
            "tell a cause from chance.");
}

TEST(DiagnoseTest, OfARunThatGoesOnSaysSo) {
  Evidence evidence;
  evidence.info.state = trace::RunState::kRunning;
  evidence.measuredSteps = 3;
  const Diagnosis live = diagnose(evidence);
  EXPECT_TRUE(live.soFar);
  EXPECT_FALSE(live.canTell);
  EXPECT_EQ(
      textOf(live).rfind("The run goes on. So far:\nThis run cannot tell, because only 3 ", 0), 0u)
      << textOf(live);
  evidence.info.state = trace::RunState::kRecorderDied;
  EXPECT_FALSE(diagnose(evidence).soFar);
}

TEST(DiagnoseTest, OffersSettingsOfAnExperimentAlone) {
  Evidence evidence;
  evidence.divergence.firstBadLoss.emplace();
  EXPECT_TRUE(diagnose(evidence).findings.front().settings.empty());
  evidence.experiment.emplace();
  EXPECT_EQ(diagnose(evidence).findings.front().settings,
            (std::vector<Setting>{{"capture.gradient_check_every", "1"}}));
}

TEST(DiagnoseTest, OfAHealthyRunSaysThatNothingStandsOutAndWhatItCannotTell) {
  Evidence evidence;
  evidence.measuredSteps = 20;
  evidence.stepMs = 12.5;
  evidence.forecaster =
      base::Error{base::ExitCode::kBadInput, "its buckets were never rebuilt", ""};
  EXPECT_EQ(diagnose(evidence).nothing,
            "Nothing stands out in 20 measured steps of 12.50 ms. Whether other buckets would be "
            "faster this run cannot tell, because its buckets were never rebuilt.");
}

TEST(DiagnoseTest, OfAHealthyRunSaysHowMuchIsExposedThoughNobodyIsToBlame) {
  Evidence evidence;
  evidence.measuredSteps = 20;
  evidence.stepMs = 12.5;
  evidence.run.exposedRank = 1;
  evidence.run.exposedMs = 2.5;
  const Diagnosis exposed = diagnose(evidence);
  EXPECT_TRUE(exposed.muchExposed);
  EXPECT_THAT(exposed.nothing, StartsWith("No rank, link or setting stands out in 20 measured steps "
                                          "of 12.50 ms, and 20 % of a step is exposed."));
  evidence.run.exposedMs = 1.2;
  const Diagnosis hidden = diagnose(evidence);
  EXPECT_FALSE(hidden.muchExposed);
  EXPECT_THAT(hidden.nothing, StartsWith("Nothing stands out in 20 measured steps of 12.50 ms."));
}

TEST(DiagnoseTest, OfARunWithoutCoresSaysWhatItsWaitsHide) {
  Evidence evidence;
  evidence.measuredSteps = 20;
  evidence.stepMs = 12.5;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    analysis::StepOverlap& of = evidence.steps.emplace_back();
    of.times.step = step;
    of.times.coreWaitMs = 1.2;
  }
  evidence.forecaster = base::Error{base::ExitCode::kBadInput, "it is short", ""};
  EXPECT_EQ(
      diagnose(evidence).nothing,
      "Nothing stands out in 20 measured steps of 12.50 ms. Threads had no core for 1.20 ms a "
      "step: this run cannot tell a rank that is late by less than 3.60 ms. Whether other "
      "buckets would be faster this run cannot tell, because it is short.");
}

}  // namespace
}  // namespace lockstep::diagnosis
