#include "engine/trace/Event.h"
#include "ui/panels/statistics/StatisticsPanel.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QThreadPool>
#include <QToolButton>

#include "engine/export/Tables.h"
#include "tests/support/SortedLines.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/panels/PanelOfARun.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

class StatisticsPanelTest : public test::PanelOfARun<StatisticsPanel> {
 protected:
  // Rank 0, step thread:  forward 0..400  copy in 100..150 (bucket 1)   forward 500..700
  //         backend:      allreduce 200..600 (bucket 1)
  // Rank 1, step thread:  forward 0..1000
  void openSmall() {
    test::Feed feed;
    feed.update.info = trace::RunInfo{};
    feed.update.info->state = trace::RunState::kFinished;
    feed.span(1, EventKind::kForward, 0, 400)
        .span(1, EventKind::kCopyIn, 100, 150)
        .span(1, EventKind::kForward, 500, 700)
        .span(2, EventKind::kCollective, 200, 600, 0, test::sequence(1), test::kAllreduce)
        .span(3, EventKind::kForward, 0, 1000);
    feed.update.spans[1].bucket = feed.update.spans[3].bucket = 1;
    model_.applyUpdate(feed.take());
    open();
  }

  QTableView* table() { return panel_.findChild<QTableView*>("statisticsTable"); }
  QString words() { return panel_.findChild<QLabel*>("statisticsWords")->text(); }
  // One row of the table, cells with a bar between.
  QString row(const QString& group) {
    const QAbstractItemModel& model = *table()->model();
    for (int at = 0; at < model.rowCount(); ++at) {
      if (model.index(at, 0).data().toString() == group) {
        QStringList cells;
        for (int column = 1; column < model.columnCount(); ++column) {
          cells << model.index(at, column).data().toString();
        }
        return cells.join('|');
      }
    }
    return "no such row";
  }
  QStringList groups() {
    QStringList all;
    for (int at = 0; at < table()->model()->rowCount(); ++at) {
      all << table()->model()->index(at, 0).data().toString();
    }
    return all;
  }
};

// Forwards: 200, 400 and 1000 ns: total 1600, less 50 of the copy within one of them; 1600 of the
// 2 x 1000 ns of both ranks is 80 %. Mean 533.3; P50 400; P90 400 + 0.8 * 600 = 880; P99
// 400 + 0.98 * 600 = 988; squares of -333.3, -133.3 and 466.7: 111111 + 17778 + 217778, their mean
// 115556, its root 339.9.
TEST_F(StatisticsPanelTest, MeasuresEachName) {
  openSmall();
  EXPECT_EQ(groups(), (QStringList{"forward", "allreduce", "copy in"})) << "the longest first";
  EXPECT_EQ(row("forward"),
            "3|1.60 µs|80.0 %|1.55 µs|533 ns|200 ns|400 ns|880 ns|988 ns|1.00 µs|340 ns");
  EXPECT_EQ(row("allreduce"),
            "1|400 ns|20.0 %|400 ns|400 ns|400 ns|400 ns|400 ns|400 ns|400 ns|0 ns");
  EXPECT_EQ(words(), "5 events in 1.00 µs");
}

// Somewhere in 800 and in 100 ns it waited for 200 and for 30.
TEST_F(StatisticsPanelTest, OfWaitsForACoreWhatWasWaitedIsMeasured) {
  model_.applyUpdate(test::Feed()
                         .span(1, EventKind::kForward, 0, 1000)
                         .span(1, EventKind::kOffCore, 0, 800, 0, 200)
                         .span(1, EventKind::kOffCore, 900, 1000, 0, 30)
                         .take());
  open();
  EXPECT_TRUE(row("no core").startsWith("2|230 ns|11.5 %|230 ns|115 ns|30 ns|115 ns|"))
      << row("no core").toStdString();
  EXPECT_TRUE(row("forward").startsWith("1|1.00 µs|50.0 %|1.00 µs|")) << "not taken from it";
}

