#include "ui/panels/runs/KeptRuns.h"

#include <gtest/gtest.h>

#include <QFile>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "ui/panels/runs/RunsScanner.h"

namespace lockstep::ui {
namespace {

class KeptRunsTest : public testing::Test {
 protected:
  KeptRunsTest() { QFile::remove(KeptRuns::defaultFile()); }

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "run.lockstep"; }
  /// Puts a run that has ended into the folder.
  void endedRun(int steps) { tests::writeFinishedRun(path(), steps); }
  /// What a start of the studio lists, and what it opens for that.
  RunsScanner::Work start() {
    RunsScanner scanner(folder_.path());
    QObject::connect(&scanner, &RunsScanner::scanned,
                     [this](const std::vector<RunEntry>& entries) { listed_ = entries; });
    scanner.scan();
    return scanner.work();
  }
  /// Has the file say something else of the run than an analysis would.
  void say(std::optional<double> figure) {
    KeptRuns kept;
    const QString stamp = RunStamp::of(path(), false).text();
    const KeptRuns::Kept* known = kept.find(path(), stamp);
    ASSERT_NE(known, nullptr);
    KeptRuns::Kept other = *known;
    other.entry.stepsPerSecond = figure;
    kept.keep(path(), other);
    kept.write();
  }

  support::TemporaryFolder folder_;
  std::vector<RunEntry> listed_;
};

TEST_F(KeptRunsTest, ARunIsReadOnceAndNotAtEachStart) {
  endedRun(12);
  EXPECT_EQ(start().read, 1u);
  const RunEntry first = listed_.at(0);
  ASSERT_TRUE(first.stepsPerSecond.has_value());
  EXPECT_FALSE(first.course.empty());
  const RunsScanner::Work again = start();
  EXPECT_EQ(again.read, 0u);
  EXPECT_EQ(again.analysed, 0u);
  EXPECT_EQ(listed_.at(0), first) << "to the last digit";
  say(1234.5);
  start();
  EXPECT_EQ(listed_.at(0).stepsPerSecond, 1234.5) << "what is kept is taken";
}

TEST_F(KeptRunsTest, ARunThatHasChangedIsReadAgain) {
  endedRun(12);
  start();
  say(1234.5);
  std::filesystem::remove(path());
  endedRun(40);
  const RunsScanner::Work work = start();
  EXPECT_EQ(work.read, 1u);
  EXPECT_EQ(work.analysed, 1u);
  EXPECT_NE(listed_.at(0).stepsPerSecond, 1234.5);
}

TEST_F(KeptRunsTest, WhatCannotBeReadIsAsIfItWereNotThere) {
  endedRun(12);
  start();
  const RunEntry first = listed_.at(0);
  say(std::nullopt);
  start();
  EXPECT_EQ(listed_.at(0).stepsPerSecond, std::nullopt) << "a run may have no such figure";
  QFile file(KeptRuns::defaultFile());
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray whole = file.readAll();
  file.close();
  QByteArray torn = whole.left(whole.size() - 5);
  QByteArray later = whole;
  later[7] = 99;  // the version
  for (const QByteArray& damage : {QByteArray(), QByteArray("\x01\x02[[[="), torn, later}) {
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(damage);
    file.close();
    EXPECT_EQ(start().read, 1u) << damage.size();
    EXPECT_EQ(listed_.at(0), first) << damage.size();
  }
}

// Links to one file: what counts is how many are opened, and a start opens none of those it knows.
TEST_F(KeptRunsTest, OfFiveThousandRunsAStartOpensThoseThatAreNew) {
  constexpr int kRuns = 5000;
  endedRun(6);
  start();
  KeptRuns kept;
  const QString stamp = RunStamp::of(path(), false).text();
  const KeptRuns::Kept one = *kept.find(path(), stamp);
  for (int i = 1; i < kRuns; ++i) {
    const auto link = folder_ / ("run-" + std::to_string(i) + ".lockstep");
    std::filesystem::create_hard_link(path(), link);
    kept.keep(link, {RunStamp::of(link, false).text(), one.entry, true});
  }
  kept.write();
  tests::writeFinishedRun(folder_ / "new.lockstep", 6);
  const RunsScanner::Work work = start();
  ASSERT_EQ(listed_.size(), static_cast<std::size_t>(kRuns) + 1);
  EXPECT_EQ(work.read, 1u);
  EXPECT_EQ(work.analysed, 1u);
  EXPECT_EQ(work.labels, 0u);
  for (const RunEntry& entry : listed_) {
    EXPECT_FALSE(entry.unread);
    EXPECT_TRUE(entry.stepMs.has_value());
  }
}

}  // namespace
}  // namespace lockstep::ui
