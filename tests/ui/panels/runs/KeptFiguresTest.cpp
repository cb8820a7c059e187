#include "ui/panels/runs/KeptFigures.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QSettings>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "ui/panels/runs/RunsScanner.h"

namespace lockstep::ui {
namespace {

class KeptFiguresTest : public testing::Test {
 protected:
  KeptFiguresTest() { QFile::remove(KeptFigures::defaultFile()); }

  /// Puts a run that has ended into the folder.
  void endedRun(int steps) {
    tests::SampleRun run(folder_ / "run.lockstep", steps);
    run.startUp();
    run.steps(steps);
    run.finish(trace::RunState::kFinished);
  }
  /// What the list says of the run after a start of the studio.
  std::optional<double> listed() {
    RunsScanner scanner(folder_.path());
    std::optional<double> figure;
    QObject::connect(&scanner, &RunsScanner::scanned, [&](const std::vector<RunEntry>& entries) {
      figure = entries.at(0).stepsPerSecond;
    });
    scanner.scan();
    return figure;
  }
  /// Has the file say something else of each run than an analysis would.
  static void say(const QString& figure) {
    QSettings settings(KeptFigures::defaultFile(), QSettings::IniFormat);
    for (const QString& key : settings.allKeys()) {
      QStringList entry = settings.value(key).toStringList();
      entry[1] = figure;
      settings.setValue(key, entry);
    }
  }

  support::TemporaryFolder folder_;
};

TEST_F(KeptFiguresTest, ARunIsAnalysedOnceAndNotAtEachStart) {
  endedRun(12);
  const auto analysed = listed();
  ASSERT_TRUE(analysed.has_value());
  EXPECT_EQ(listed(), analysed) << "to the last digit";
  say("1234.5");
  EXPECT_EQ(listed(), 1234.5) << "what is kept is taken";
}

TEST_F(KeptFiguresTest, ARunThatHasChangedIsAnalysedAgain) {
  endedRun(12);
  listed();
  say("1234.5");
  QFile::remove(QString::fromStdString((folder_ / "run.lockstep").string()));
  endedRun(40);
  EXPECT_NE(listed(), 1234.5);
}

TEST_F(KeptFiguresTest, WhatCannotBeReadIsAsIfItWereNotThere) {
  endedRun(12);
  const auto analysed = listed();
  say("many");
  EXPECT_EQ(listed(), analysed);
  say("-");
  EXPECT_EQ(listed(), std::nullopt) << "a run may have no such figure";
  for (const char* damage : {"", "\x01\x02[[[=", "[figures1]\nabc\n=\n"}) {
    QFile file(KeptFigures::defaultFile());
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(damage);
    file.close();
    EXPECT_EQ(listed(), analysed) << damage;
  }
}

}  // namespace
}  // namespace lockstep::ui