// Of 250..550 of two ranks, 600 ns: forwards take 150 and 50 of rank 0 and 300 of rank 1; the
// allreduce 300. The copy is outside, but within a forward that is not: it takes 50 of its self
// time.
TEST_F(StatisticsPanelTest, FollowsTheRangeOfAllViews) {
  openSmall();
  state_.setFilter(TimeRange{250, 550});
  settle();
  EXPECT_EQ(groups(), (QStringList{"forward", "allreduce"}));
  EXPECT_TRUE(row("forward").startsWith("3|1.60 µs|83.3 %|1.55 µs|"))
      << row("forward").toStdString();
  EXPECT_TRUE(row("allreduce").startsWith("1|400 ns|50.0 %|"));
  auto* range = panel_.findChild<QToolButton*>("statisticsRange");
  ASSERT_TRUE(range->isVisible());
  range->click();
  settle();
  EXPECT_EQ(groups().size(), 3);
}

// 250..5000 holds 750 ns of the run, of both ranks 1500: forwards take 150 and 200 of rank 0 and
// 750 of rank 1.
TEST_F(StatisticsPanelTest, SharesAreOfTheTimeThatTheRunTook) {
  openSmall();
  state_.setFilter(TimeRange{250, 5000});
  settle();
  EXPECT_TRUE(row("forward").startsWith("3|1.60 µs|73.3 %|")) << row("forward").toStdString();
  EXPECT_EQ(words(), "4 events in 750 ns");
}

// Of 420..480 the allreduce began at 200, in rank 0's forward that ended at 400; rank 1's forward
// still goes on.
TEST_F(StatisticsPanelTest, ThePhaseOfASpanIsThatInWhichItBeganWhereverTheRangeBegins) {
  openSmall();
  panel_.setGroupBy(GroupBy::kPhase);
  state_.setFilter(TimeRange{420, 480});
  settle();
  EXPECT_EQ(groups(), QStringList{"forward"});
  EXPECT_TRUE(row("forward").startsWith("2|1.40 µs|")) << row("forward").toStdString();
}

// The hook's thread encodes bucket 1 (150..250) while bucket 0 is on its way (100..500), and then
// bucket 1 is too (250..450): nothing of it lies within the other.
TEST_F(StatisticsPanelTest, WhatGoesOnByItselfTakesNothingFromWhatItsThreadDoes) {
  test::Feed feed(1);
  feed.span(1, EventKind::kHookCommunicate, 100, 500)
      .span(1, EventKind::kHookEncode, 150, 250)
      .span(1, EventKind::kHookCommunicate, 250, 450);
  model_.applyUpdate(feed.take());
  open();
  EXPECT_TRUE(row("communicate").startsWith("2|600 ns|150.0 %|600 ns|"))
      << row("communicate").toStdString();
  EXPECT_TRUE(row("encode").startsWith("1|100 ns|25.0 %|100 ns|"));
}

// By rank: rank 0's step thread works 400 + 200, its backend 400; the copy lies within a forward.
// By phase: what began during forwards; nothing begins elsewhere.
TEST_F(StatisticsPanelTest, GroupsByRankBucketAndPhase) {
  openSmall();
  panel_.setGroupBy(GroupBy::kRank);
  settle();
  EXPECT_TRUE(row("rank 0").startsWith("4|1.00 µs|")) << row("rank 0").toStdString();
  EXPECT_TRUE(row("rank 1").startsWith("1|1.00 µs|"));
  panel_.setGroupBy(GroupBy::kBucket);
  settle();
  EXPECT_TRUE(row("bucket 1").startsWith("2|450 ns|")) << row("bucket 1").toStdString();
  EXPECT_TRUE(row("no bucket").startsWith("3|1.60 µs|"));
  panel_.setGroupBy(GroupBy::kPhase);
  settle();
  EXPECT_EQ(groups(), QStringList{"forward"});
  EXPECT_TRUE(row("forward").startsWith("5|2.00 µs|"));
  panel_.setGroupBy(GroupBy::kHook);
  settle();
  EXPECT_TRUE(groups().isEmpty());
}

