#include "engine/trace/Event.h"
#include "ui/shell/StartupProgress.h"

#include <gtest/gtest.h>

#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;
using trace::StartupStage;

// A run of two ranks whose clock ticks in nanoseconds.
class StartupProgressTest : public testing::Test {
 protected:
  StartupProgressTest() {
    trace::RunUpdate update;
    update.info = trace::RunInfo{};
    update.info->runId = "r";
    update.info->worldSize = 2;
    update.tracks = {{0, 0, "step"}, {1, 1, "step"}};
    update.clock = base::ClockCalibration{};
    model_.applyUpdate(update);
  }
  void span(int rank, EventKind kind, std::uint16_t detail, double seconds) {
    trace::RunUpdate update;
    trace::SpanRow row;
    row.id = ++id_;
    row.track = rank;
    row.kind = kind;
    row.detail = detail;
    row.startTicks = end_[rank];
    row.durationTicks = static_cast<std::uint64_t>(seconds * 1e9);
    end_[rank] += row.durationTicks;
    update.spans = {row};
    model_.applyUpdate(update);
  }
  void stage(int rank, StartupStage stage, double seconds) {
    span(rank, EventKind::kStartup, static_cast<std::uint16_t>(stage), seconds);
  }

  RunModel model_;
  std::int64_t id_ = 0;
  std::uint64_t end_[2] = {1000, 1000};
};

TEST_F(StartupProgressTest, NothingIsDoneWithoutAModel) {
  const StartupProgress progress = startupProgress(nullptr);
  ASSERT_EQ(progress.stages.size(), 6U);
  EXPECT_EQ(progress.active(), 0U);
}

TEST_F(StartupProgressTest, AStageIsDoneWhenEveryRankHasDoneIt) {
  stage(0, StartupStage::kSpawn, 0.1);
  EXPECT_EQ(startupProgress(&model_).active(), 0U);
  EXPECT_EQ(startupProgress(&model_).stages[0].ranksDone, 1);
  stage(1, StartupStage::kSpawn, 0.3);
  EXPECT_EQ(startupProgress(&model_).active(), 1U);
  EXPECT_NEAR(startupProgress(&model_).stages[0].seconds, 0.3, 1e-9);
}

TEST_F(StartupProgressTest, AStageThatALaterOneOvertookIsDone) {
  for (const int rank : {0, 1}) {
    stage(rank, StartupStage::kSpawn, 0.1);
    stage(rank, StartupStage::kModel, 0.1);  // rendezvous and data left no span
  }
  const StartupProgress progress = startupProgress(&model_);
  EXPECT_TRUE(progress.stages[1].done);
  EXPECT_TRUE(progress.stages[2].done);
  EXPECT_EQ(progress.active(), 4U);
}

TEST_F(StartupProgressTest, ARankOfAJobAttachesAndThenIterates) {
  EXPECT_EQ(startOfJob().active(), 1U) << "the command has started";
  trace::RunUpdate update;
  update.info = trace::RunInfo{};
  update.info->runId = "r";
  update.info->worldSize = 2;
  update.info->kind = trace::RunKind::kObserved;
  update.ranks.emplace(2);
  update.ranks->at(0).pid = 7;
  update.ranks->at(1).rank = 1;
  model_.applyUpdate(update);
  StartupProgress progress = startupProgress(&model_);
  ASSERT_EQ(progress.stages.size(), 3U);
  EXPECT_EQ(progress.active(), 1U);
  EXPECT_EQ(progress.stages[1].ranksDone, 1);
  span(0, EventKind::kStep, 0, 0.02);
  span(1, EventKind::kStep, 0, 0.02);
  progress = startupProgress(&model_);
  EXPECT_EQ(progress.active(), 3U) << "who iterates has attached";
  EXPECT_EQ(progress.steps, 1U);
}

TEST_F(StartupProgressTest, CountsTheStepsOfTheSlowestRank) {
  for (const int rank : {0, 1}) {
    for (std::uint16_t stage = 0; stage < 5; ++stage) {
      span(rank, EventKind::kStartup, stage, 0.1);
    }
  }
  span(0, EventKind::kStep, 0, 0.02);
  EXPECT_EQ(startupProgress(&model_).steps, 0U);
  EXPECT_EQ(startupProgress(&model_).active(), 5U);
  span(1, EventKind::kStep, 0, 0.05);
  EXPECT_EQ(startupProgress(&model_).steps, 1U);
  EXPECT_EQ(startupProgress(&model_).active(), 6U);
  EXPECT_NEAR(startupProgress(&model_).stages[5].seconds, 0.05, 1e-9);
}

}  // namespace
}  // namespace lockstep::ui
