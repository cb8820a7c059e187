#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "engine/trace/Event.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/InspectorPanel.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/runs/RunsPanel.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

using tests::SampleRun;
using tests::waitUntil;

TEST(EmptyState, SaysWhatThereIsAsAHeadingThenWhatWillBeHereAndHasItsOneButton) {
  EmptyState empty("No run is open. Open one to list its events.", "Open a run…");
  const auto labels = empty.findChildren<QLabel*>();
  ASSERT_EQ(labels.size(), 2);
  EXPECT_EQ(labels[0]->text(), "No run is open.");
  EXPECT_TRUE(labels[0]->font().bold());
  EXPECT_EQ(labels[1]->text(), "Open one to list its events.");
  const auto buttons = empty.findChildren<QPushButton*>();
  ASSERT_EQ(buttons.size(), 1);
  EXPECT_TRUE(buttons[0]->isDefault());
  int pressed = 0;
  QObject::connect(&empty, &EmptyState::activated, [&] { ++pressed; });
  buttons[0]->click();
  EXPECT_EQ(pressed, 1);
  empty.setSentence("Reading the run…");
  EXPECT_EQ(labels[0]->text(), "Reading the run…");
  EXPECT_TRUE(labels[1]->isHidden()) << "there is no more to say";
}

TEST(RunsPanel, ListsARunThatAppearsAndFollowsItsStateToTheEnd) {
  const support::TemporaryFolder folder;
  RunsPanel panel(QString::fromStdString(folder.path().string()));
  SampleRun run(folder / "new.lockstep", 10);
  run.startUp();
  ASSERT_TRUE(waitUntil([&] {
    return panel.runs().size() == 1 && panel.runs().entry(0).state == trace::RunState::kRunning;
  }));
  run.steps(10);
  run.finish(trace::RunState::kFinished);
  ASSERT_TRUE(waitUntil([&] { return panel.runs().entry(0).state == trace::RunState::kFinished; }));
  EXPECT_TRUE(waitUntil([&] { return panel.runs().entry(0).overlapPercent.has_value(); }));
  EXPECT_EQ(panel.runs().entry(0).name, "demo");
  EXPECT_EQ(panel.runs().entry(0).worldSize, SampleRun::kRanks);
  EXPECT_GT(panel.runs().entry(0).exposedMs.value_or(0), 0);
}

TEST(RunsPanel, TakesTheFiguresOfARunThatWasLiveWhileItWasOpenFromWhoReadIt) {
  const support::TemporaryFolder folder;
  const QString path = QString::fromStdString((folder / "new.lockstep").string());
  RunsPanel panel(QString::fromStdString(folder.path().string()));
  panel.setCurrentRun(path);
  SampleRun run(folder / "new.lockstep", 10);
  run.startUp();
  ASSERT_TRUE(waitUntil([&] {
    return panel.runs().size() == 1 && panel.runs().entry(0).state == trace::RunState::kRunning;
  }));
  run.steps(10);
  run.finish(trace::RunState::kFinished);
  ASSERT_TRUE(waitUntil([&] { return panel.runs().entry(0).state == trace::RunState::kFinished; }));
  RunFigures figures;
  figures.overlapPercent = 12.5;
  emit panel.figuresKnown(path, figures);
  ASSERT_TRUE(waitUntil([&] { return panel.runs().entry(0).overlapPercent.has_value(); }));
  EXPECT_EQ(panel.runs().entry(0).overlapPercent, 12.5) << "not what the file would give";
}

TEST(RunsPanel, AFolderThatDoesNotExistYetIsWatchedOnceItDoes) {
  const support::TemporaryFolder folder;
  RunsPanel panel(QString::fromStdString((folder / "runs").string()));
  std::filesystem::create_directories(folder / "runs");
  tests::writeFinishedRun(folder / "runs" / "one.lockstep", 3);
  panel.refresh();
  EXPECT_TRUE(waitUntil([&] { return panel.runs().size() == 1; }));
}

