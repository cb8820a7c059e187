#include "tests/ui/shell/MainWindowFixture.h"

#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/StepStrip.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep {
namespace {

using tests::kExperiment;
using tests::SampleRun;
using tests::waitUntil;
using trace::RunState;

// From the start of a run to its end, good or bad, as the window shows it.
class RunLifeTest : public tests::MainWindowFixture {};

TEST_F(RunLifeTest, EnterOnTheStartPageRunsTheFirstExperiment) {
  ASSERT_TRUE(waitUntil([this] { return find<QPushButton>("runFirst")->hasFocus(); }));
  input_.key(tests::kKeyReturn);
  EXPECT_TRUE(waitForState(RunState::kRunning));
  EXPECT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(window().session()->model()->stepCount(0), 60U);
}

TEST_F(RunLifeTest, TheStripNamesTheStagesUntilAFewStepsAreDone) {
  auto* strip = dynamic_cast<ui::StepStrip*>(find<QWidget>("stepStrip"));
  click(find<QPushButton>("runFirst"));
  ASSERT_TRUE(waitUntil([&] { return strip->isVisible(); }));
  ASSERT_EQ(strip->progress().stages.size(), 6U);
  EXPECT_EQ(strip->progress().active(), 0U);
  ASSERT_TRUE(waitUntil([&] { return strip->progress().active() > 0; }));
  EXPECT_NEAR(strip->progress().stages[0].seconds, 0.12, 1e-6);
  EXPECT_TRUE(waitUntil([&] { return !strip->isVisible(); }));
  EXPECT_TRUE(window().session()->model()->isLive());
}

TEST_F(RunLifeTest, CancelStopsARunThatIsComingUp) {
  setenv("FAKE_LOCKSTEP_STEPS", "3000", 1);
  click(find<QPushButton>("runFirst"));
  auto* cancel = find<QPushButton>("cancelRun");
  // With a file: before, there is nothing yet that could say "stopped".
  ASSERT_TRUE(waitUntil([&] { return cancel->isVisible() && window().session() != nullptr; }));
  click(cancel);
  EXPECT_TRUE(waitForState(RunState::kStopped));
}

TEST_F(RunLifeTest, StopKeyEndsTheRunAndTheBannerSaysSo) {
  setenv("FAKE_LOCKSTEP_STEPS", "3000", 1);
  input_.key(tests::kKeyF5);
  window();
  ASSERT_TRUE(waitUntil([this] { return find<QPushButton>("runFirst")->hasFocus(); }));
  input_.key(tests::kKeyF5);
  ASSERT_TRUE(waitForState(RunState::kRunning));
  input_.key(tests::kKeyF5, {tests::kKeyShift});
  ASSERT_TRUE(waitForState(RunState::kStopped));
  EXPECT_TRUE(
      waitUntil([this] { return messages().join(' ').contains("Stopped after iteration "); }));
}

TEST_F(RunLifeTest, FinishBannerLeadsToTheSlowestIterationAndRepeats) {
  click(find<QPushButton>("runFirst"));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(messages().front().startsWith("Finished: ")) << messages().front().toStdString();
  EXPECT_TRUE(messages().front().contains("accuracy 97.6 %"));
  EXPECT_TRUE(waitUntil([this] {
    return messages().front().contains("overlap") &&
           messages().front().contains(" ms exposed per step (median, worst rank)");
  })) << messages().front().toStdString();

  clickMessage("Show slowest iteration");
  const auto slowest = window().session()->slowestStep();
  ASSERT_TRUE(slowest.has_value());
  const auto step = window().session()->model()->step(0, *slowest);
  EXPECT_TRUE(waitUntil([&] {
    const ui::TimeRange range = window().session()->state()->range();
    return range.startNs <= step->startNs && range.endNs >= step->endNs &&
           range.lengthNs() < 2 * (step->endNs - step->startNs);
  }));

  const QString first = window().session()->path();
  clickMessage("Repeat");
  ASSERT_TRUE(waitUntil(
      [&] { return window().session() != nullptr && window().session()->path() != first; }));
  EXPECT_TRUE(waitForState(RunState::kFinished));
}

TEST_F(RunLifeTest, ARefusedExperimentShowsWhatTheProgramSaid) {
  folder_.write("experiments/first_steps/demo.toml", kExperiment);
  const auto refused = folder_.write("refused.toml", kExperiment);
  window().runExperiment(QString::fromStdString(refused.string()));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(messages().front().contains("did you mean ddp.bucket_cap_mb?"));
  auto* problems = find<QTableView>("problemsTable");
  ASSERT_EQ(problems->model()->rowCount(), 1);
  EXPECT_TRUE(problems->isVisible());
  EXPECT_EQ(window().session(), nullptr);
  EXPECT_TRUE(find<QWidget>("startPage")->isVisible());
}

TEST_F(RunLifeTest, AFailedRunShowsItsLineAndItsProblemLeadsToTheIteration) {
  const auto broken = folder_.write("broken.toml", kExperiment);
  window().runExperiment(QString::fromStdString(broken.string()));
  ASSERT_TRUE(waitForState(RunState::kFailed));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(waitUntil([this] {
    return verdict() ==
           "Failed: rank 1 was killed by SIGKILL in iteration 10, in allreduce of bucket 2";
  })) << verdict().toStdString();
  EXPECT_TRUE(messages().front().startsWith("Ended after iteration 10"))
      << messages().front().toStdString();
  EXPECT_FALSE(messages().join(' ').contains("SIGKILL")) << "it is said once";

  clickMessage("Show problems");
  auto* table = find<QTableView>("problemsTable");
  ASSERT_TRUE(waitUntil([&] { return table->isVisible() && table->model()->rowCount() == 1; }));
  const QPoint row = tests::middleOf(
      table->viewport(), [&] { return table->visualRect(table->model()->index(0, 3)); });
  doubleClick(row);
  const auto step = window().session()->model()->step(1, 10);
  ASSERT_TRUE(step.has_value());
  EXPECT_TRUE(waitUntil([&] {
    const ui::TimeRange range = window().session()->state()->range();
    return range.startNs <= step->startNs && range.endNs >= step->endNs &&
           range.lengthNs() < 2 * (step->endNs - step->startNs);
  }));
  tests::keep(input_.screenshot(), "failed");
}

TEST_F(RunLifeTest, ARunThatFailedWithoutAReasonSaysSo) {
  std::filesystem::create_directories(folder_ / "runs");
  const auto path = folder_ / "runs" / "failed.lockstep";
  {
    SampleRun run(path, 5);
    run.startUp();
    run.steps(2);
    run.finish(RunState::kFailed);
  }
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kFailed));
  EXPECT_TRUE(waitUntil([this] { return verdict() == "The run failed and gave no reason"; }))
      << verdict().toStdString();
  EXPECT_TRUE(messages().join(' ').startsWith("Ended after iteration 1"))
      << messages().join(' ').toStdString();
}

