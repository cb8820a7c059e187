#include "engine/trace/Event.h"
#include "ui/panels/events/EventsPanel.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QThreadPool>
#include <QToolButton>
#include <memory>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/panels/PanelOfARun.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

class EventsPanelTest : public test::PanelOfARun<EventsPanel> {
 protected:
  // Rank 0: forward 100..400, allreduce 7 of bucket 1 at 300..700; rank 1 later and shorter.
  void openSmall() {
    test::Feed feed;
    feed.update.info = trace::RunInfo{};
    feed.update.info->state = trace::RunState::kFinished;
    feed.span(1, EventKind::kForward, 100, 400)
        .span(2, EventKind::kCollective, 300, 700, 0, test::sequence(7, 2000), test::kAllreduce)
        .span(3, EventKind::kForward, 500, 600)
        .span(4, EventKind::kCollective, 650, 700, 0, test::sequence(7, 2000), test::kAllreduce);
    feed.update.spans[1].bucket = feed.update.spans[3].bucket = 1;
    model_.applyUpdate(feed.take());
    open();
  }

  void filter(const QString& text) {
    panel_.setFilter(text);
    settle();
  }

  void sortBy(EventColumn column, Qt::SortOrder order) {
    table()->sortByColumn(static_cast<int>(column), order);
    settle();
  }

  QTableView* table() { return panel_.findChild<QTableView*>("eventsTable"); }
  QString words() { return panel_.findChild<QLabel*>("eventsWords")->text(); }
  QString cell(int row, EventColumn column) {
    return table()->model()->index(row, static_cast<int>(column)).data().toString();
  }
  QStringList names() {
    QStringList all;
    for (int row = 0; row < table()->model()->rowCount(); ++row) {
      all << cell(row, EventColumn::kRank) + ' ' + cell(row, EventColumn::kName);
    }
    return all;
  }
  // The texts of the panel that can be read now.
  QStringList readable() {
    QStringList texts;
    for (const QLabel* label : panel_.findChildren<QLabel*>()) {
      if (label->isVisible()) {
        texts << label->text();
      }
    }
    return texts;
  }
};

TEST_F(EventsPanelTest, ListsEventsOfAllLanesInOrderOfTime) {
  openSmall();
  EXPECT_EQ(names(), (QStringList{"0 forward", "0 allreduce, bucket 1", "1 forward",
                                  "1 allreduce, bucket 1"}));
  EXPECT_EQ(words(), "4 of 4 events");
  EXPECT_EQ(cell(1, EventColumn::kSequence), "7");
  EXPECT_EQ(cell(1, EventColumn::kBytes), "1.95 KiB");
}

// Durations: 300, 400, 100, 50; forwards have no bucket and come last in both directions.
TEST_F(EventsPanelTest, SortsByAColumnAndKeepsTheOrderOfTimeWhereItIsEqual) {
  openSmall();
  sortBy(EventColumn::kDuration, Qt::DescendingOrder);
  EXPECT_EQ(names(), (QStringList{"0 allreduce, bucket 1", "0 forward", "1 forward",
                                  "1 allreduce, bucket 1"}));
  sortBy(EventColumn::kName, Qt::AscendingOrder);
  EXPECT_EQ(names(), (QStringList{"0 allreduce, bucket 1", "1 allreduce, bucket 1", "0 forward",
                                  "1 forward"}));
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    sortBy(EventColumn::kBucket, order);
    EXPECT_EQ(names(), (QStringList{"0 allreduce, bucket 1", "1 allreduce, bucket 1", "0 forward",
                                    "1 forward"}));
  }
}

// Processes begin before the recorder's clock does: 900 ns and 400 ns before 0.
TEST_F(EventsPanelTest, WhatBeganBeforeTheRecorderComesFirstAndWithAMinus) {
  test::Feed feed;
  const auto spawn = static_cast<std::uint16_t>(trace::StartupStage::kSpawn);
  feed.span(1, EventKind::kForward, 100, 9000).span(1, EventKind::kStartup, 0, 900, 0, 0, spawn);
  feed.span(3, EventKind::kStartup, 0, 450, 0, 0, spawn);
  feed.update.spans[1].startTicks -= 900;
  feed.update.spans[2].startTicks -= 400;
  model_.applyUpdate(feed.take());
  open();
  EXPECT_EQ(names(), (QStringList{"0 start-up: spawn", "1 start-up: spawn", "0 forward"}));
  EXPECT_EQ(cell(0, EventColumn::kStart), "-1 µs");
  EXPECT_EQ(cell(1, EventColumn::kStart), "0 µs");
  EXPECT_EQ(cell(2, EventColumn::kStart), "0 µs");
  sortBy(EventColumn::kStart, Qt::DescendingOrder);
  EXPECT_EQ(names(), (QStringList{"0 forward", "1 start-up: spawn", "0 start-up: spawn"}));
  state_.setFilter(TimeRange{-700, -500});
  settle();
  EXPECT_EQ(names(), QStringList{"0 start-up: spawn"}) << "of a range before 0 too";
}