TEST(RunsPanel, MarksTheOpenRunAsSoonAsItsRowAppearsAndThenLeavesTheSelectionAlone) {
  const support::TemporaryFolder folder;
  tests::writeFinishedRun(folder / "old.lockstep", 3);
  RunsPanel panel(QString::fromStdString(folder.path().string()));
  const auto marked = [&] {
    return panel.view()
        ->currentIndex()
        .siblingAtColumn(RunsTable::kDrops)
        .data(Qt::ToolTipRole)
        .toString();
  };
  const auto pathOf = [&](const char* name) {
    return QString::fromStdString((folder / name).string());
  };
  panel.setCurrentRun(pathOf("old.lockstep"));
  ASSERT_TRUE(waitUntil([&] { return marked() == pathOf("old.lockstep"); }));

  panel.setCurrentRun(pathOf("new.lockstep"));
  tests::writeFinishedRun(folder / "new.lockstep", 3);
  panel.refresh();
  ASSERT_TRUE(waitUntil([&] { return marked() == pathOf("new.lockstep"); }));

  for (int row = 0; row < panel.view()->model()->rowCount(); ++row) {
    const QModelIndex index = panel.view()->model()->index(row, RunsTable::kName);
    const QModelIndex path = index.siblingAtColumn(RunsTable::kDrops);
    if (path.data(Qt::ToolTipRole) == pathOf("old.lockstep")) panel.view()->setCurrentIndex(index);
  }
  bool scanned = false;
  QObject::connect(&panel, &RunsPanel::refreshed, [&] { scanned = true; });
  panel.refresh();
  ASSERT_TRUE(waitUntil([&] { return scanned; }));
  EXPECT_EQ(marked(), pathOf("old.lockstep"));
}

TEST(LogPanel, ShowsWhenALineCameOnceTheClockOfTheRunIsKnown) {
  LogPanel panel;
  bool known = false;
  panel.setTimes([&](std::uint64_t ticks) {
    return known ? std::optional(static_cast<double>(ticks)) : std::nullopt;
  });
  std::vector<trace::LogRow> rows(2);
  rows[0].ticks = 1'234'567'890;
  rows[0].text = "rank 1 finished";
  rows[1].text = "of the program's own output, without a time";
  panel.append(rows);
  const auto line = [&](int row, LogLines::Cell column) {
    return panel.model().index(row, column).data().toString();
  };
  EXPECT_EQ(line(0, LogLines::kTime), "");
  EXPECT_EQ(line(0, LogLines::kRank), "run");
  known = true;
  EXPECT_EQ(line(0, LogLines::kTime), "1.235 s");
  EXPECT_EQ(line(0, LogLines::kText), "rank 1 finished");
  EXPECT_EQ(line(1, LogLines::kTime), "");
}

class LogPanelLines : public testing::Test {
 protected:
  // The supervisor once, rank 1 thrice, the last time with a mistake; rank 0 once, plainly.
  LogPanelLines() {
    panel_.setWorldSize(2);
    std::vector<trace::LogRow> rows(5);
    rows[0].text = "listening";
    rows[1] = {0, 1, 0, "[rank 1] [info] epoch begins"};
    rows[2] = {0, 0, 0, "epoch begins"};
    rows[3] = {0, 1, 0, "[rank 1] [warning] epoch 12 done late"};
    rows[4] = {0, 1, 0, "[error] lost the connection"};
    panel_.append(rows);
  }

  QStringList texts() {
    const QAbstractItemModel& model = *panel_.findChild<QTableView*>("logLines")->model();
    QStringList all;
    for (int row = 0; row < model.rowCount(); ++row) {
      all << model.index(row, LogLines::kText).data().toString();
    }
    return all;
  }
  void type(const QString& text) { panel_.findChild<QLineEdit*>("logText")->setText(text); }

  LogPanel panel_;
};

TEST_F(LogPanelLines, AreThoseOfOneRankThatContainAText) {
  EXPECT_EQ(texts().size(), 5);
  panel_.findChild<QComboBox*>("logRank")->setCurrentText("Rank 1");
  EXPECT_EQ(texts(), (QStringList{"epoch begins", "epoch 12 done late", "lost the connection"}));
  type("EPOCH");
  EXPECT_EQ(texts(), (QStringList{"epoch begins", "epoch 12 done late"}));
}

TEST_F(LogPanelLines, AreOfALevelAndAbove) {
  panel_.findChild<QComboBox*>("logLevel")->setCurrentText("Warnings and errors");
  EXPECT_EQ(texts(), (QStringList{"epoch 12 done late", "lost the connection"}));
  EXPECT_EQ(panel_.findChild<QLabel*>("logWords")->text(), "2 of 5 lines");
}

