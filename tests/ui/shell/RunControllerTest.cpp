#include "ui/shell/RunController.h"

#include <gtest/gtest.h>

#include <QFileInfo>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;

class RunControllerTest : public testing::Test {
 protected:
  RunControllerTest()
      : controller_(findPrograms(tests::programs() + "/fake"),
                    QString::fromStdString((folder_ / "runs").string())) {
    setenv("FAKE_LOCKSTEP_STEPS", "5", 1);
    QObject::connect(&controller_, &RunController::appeared,
                     [this](const QString& path) { appeared_ << path; });
    QObject::connect(&controller_, &RunController::ended,
                     [this](const QString&, int exitCode) { exitCodes_ << exitCode; });
    QObject::connect(&controller_, &RunController::endedEarly,
                     [this](const QString&, const QString& line, int exitCode) {
                       lines_ << line;
                       exitCodes_ << exitCode;
                     });
    QObject::connect(&controller_, &RunController::stopFailed,
                     [this](const QString& sentence) { lines_ << sentence; });
  }
  QString experiment(const std::string& name) {
    return QString::fromStdString(folder_.write(name + ".toml", "").string());
  }

  support::TemporaryFolder folder_;
  RunController controller_;
  QStringList appeared_;
  QStringList lines_;
  QList<int> exitCodes_;
};

TEST_F(RunControllerTest, TellsWhenTheRunFileIsThereAndWhenTheRunHasEnded) {
  const auto run = controller_.start(experiment("demo"));
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(controller_.owns(run.value()));
  ASSERT_TRUE(waitUntil([this] { return !exitCodes_.isEmpty(); }));
  EXPECT_EQ(appeared_, QStringList{run.value()});
  EXPECT_EQ(exitCodes_, QList<int>{0});
  EXPECT_FALSE(controller_.owns(run.value()));
}

TEST_F(RunControllerTest, TwoRunsStartedInOneSecondHaveFilesOfTheirOwn) {
  const QString file = experiment("demo");
  const auto first = controller_.start(file);
  const auto second = controller_.start(file);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_NE(first.value(), second.value());
  EXPECT_TRUE(waitUntil([this] { return exitCodes_.size() == 2; }));
  EXPECT_EQ(appeared_.size(), 2);
}

TEST_F(RunControllerTest, GivesTheLastLineOfARunThatLeftNoFile) {
  ASSERT_TRUE(controller_.start(experiment("refused")).ok());
  ASSERT_TRUE(waitUntil([this] { return !exitCodes_.isEmpty(); }));
  ASSERT_EQ(lines_.size(), 1);
  EXPECT_TRUE(lines_.front().contains("unknown key")) << lines_.front().toStdString();
  EXPECT_EQ(exitCodes_, QList<int>{2});
  EXPECT_TRUE(appeared_.isEmpty());
}

TEST_F(RunControllerTest, RepeatsWhatARunFileHoldsUnderItsPlainName) {
  const auto first = controller_.start(experiment("demo"));
  ASSERT_TRUE(waitUntil([this] { return exitCodes_.size() == 1; }));
  const auto again = controller_.repeat(first.value());
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(QFileInfo(again.value()).completeBaseName().startsWith("demo-"));
  const QString toml = QFileInfo(again.value()).absolutePath() + '/' +
                       QFileInfo(again.value()).completeBaseName() + ".toml";
  EXPECT_NE(support::readFile(toml.toStdString()).find("steps = 5"), std::string::npos);
  EXPECT_TRUE(waitUntil([this] { return exitCodes_.size() == 2; }));
}

TEST_F(RunControllerTest, SaysThatAnObservedJobIsStartedByItsOwnCommand) {
  const auto path = folder_ / "job.lockstep";
  {
    tests::SampleRun run(path, 3);
    trace::RunInfo info;
    info.kind = trace::RunKind::kObserved;
    info.command = "torchrun train.py";
    run.setInfo(info);
    run.commit();
  }
  const auto again = controller_.repeat(QString::fromStdString(path.string()));
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message().find("lockstep record -- torchrun train.py"),
            std::string::npos);
}

TEST_F(RunControllerTest, SaysThatTheRunsFolderCannotBeMade) {
  folder_.write("taken", "a file");
  RunController controller(findPrograms(tests::programs() + "/fake"),
                           QString::fromStdString((folder_ / "taken").string()) + "/runs");
  const auto run = controller.start(experiment("demo"));
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message().find("--runs"), std::string::npos);
}

TEST_F(RunControllerTest, SaysThatThereIsNoProgram) {
  RunController controller(findPrograms(QString::fromStdString(folder_.path().string())),
                           QString::fromStdString((folder_ / "runs").string()));
  const auto run = controller.start(experiment("demo"));
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message().find("--programs"), std::string::npos);
}

TEST_F(RunControllerTest, PassesOnWhyARunCouldNotBeStopped) {
  controller_.stop(QString::fromStdString((folder_ / "none.lockstep").string()));
  ASSERT_TRUE(waitUntil([this] { return !lines_.isEmpty(); }));
  EXPECT_TRUE(lines_.front().contains("none.lockstep")) << lines_.front().toStdString();
}

TEST_F(RunControllerTest, AProgramThatCrashesIsNotTakenForARunThatDoesNotStop) {
  const auto program = folder_.write("programs/lockstep", "#!/bin/sh\nkill -SEGV $$\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  controller_.setPrograms(findPrograms(QString::fromStdString((folder_ / "programs").string())));
  controller_.stop("run.lockstep");
  ASSERT_TRUE(waitUntil([this] { return !lines_.isEmpty(); }));
  EXPECT_EQ(lines_.front(), "run.lockstep: could not be stopped");
}

TEST(LastLineOf, SkipsBlankLinesAndOverwrittenProgress) {
  const support::TemporaryFolder folder;
  const auto path =
      folder.write("out.log", "starting\nstep 1\rstep 2\rport 29500 is taken\n\n  \n");
  EXPECT_EQ(lastLineOf(QString::fromStdString(path.string())), "port 29500 is taken");
  EXPECT_EQ(lastLineOf("/nonexistent"), QString());
}

}  // namespace
}  // namespace lockstep::ui