TEST_F(EventsPanelTest, FiltersAsTheTimelineFindsAndSaysHowMany) {
  openSmall();
  filter("allreduce rank:1");
  EXPECT_EQ(names(), QStringList{"1 allreduce, bucket 1"});
  EXPECT_EQ(words(), "1 of 4 events");
  filter("rank:x");
  EXPECT_EQ(words(), "\"rank:x\" needs a number or a range: rank:3 or rank:3..7.");
  EXPECT_EQ(names().size(), 1) << "what is listed stays until the query can be understood";
  filter("nothing is called so");
  EXPECT_TRUE(readable().contains("No event of this run matches this filter."));
  for (QPushButton* button : panel_.findChildren<QPushButton*>()) {
    if (button->isVisible() && button->text() == "Clear the filter") {
      button->click();
    }
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return words() == "4 of 4 events"; }, 30'000));
}

// 410..640 is touched by rank 0's allreduce (300..700) and rank 1's forward (500..600).
TEST_F(EventsPanelTest, TheRangeOfAllViewsAppliesAndIsLiftedByItsButton) {
  openSmall();
  auto* range = panel_.findChild<QToolButton*>("eventsRange");
  EXPECT_FALSE(range->isVisible());
  state_.setFilter(TimeRange{410, 640});
  settle();
  EXPECT_EQ(names(), (QStringList{"0 allreduce, bucket 1", "1 forward"}));
  EXPECT_EQ(words(), "2 of 4 events");
  ASSERT_TRUE(range->isVisible());
  EXPECT_TRUE(range->text().contains("410")) << range->text().toStdString();
  range->click();
  settle();
  EXPECT_FALSE(state_.filter().has_value());
  EXPECT_EQ(names().size(), 4);
}

TEST_F(EventsPanelTest, TheSelectionIsThatOfAllViews) {
  openSmall();
  state_.setRange({0, 200}, ViewState::RangeChange::kSilent);
  table()->selectRow(2);
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->startNs, 500);
  EXPECT_GT(state_.range().endNs, 600) << "it was brought into sight";

  const auto spans =
      model_.sameCollective(*model_.findSpan(laneId(0, LaneRole::kCommunication), 1, 500));
  ASSERT_EQ(spans.size(), 2u);
  state_.select(spans[1]);
  EXPECT_EQ(table()->currentIndex().row(), 3);
  filter("forward");
  state_.select(spans[0]);
  EXPECT_FALSE(table()->currentIndex().isValid()) << "it is not listed";
}

TEST_F(EventsPanelTest, WhatIsSelectedWhileItIsHiddenIsChosenOnceItIsShown) {
  openSmall();
  panel_.hide();
  state_.select(panel_.model().spanAt(2));
  panel_.show();
  EXPECT_EQ(table()->currentIndex().row(), 2);
}

TEST_F(EventsPanelTest, EnterShowsAnEventInTheTimeline) {
  openSmall();
  const QSignalSpy asked(&panel_, &EventsPanel::timelineRequested);
  table()->selectRow(1);
  table()->setFocus();
  QTest::keyClick(table(), Qt::Key_Return);
  EXPECT_EQ(asked.count(), 1);
  EXPECT_LE(state_.range().startNs, 300);
  EXPECT_GE(state_.range().endNs, 700);
  EXPECT_LT(state_.range().lengthNs(), 1000);
}

TEST_F(EventsPanelTest, CopiesRowsWithTitlesAndRefusesTooMany) {
  openSmall();
  table()->selectRow(2);
  const auto copy = [&] {
    for (QAction* action : table()->actions()) {
      if (action->shortcut() == QKeySequence(QKeySequence::Copy)) {
        action->trigger();
      }
    }
  };
  copy();
  const QStringList lines = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(lines[0].startsWith("Start\tName\tRank\tDuration\tBucket"));
  EXPECT_TRUE(lines[1].contains("\tforward\t1\t"));
  EXPECT_EQ(words(), "Copied 1 row");

  QApplication::clipboard()->clear();
  model_.applyUpdate(test::demoRun({.steps = 200}));
  open();
  ASSERT_GT(table()->model()->rowCount(), EventsPanel::kCopiedRows);
  table()->selectAll();
  copy();
  EXPECT_TRUE(words().startsWith("Not copied: ")) << words().toStdString();
  EXPECT_TRUE(QApplication::clipboard()->text().isEmpty());
}