TEST_F(LogPanelLines, MatchAPatternWhenTheTextIsOne) {
  type("\\d+ done|^lost");
  EXPECT_TRUE(texts().isEmpty());
  panel_.findChild<QToolButton*>("logPattern")->setChecked(true);
  EXPECT_EQ(texts(), (QStringList{"epoch 12 done late", "lost the connection"}));
  type("(");
  EXPECT_EQ(texts().size(), 5) << "what is no pattern hides nothing";
  EXPECT_TRUE(panel_.findChild<QLabel*>("logWords")->text().startsWith("Not a pattern: "));
}

TEST_F(LogPanelLines, AreSortedByAColumnAndInOrderOfArrivalAgain) {
  auto* table = panel_.findChild<QTableView*>("logLines");
  table->sortByColumn(LogLines::kLevel, Qt::DescendingOrder);
  EXPECT_EQ(texts().front(), "lost the connection");
  table->sortByColumn(-1, Qt::AscendingOrder);
  EXPECT_EQ(texts().front(), "listening");
}

// Rank 0 arrives at 200, rank 1 at 300; both record it with bucket 1, which holds "fc.weight".
class InspectorLinks : public testing::Test {
 protected:
  InspectorLinks() {
    ui::test::Feed feed;
    feed.span(2, trace::EventKind::kCollective, 200, 600, 0, ui::test::sequence(4),
              ui::test::kAllreduce)
        .span(4, trace::EventKind::kCollective, 300, 600, 0, ui::test::sequence(4),
              ui::test::kAllreduce);
    for (trace::SpanRow& row : feed.update.spans) {
      row.bucket = 1;
    }
    feed.update.parameters.emplace(1).front().name = "fc.weight";
    trace::BucketsMessage layout;
    layout.buckets.resize(2);
    layout.buckets[1].parameters = {0};
    feed.update.layouts = {layout};
    model_.applyUpdate(feed.take());
    panel_.setRun(&model_, &state_);
    state_.select(model_.findSpan(laneId(0, LaneRole::kCommunication), 1, 400));
    QObject::connect(&panel_, &InspectorPanel::findAllRequested,
                     [this](const QString& query) { asked_ << query; });
  }
  ~InspectorLinks() override { panel_.setRun(nullptr, nullptr); }

  TableView* table(const char* name) { return panel_.findChild<TableView*>(name); }

  RunModel model_;
  ViewState state_;
  InspectorPanel panel_;
  QStringList asked_;
};

TEST_F(InspectorLinks, ARankLeadsToItsSpanOfTheSameCollective) {
  ASSERT_TRUE(state_.selection().has_value());
  auto* arrivals = table("inspectorArrivals");
  ASSERT_EQ(arrivals->model()->rowCount(), 2);
  emit arrivals->activated(arrivals->model()->index(1, 0));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->rank(), 1);
  EXPECT_EQ(state_.selection()->startNs, 300);
}

TEST_F(InspectorLinks, TheMomentOfArrivalIsReadWholeOrUnderThePointer) {
  constexpr int kLateBy = 1;
  constexpr int kArrived = 3;
  const auto* arrivals = table("inspectorArrivals");
  EXPECT_TRUE(arrivals->model()
                  ->index(1, kLateBy)
                  .data(Qt::ToolTipRole)
                  .toString()
                  .startsWith("Arrived at "));
  panel_.resize(600, 500);
  panel_.show();
  EXPECT_TRUE(waitUntil([&] { return !arrivals->isColumnHidden(kArrived); }));
  panel_.resize(panel_.minimumSizeHint().width(), 500);
  EXPECT_TRUE(waitUntil([&] {
    const QAbstractItemView* cells = arrivals;
    return arrivals->isColumnHidden(kArrived) ||
           arrivals->columnWidth(kArrived) >= cells->sizeHintForColumn(kArrived);
  }));
}

TEST_F(InspectorLinks, AParameterAndTheSelectionLeadToAllTheirEvents) {
  auto* parameters = table("inspectorParameters");
  emit parameters->activated(parameters->model()->index(0, 0));
  panel_.findChild<QPushButton*>("inspectorFindAll")->click();
  EXPECT_EQ(asked_, (QStringList{"\"fc.weight\"", "name:allreduce bucket:1"}));
}