TEST_F(RunLifeTest, ARunThatDivergedEndsInRedAndNotAsFinished) {
  setenv("FAKE_LOCKSTEP_STEPS", "30", 1);
  const auto diverged = folder_.write("diverged.toml", kExperiment);
  window().runExperiment(QString::fromStdString(diverged.string()));
  ASSERT_TRUE(waitForState(RunState::kDiverged));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(waitUntil([this] {
    return verdict().startsWith("Diverged: the replicas differ at step 10: fc.weight");
  })) << verdict().toStdString();
  EXPECT_TRUE(messages().front().startsWith("Ended after iteration 29"))
      << messages().front().toStdString();
  EXPECT_FALSE(messages().join(' ').contains("differ")) << "it is said once";
  EXPECT_FALSE(messages().join(' ').contains("Finished"));
  EXPECT_EQ(find<QLabel>("statusState")->text(), "diverged");
}

TEST_F(RunLifeTest, WhyARunOfTheQueueFailedStaysInSightWhileTheNextOneRuns) {
  setenv("FAKE_LOCKSTEP_STEPS", "30", 1);
  auto& queue = window().findChild<ui::SetupPanel*>()->queue();
  for (const char* name : {"broken.toml", "refused.toml", "sound.toml"}) {
    queue.add(QString::fromStdString(folder_.write(name, kExperiment).string()));
  }
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ASSERT_TRUE(waitUntil([this] { return messages().size() == 3; }));
  EXPECT_TRUE(messages().join(' ').contains("did you mean ddp.bucket_cap_mb?"));
  EXPECT_TRUE(messages().join(' ').contains("rank 1 was killed by SIGKILL in iteration 10"));
  clickMessage("Open it");
  EXPECT_TRUE(waitForState(RunState::kFailed));
}

TEST_F(RunLifeTest, TheQueueWaitsWhereARunCannotBeStarted) {
  folder_.write("runs", "a file where the runs are to go");
  auto& queue = window().findChild<ui::SetupPanel*>()->queue();
  const auto sound = QString::fromStdString(folder_.write("sound.toml", kExperiment).string());
  queue.add(sound);
  queue.add(sound);
  EXPECT_EQ(queue.rowCount(), 2);
  EXPECT_EQ(messages(), QStringList{queue.reasonToWait()});
  std::filesystem::remove(folder_ / "runs");
  queue.goOn();
  EXPECT_EQ(queue.rowCount(), 1);
  EXPECT_TRUE(waitForState(RunState::kFinished));
}