TEST_F(EventsPanelTest, WritesAllThatIsListedAsCsv) {
  openSmall();
  filter("rank:0");
  const support::TemporaryFolder folder;
  const QString path = QString::fromStdString((folder / "events.csv").string());
  panel_.exportTo(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return words() == "Wrote " + path; }, 30'000))
      << words().toStdString();
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll().toStdString(),
            "id,rank,thread,kind,what,start_ms,duration_ms,step,in_step_ms,bucket,group,sequence,"
            "bytes,parameter,detail,value\n"
            "1,0,step,forward,,0.000100,0.000300,0,,,,,,,0,0\n"
            "2,0,gloo 0,collective,allreduce,0.000300,0.000400,0,,1,0,7,2000,,2," +
                std::to_string(test::sequence(7, 2000)) + "\n");
}

TEST_F(EventsPanelTest, SaysWhyAFileCannotBeWritten) {
  openSmall();
  QStringList told;
  QObject::connect(&panel_, &EventsPanel::failed, [&](const QString& text) { told << text; });
  panel_.exportTo("/nowhere/at/all.csv");
  ASSERT_TRUE(QTest::qWaitFor([&] { return told.size() == 1; }, 30'000));
  EXPECT_EQ(told[0], "/nowhere/at/all.csv: cannot be written: No such file or directory.");
  panel_.exportTo("/dev/full");
  ASSERT_TRUE(QTest::qWaitFor([&] { return told.size() == 2; }, 30'000));
  EXPECT_EQ(told[1], "/dev/full: cannot be written: No space left on device.");
  EXPECT_EQ(words(), told[1]);
}

// More than one chunk: the panel still hands events over when the first ones cannot be written.
TEST_F(EventsPanelTest, AFileThatCannotBeWrittenIsToldOnceOfManyEventsToo) {
  QStringList told;
  QObject::connect(&panel_, &EventsPanel::failed, [&](const QString& text) { told << text; });
  model_.applyUpdate(test::demoRun({.steps = 200}));
  open();
  ASSERT_GT(panel_.model().total(), 4096u);
  panel_.exportTo("/nowhere/at/all.csv");
  ASSERT_TRUE(QTest::qWaitFor([&] { return words() == told.value(0); }, 30'000));
  backgroundPool().waitForDone();
  QCoreApplication::processEvents();
  EXPECT_EQ(told,
            QStringList{"/nowhere/at/all.csv: cannot be written: No such file or directory."});
}

TEST_F(EventsPanelTest, ARunThatIsClosedEndsItsSearchAndItsExport) {
  const support::TemporaryFolder folder;
  const QString path = QString::fromStdString((folder / "events.csv").string());
  QStringList told;
  QObject::connect(&panel_, &EventsPanel::failed, [&](const QString& text) { told << text; });
  {
    RunModel closed;
    closed.applyUpdate(test::demoRun({.steps = 200}));
    ViewState state;
    panel_.setRun(&closed, &state);
    settle();
    panel_.exportTo(path);
    panel_.setFilter("wait");
    ASSERT_TRUE(panel_.busy());
    panel_.setRun(nullptr, nullptr);
  }
  settle();
  backgroundPool().waitForDone();
  QCoreApplication::processEvents();
  EXPECT_EQ(told, QStringList{path + " was not written: the run was closed meanwhile."});
  EXPECT_FALSE(QFile::exists(path));
  EXPECT_EQ(panel_.model().total(), 0u);
}

// The late event stands between the two that were listed: what was the second is the third.
TEST_F(EventsPanelTest, EventsThatHaveMovedAreSearchedAnewBeforeTheyAreWritten) {
  test::Feed feed(1);
  model_.applyUpdate(
      feed.span(1, EventKind::kForward, 100, 200).span(1, EventKind::kForward, 600, 700).take());
  open();
  const support::TemporaryFolder folder;
  const QString path = QString::fromStdString((folder / "events.csv").string());
  model_.applyUpdate(feed.span(1, EventKind::kForward, 300, 400).take());
  panel_.exportTo(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return words() == "Wrote " + path; }, 30'000))
      << words().toStdString();
  const std::string text = support::readFile(folder / "events.csv");
  EXPECT_NE(text.find("1,0,step,forward,,0.000100,0.000100,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n3,0,step,forward,,0.000300,0.000100,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n2,0,step,forward,,0.000600,0.000100,"), std::string::npos) << text;
}

TEST_F(EventsPanelTest, WhatCameOfACopyGivesWayToTheCount) {
  openSmall();
  const auto copy = [&] {
    for (QAction* action : table()->actions()) {
      if (action->shortcut() == QKeySequence(QKeySequence::Copy)) {
        action->trigger();
      }
    }
  };
  copy();
  ASSERT_EQ(words(), "Copied 4 rows");
  state_.setFilter(TimeRange{410, 640});
  settle();
  EXPECT_EQ(words(), "2 of 4 events");
  copy();
  ASSERT_EQ(words(), "Copied 2 rows");
  ASSERT_TRUE(QTest::qWaitFor([&] { return words() == "2 of 4 events"; }, 30'000))
      << "after a while";
}

TEST_F(EventsPanelTest, ListsWhatALiveRunAddsAndKeepsTheSelection) {
  test::Feed feed;
  feed.update.info = trace::RunInfo{};
  feed.update.info->state = trace::RunState::kRunning;
  model_.applyUpdate(feed.span(1, EventKind::kForward, 100, 400).take());
  open();
  table()->selectRow(0);
  // Recorded later, begun earlier: the selected one moves down.
  model_.applyUpdate(feed.span(3, EventKind::kForward, 50, 600).take());
  ASSERT_TRUE(QTest::qWaitFor([&] { return table()->model()->rowCount() == 2; }, 30'000));
  EXPECT_EQ(table()->currentIndex().row(), 1);
  EXPECT_EQ(state_.selection()->startNs, 100);
}

TEST_F(EventsPanelTest, WhatWasLookedForInARunGoesWithIt) {
  model_.applyUpdate(test::demoRun({.steps = 5}));
  open();
  panel_.setFilter("rank:1 step:3");
  settle();
  RunModel next;
  ViewState state;
  next.applyUpdate(test::demoRun({.steps = 4}));
  panel_.setRun(&next, &state);
  settle();
  EXPECT_EQ(panel_.findChild<QLineEdit*>("eventsFilter")->text(), "");
  EXPECT_GT(panel_.model().total(), 100u) << "all of it, not what another run had in step 3";
  panel_.setRun(nullptr, nullptr);
}

TEST_F(EventsPanelTest, WorksOnlyWhileItIsInSight) {
  panel_.hide();
  model_.applyUpdate(test::demoRun({.steps = 5}));
  panel_.setRun(&model_, &state_);
  QCoreApplication::processEvents();
  EXPECT_EQ(panel_.model().total(), 0u);
  panel_.show();
  settle();
  EXPECT_GT(panel_.model().total(), 100u);
}

TEST_F(EventsPanelTest, SaysWhyThereIsNothing) {
  EXPECT_TRUE(readable().join(' ').contains("No run is open. Open one to list its events."));
  panel_.setRun(&model_, &state_);
  settle();
  EXPECT_TRUE(
      readable().join(' ').contains("Nothing recorded yet. Events appear as ranks start up."));
}

// Ten more than a page holds: the last event is the tenth of the second page.
TEST_F(EventsPanelTest, ShowsHalfAMillionRowsAPageAndGoesToTheSelectionsPage) {
  test::Feed feed(1);
  const std::uint32_t count = EventPages::kPageRows + 10;
  for (std::uint32_t i = 0; i < count; ++i) {
    feed.span(1, EventKind::kForward, 10 * i, 10 * i + 5);
  }
  model_.applyUpdate(feed.take());
  open();
  EXPECT_EQ(table()->model()->rowCount(), static_cast<int>(EventPages::kPageRows));
  EXPECT_EQ(panel_.model().pages(), 2u);
  EXPECT_TRUE(readable().contains("Rows 1 to 500,000 of 500,010"));
  const Span last = model_.spanAt(laneId(0, LaneRole::kPhases), 1, count - 1);
  state_.select(last);
  EXPECT_EQ(panel_.model().page(), 1u);
  EXPECT_EQ(table()->currentIndex().row(), 9);
  panel_.findChild<QToolButton*>("eventsPreviousPage")->click();
  EXPECT_EQ(panel_.model().page(), 0u);
}

}  // namespace
}  // namespace lockstep::ui