TEST_F(InspectorLinks, AnIterationHasWhatTheVerdictSaysOfItAndNoOtherHas) {
  ui::test::Feed feed;
  feed.span(1, trace::EventKind::kStep, 100, 900, 7)
      .span(1, trace::EventKind::kStep, 1000, 1300, 8);
  RunModel model;
  model.applyUpdate(feed.take());
  panel_.setRun(&model, &state_);
  const int phases = laneId(0, LaneRole::kPhases);
  const auto factsAt = [&](double ns) {
    state_.select(model.findSpan(phases, 0, ns));
    QStringList all;
    const QAbstractItemModel* rows = table("inspectorFacts")->model();
    for (int row = 0; row < rows->rowCount(); ++row) {
      all << rows->index(row, 1).data().toString();
    }
    return all;
  };
  const QString why = "Step 7 was the slowest, 2.62 s: rank 0 computed 1.07 s longer than usual";
  panel_.setVerdict(7, why);
  EXPECT_TRUE(factsAt(500).contains(why));
  EXPECT_FALSE(factsAt(1100).contains(why));
  panel_.setRun(nullptr, nullptr);
  panel_.setRun(&model, &state_);
  EXPECT_FALSE(factsAt(500).contains(why)) << "another run may have an iteration 7, too";
  panel_.setRun(nullptr, nullptr);
}

TEST_F(InspectorLinks, NothingOfARunThatIsClosedIsLeft) {
  const auto* title = panel_.findChild<QLabel*>("inspectorTitle");
  ASSERT_FALSE(title->text().isEmpty());
  panel_.setRun(nullptr, nullptr);
  EXPECT_EQ(title->text(), "");
  for (const char* name : {"inspectorFacts", "inspectorArrivals", "inspectorParameters"}) {
    EXPECT_EQ(table(name)->model()->rowCount(), 0) << name;
  }
  for (const QLabel* label : panel_.findChildren<QLabel*>()) {
    EXPECT_FALSE(label->text().contains("Bucket 1") || label->text().contains("Rank 1"))
        << label->text().toStdString();
  }
}

TEST_F(LogPanelLines, AnotherRunIsNotFilteredByARankAndATextOfTheOneBefore) {
  panel_.findChild<QComboBox*>("logRank")->setCurrentText("Rank 1");
  type("lost");
  ASSERT_EQ(texts(), QStringList{"lost the connection"});
  panel_.clear();
  EXPECT_EQ(panel_.findChild<QComboBox*>("logRank")->currentText(), "All ranks");
  EXPECT_EQ(panel_.findChild<QLineEdit*>("logText")->text(), "");
  std::vector<trace::LogRow> rows(1);
  rows[0] = {0, 0, 0, "of the next run"};
  panel_.append(rows);
  EXPECT_EQ(texts(), QStringList{"of the next run"});
}

TEST(ProblemsPanel, SaysWhatWillBeThereWhileThereIsNone) {
  ProblemsPanel panel;
  const auto labels = panel.findChildren<QLabel*>();
  EXPECT_TRUE(std::ranges::any_of(labels, [](const QLabel* label) {
    return label->text() ==
           "A rank that dies, events that are lost and runs that cannot be read "
           "are listed here.";
  }));
}

TEST(ProblemsPanel, AnIterationIsWrittenInFullHoweverLateItIs) {
  ProblemsPanel panel;
  panel.add({true, 1, 1'234'567, "rank 1 was killed"});
  EXPECT_EQ(panel.findChild<QTableView*>("problemsTable")->model()->index(0, 2).data().toString(),
            "1234567");
}

TEST(ProblemsPanel, OnlyAProblemWithAnIterationCanBeShown) {
  ProblemsPanel panel;
  panel.add({true, 1, 7, "rank 1 was killed"});
  panel.add({false, -1, std::nullopt, "the studio has a remark"});
  std::vector<std::pair<int, quint32>> asked;
  QObject::connect(&panel, &ProblemsPanel::showRequested,
                   [&](int rank, quint32 step) { asked.emplace_back(rank, step); });
  auto* view = panel.findChild<QTableView*>("problemsTable");
  emit view->activated(view->model()->index(0, 0));
  emit view->activated(view->model()->index(1, 0));
  EXPECT_EQ(asked, (std::vector<std::pair<int, quint32>>{{1, 7}}));
}

}  // namespace
}  // namespace lockstep::ui
