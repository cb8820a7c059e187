#include "ui/model/RunDiagnoser.h"

#include <gtest/gtest.h>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

using tests::SampleRun;
using tests::waitUntil;

constexpr std::int64_t kMs = 1'000'000;

/// A run that is followed, as the window does while it shows the findings.
struct Followed {
  explicit Followed(const std::filesystem::path& path) : model(path) {
    QObject::connect(&diagnoser, &RunDiagnoser::ready, &model, [this] { ++times; });
    QObject::connect(&model, &RunModel::changed, &diagnoser, &RunDiagnoser::want);
    QObject::connect(&model, &RunModel::loaded, &diagnoser, &RunDiagnoser::want);
  }

  RunModel model;
  RunAnalyser analyser{model};
  RunDiagnoser diagnoser{model, analyser};
  int times = 0;
};

TEST(RunDiagnoser, LooksOnceAtARunThatHasEnded) {
  const support::TemporaryFolder folder;
  tests::writeFinishedRun(folder / "run.lockstep", 30);
  Followed run(folder / "run.lockstep");
  ASSERT_TRUE(waitUntil([&] { return run.times > 0; }));
  EXPECT_FALSE(run.diagnoser.latest()->soFar);
  EXPECT_EQ(run.diagnoser.latest()->measuredSteps, 29U);
  run.diagnoser.want();
  EXPECT_FALSE(waitUntil([&] { return run.times > 1; }, std::chrono::milliseconds(400)));
}

TEST(RunDiagnoser, FindingsOfALiveRunComeAndAreFinalOnceItHasEnded) {
  const support::TemporaryFolder folder;
  SampleRun file(folder / "run.lockstep", 60);
  file.startUp();
  file.late(4 * kMs);
  file.steps(3);
  Followed run(folder / "run.lockstep");
  ASSERT_TRUE(waitUntil([&] { return run.times > 0; }));
  EXPECT_TRUE(run.diagnoser.latest()->soFar);
  EXPECT_FALSE(run.diagnoser.latest()->canTell);
  file.steps(30);
  ASSERT_TRUE(waitUntil([&] { return !run.diagnoser.latest()->findings.empty(); }));
  EXPECT_TRUE(run.diagnoser.latest()->soFar);
  EXPECT_EQ(run.diagnoser.latest()->findings.front().place.rank, 1);
  EXPECT_EQ(run.diagnoser.latest()->findings.front().place.parameterName, "4.bias");
  file.finish(trace::RunState::kFinished);
  EXPECT_TRUE(waitUntil([&] { return !run.diagnoser.latest()->soFar; }));
  EXPECT_EQ(run.diagnoser.latest()->measuredSteps, 32U);
}

TEST(RunDiagnoser, LooksAtALiveRunEveryTwoSecondsAtMostAndOnlyWhereSomebodyAsks) {
  const support::TemporaryFolder folder;
  SampleRun file(folder / "run.lockstep", 60);
  file.startUp();
  file.steps(10);
  Followed run(folder / "run.lockstep");
  ASSERT_TRUE(waitUntil([&] { return run.times == 1; }));
  file.steps(10);
  EXPECT_FALSE(waitUntil([&] { return run.times > 1; }, std::chrono::milliseconds(1200)));
  EXPECT_TRUE(waitUntil([&] { return run.times > 1; }));
  run.model.disconnect(&run.diagnoser);
  run.times = 0;
  file.steps(10);
  EXPECT_FALSE(waitUntil([&] { return run.times > 1; }, std::chrono::milliseconds(3500)));
}

}  // namespace
}  // namespace lockstep::ui