TEST_F(StatisticsPanelTest, AFilterCountsOnlyWhatItAsksForAndLeavesSelfTimeAsItIs) {
  openSmall();
  panel_.setFilter("forward rank:0");
  settle();
  EXPECT_EQ(groups(), QStringList{"forward"});
  EXPECT_TRUE(row("forward").startsWith("2|600 ns|30.0 %|550 ns|")) << row("forward").toStdString();
  panel_.setFilter("rank:x");
  EXPECT_EQ(words(), "\"rank:x\" needs a number or a range: rank:3 or rank:3..7.");
}

TEST_F(StatisticsPanelTest, ARowAsksForItsSpans) {
  openSmall();
  const QSignalSpy events(&panel_, &StatisticsPanel::eventsRequested);
  auto* button = panel_.findChild<QPushButton*>("statisticsEvents");
  EXPECT_FALSE(button->isEnabled());
  table()->selectRow(0);
  ASSERT_TRUE(button->isEnabled());
  button->click();
  panel_.setFilter("rank:0");
  settle();
  table()->setFocus();
  QTest::keyClick(table(), Qt::Key_Return);
  ASSERT_EQ(events.count(), 2);
  EXPECT_EQ(events[0][0].toString(), "name:forward");
  EXPECT_EQ(events[1][0].toString(), "name:forward rank:0") << "the row stays chosen";
}

TEST_F(StatisticsPanelTest, SortsByNumbersNotByTheirText) {
  openSmall();
  table()->sortByColumn(StatisticsTable::kMax, Qt::AscendingOrder);
  EXPECT_EQ(groups(), (QStringList{"copy in", "allreduce", "forward"}));
}

TEST_F(StatisticsPanelTest, AFileHoldsNumbersInTheOrderShown) {
  openSmall();
  table()->sortByColumn(StatisticsTable::kTotal, Qt::AscendingOrder);
  const support::TemporaryFolder folder;
  const auto path = folder / "statistics.csv";
  ASSERT_EQ(panel_.writeTo(QString::fromStdString(path.string())), "");
  const std::string text = support::readFile(path);
  EXPECT_TRUE(text.starts_with(
      "rank,kind,what,bucket,count,total_ms,share_percent,self_ms,mean_ms,min_ms,p50_ms,p90_ms,"
      "p99_ms,max_ms,deviation_ms\n"
      ",copy_in,,,1,0.000050,2.5000,0.000050,0.000050,0.000050,0.000050,0.000050,0.000050,0.000050,"
      "0.000000\n"
      ",collective,allreduce,,1,0.000400,20.0000,"))
      << text;
  EXPECT_EQ(panel_.writeTo("/nowhere/at/all.csv"),
            "/nowhere/at/all.csv: cannot be written: No such file or directory.");
}

