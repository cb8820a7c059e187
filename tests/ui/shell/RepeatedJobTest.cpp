#include "ui/shell/RepeatedJob.h"

#include <gtest/gtest.h>

#include <QDir>

namespace lockstep::ui {
namespace {

trace::RunInfo recorded(const std::string& command, const QString& folder) {
  trace::RunInfo run;
  run.name = "train";
  run.command = command;
  if (!folder.isEmpty()) {
    run.environment["folder"] = folder.toStdString();
  }
  return run;
}

TEST(RepeatedJobTest, IsWhatTheUserWroteWhereThatWasRecordedFromHere) {
  const JobRequest other{.command = "sh other.sh", .folder = QDir::tempPath()};
  const JobRequest mine{
      .command = "sh  train.sh", .environment = {"TOKEN="}, .folder = QDir::tempPath()};
  const RepeatedJob again = repeatedJob(recorded("sh train.sh", QDir::tempPath()), {other, mine});
  EXPECT_EQ(again.job, mine);
  EXPECT_EQ(again.hint, "The command of train, as it was recorded from here last.");
}

TEST(RepeatedJobTest, IsElseWhatTheRunFileHoldsOfIt) {
  const JobRequest elsewhere{.command = "sh train.sh", .folder = QDir::rootPath()};
  const RepeatedJob again = repeatedJob(recorded("sh train.sh", QDir::tempPath()), {elsewhere});
  EXPECT_EQ(again.job.command, "sh train.sh");
  EXPECT_EQ(again.job.folder, QDir::tempPath());
  EXPECT_EQ(again.hint, "The command of train. Its variables are not in the run file.");
  EXPECT_EQ(repeatedJob(recorded("sh train.sh", {}), {}).job.folder, QDir::homePath());
}

}  // namespace
}  // namespace lockstep::ui