/// Writes a run of so many iterations whose recorder ends without finishing it.
void writeDeadRun(const std::filesystem::path& path, int steps) {
  SampleRun run(path, 100);
  run.startUp();
  run.steps(steps);
  trace::RunInfo nobody;
  nobody.runId = "dead";
  nobody.name = "dead";
  nobody.state = RunState::kRunning;
  nobody.worldSize = SampleRun::kRanks;
  nobody.supervisorPid = 0x3FFFFFFF;  // above every kernel's largest pid
  run.setInfo(nobody);
  run.commit();
}

TEST_F(RunLifeTest, SaysThatTheRecorderDiedBeforeTheFirstIteration) {
  std::filesystem::create_directories(folder_ / "runs");
  const auto path = folder_ / "runs" / "dead.lockstep";
  writeDeadRun(path, 0);
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kRecorderDied));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_EQ(messages().front(), "The record ends before the first iteration");
  EXPECT_TRUE(waitUntil([this] {
    return verdict() == "The recorder died: how the run ended is not known";
  })) << verdict().toStdString();
  EXPECT_EQ(
      find<QTableView>("problemsTable")->model()->index(0, 3).data().toString(),
      "The recorder died before the first iteration: everything it had committed is here, the "
      "end of the run is not.");
}

TEST_F(RunLifeTest, SaysThatTheRecorderDied) {
  std::filesystem::create_directories(folder_ / "runs");
  const auto path = folder_ / "runs" / "dead.lockstep";
  writeDeadRun(path, 5);
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kRecorderDied));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(messages().front().startsWith("The record ends after iteration 4"))
      << messages().front().toStdString();
  const ui::TimeRange all = window().session()->model()->extent();
  EXPECT_TRUE(waitUntil([&] { return window().session()->state()->range().endNs > all.endNs; }))
      << "what came last is in sight";
  clickMessage("Show problems");
  auto* table = find<QTableView>("problemsTable");
  ASSERT_TRUE(waitUntil([&] { return table->isVisible(); }));
  ASSERT_EQ(table->model()->rowCount(), 1);
  EXPECT_TRUE(table->model()->index(0, 3).data().toString().contains("recorder died"));
  EXPECT_EQ(window().session()->model()->stepCount(0), 5U);
}

TEST_F(RunLifeTest, TheStatusBarTellsHowWellTheClocksOfSeveralHostsAreKnown) {
  std::filesystem::create_directories(folder_ / "runs");
  const auto path = folder_ / "runs" / "hosts.lockstep";
  {
    SampleRun run(path, 5);
    run.twoHosts(31'000);
    run.startUp();
    run.steps(5);
    run.finish(RunState::kFinished);
  }
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  auto* clock = find<QLabel>("statusClock");
  ASSERT_TRUE(waitUntil([&] { return clock->isVisible(); }));
  EXPECT_EQ(clock->text(), "clock ± 31.0 µs");
  EXPECT_TRUE(clock->toolTip().contains("beta: +5.012 ms ± 0.031 ms"))
      << clock->toolTip().toStdString();
  EXPECT_EQ(window().session()->model()->stepCount(1), 5U) << "rank 1 is shown all the same";

  tests::writeFinishedRun(folder_ / "runs" / "one.lockstep", 3);
  window().openRun(QString::fromStdString((folder_ / "runs" / "one.lockstep").string()));
  EXPECT_TRUE(waitUntil([&] { return !clock->isVisible(); })) << "one host has one clock";
}

TEST_F(RunLifeTest, TheStatusBarTellsHowLateEventsOfALiveRunReachTheScreen) {
  setenv("FAKE_LOCKSTEP_STEPS", "150", 1);
  click(find<QPushButton>("runFirst"));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  auto* latency = find<QLabel>("statusLatency");
  ASSERT_TRUE(waitUntil([&] { return latency->isVisible(); }));
  EXPECT_TRUE(latency->text().startsWith("on screen within ")) << latency->text().toStdString();
  const auto& measured = window().findChild<ui::TimelineView*>()->eventToPixel();
  EXPECT_GT(measured.count(), 5000U) << "all that came live";
  EXPECT_LT(measured.p95Ms(), 500) << "twice the budget, for a machine with more to do";
}

}  // namespace
}  // namespace lockstep