// Of the whole run, and of a stretch of it whose edges cut through iterations.
TEST_F(StatisticsPanelTest, WritesTheRowsThatLockstepExportWrites) {
  const std::filesystem::path run = std::filesystem::path(LOCKSTEP_GOLDEN) / "run-1.2.lockstep";
  const support::TemporaryFolder folder;
  const auto path = folder / "statistics.csv";
  RunModel model(run);
  ASSERT_TRUE(QTest::qWaitFor([&] { return model.isLoaded(); }, 30'000));
  panel_.setGroupBy(GroupBy::kAll);
  panel_.setRun(&model, &state_);
  for (const bool part : {false, true}) {
    exports::Selection selection;
    if (part) {
      const TimeRange first{model.step(0, 0)->startNs, model.step(0, 1)->endNs};
      const TimeRange range{first.startNs + 0.3 * first.lengthNs(),
                            first.startNs + 0.8 * first.lengthNs()};
      state_.setFilter(range);
      selection.ticks =
          exports::TickRange{model.toTicks(range.startNs), model.toTicks(range.endNs)};
    }
    settle();
    ASSERT_EQ(panel_.writeTo(QString::fromStdString(path.string())), "");
    ASSERT_TRUE(exports::writeTable(run, "statistics", folder / "export.csv", selection).ok());
    const auto ours = support::sortedLines(path);
    EXPECT_GT(ours.size(), 10u);
    EXPECT_EQ(ours, support::sortedLines(folder / "export.csv"));
  }
  panel_.setRun(nullptr, nullptr);
}

TEST_F(StatisticsPanelTest, AnInstantHasACountAndNoDuration) {
  test::Feed feed(1);
  feed.span(1, EventKind::kForward, 0, 100).span(1, EventKind::kGradientReady, 50, 50);
  model_.applyUpdate(feed.take());
  open();
  EXPECT_EQ(row("gradient ready"), "1||||||||||");
}

TEST_F(StatisticsPanelTest, FollowsALiveRunAndKeepsTheChosenRow) {
  test::Feed feed;
  feed.update.info = trace::RunInfo{};
  feed.update.info->state = trace::RunState::kRunning;
  model_.applyUpdate(feed.span(1, EventKind::kForward, 100, 400).take());
  open();
  table()->selectRow(0);
  model_.applyUpdate(feed.span(1, EventKind::kBackward, 400, 900).take());
  ASSERT_TRUE(QTest::qWaitFor([&] { return groups().size() == 2; }, 30'000));
  EXPECT_EQ(groups().front(), "backward");
  EXPECT_EQ(table()->currentIndex().row(), 1);
}

// More than a live run's share: the latest are measured, and it says so.
TEST_F(StatisticsPanelTest, SaysWhenNotAllWasMeasured) {
  test::Feed feed(1);
  feed.update.info = trace::RunInfo{};
  feed.update.info->state = trace::RunState::kRunning;
  const std::uint32_t count = StatisticsPanel::kMeasuredAtMostLive + 100;
  for (std::uint32_t i = 0; i < count; ++i) {
    feed.span(1, i < 100 ? EventKind::kBackward : EventKind::kForward, 10 * i, 10 * i + 5);
  }
  model_.applyUpdate(feed.take());
  open();
  EXPECT_EQ(groups(), QStringList{"forward"}) << "the first 100 are left out";
  EXPECT_EQ(words(), "measured over the latest 500,000 of 500,100 events");
}

TEST_F(StatisticsPanelTest, WhatWasCountedInARunGoesWithIt) {
  model_.applyUpdate(test::demoRun({.steps = 5}));
  open();
  panel_.setFilter("step:3");
  settle();
  panel_.setRun(nullptr, nullptr);
  EXPECT_EQ(panel_.findChild<QLineEdit*>("statisticsFilter")->text(), "");
}

TEST_F(StatisticsPanelTest, ARunThatIsClosedEndsTheSearch) {
  {
    RunModel closed;
    closed.applyUpdate(test::demoRun({.steps = 200}));
    ViewState state;
    panel_.setRun(&closed, &state);
    ASSERT_TRUE(panel_.busy());
    panel_.setRun(nullptr, nullptr);
  }
  settle();
  backgroundPool().waitForDone();
  QCoreApplication::processEvents();
  EXPECT_TRUE(groups().isEmpty());
}

TEST_F(StatisticsPanelTest, TheDemosEveryIterationIsCountedOnce) {
  model_.applyUpdate(test::demoRun({.steps = 30}));
  open();
  EXPECT_TRUE(row("iteration").startsWith("60|")) << row("iteration").toStdString();
  EXPECT_TRUE(row("backward").startsWith("60|"));
}

}  // namespace
}  // namespace lockstep::ui
