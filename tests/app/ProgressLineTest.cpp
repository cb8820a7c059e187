#include "app/cli/ProgressLine.h"

#include <gtest/gtest.h>

namespace lockstep::cli {
namespace {

launch::LaunchProgress progressAt(std::uint32_t step, std::uint32_t planned) {
  launch::LaunchProgress progress;
  progress.recorder.plannedSteps = planned;
  progress.recorder.steps = {step, step};
  progress.recorder.loss = 0.5;
  return progress;
}

TEST(ProgressTextTest, NamesTheStartupStageBeforeTheFirstStep) {
  auto progress = progressAt(0, 100);
  EXPECT_EQ(progressText(progress, std::nullopt), "starting");
  progress.recorder.startup = "rendezvous";
  EXPECT_EQ(progressText(progress, std::nullopt), "starting: rendezvous");
}

TEST(ProgressTextTest, ShowsStepLossRateAndTimeLeft) {
  EXPECT_EQ(progressText(progressAt(20, 100), 10.0),
            "step 20/100  loss 0.5000  10.0 steps/s  ETA 0:08");
  EXPECT_EQ(progressText(progressAt(20, 100'000), 10.0),
            "step 20/100000  loss 0.5000  10.0 steps/s  ETA 2:46:38");
}

TEST(ProgressTextTest, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progressText(progressAt(20, 0), std::nullopt), "step 20  loss 0.5000");
}

TEST(ProgressTextTest, ShowsLossOfEventsAndAStopUnderWay) {
  auto progress = progressAt(20, 0);
  progress.recorder.dropped = 7;
  progress.stopping = true;
  EXPECT_EQ(progressText(progress, std::nullopt),
            "step 20  loss 0.5000  7 events dropped  stopping");
}

TEST(ProgressTextTest, SaysThatTheRunHasDiverged) {
  auto progress = progressAt(20, 0);
  progress.recorder.diverged = true;
  EXPECT_EQ(progressText(progress, std::nullopt), "step 20  loss 0.5000  DIVERGED");
}

TEST(ProgressBarTest, FillsWithTheShareThatIsDone) {
  EXPECT_EQ(progressBar(0, 10, 4), "[....]");
  EXPECT_EQ(progressBar(5, 10, 4), "[##..]");
  EXPECT_EQ(progressBar(10, 10, 4), "[####]");
  EXPECT_EQ(progressBar(12, 10, 4), "[####]");
}

}  // namespace
}  // namespace lockstep::cli
