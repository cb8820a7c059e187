#include <gtest/gtest.h>

#include <QComboBox>
#include <QLineEdit>
#include <QListView>
#include <QTableView>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/RunsPanel.h"

namespace lockstep::ui {
namespace {

using tests::SampleRun;
using tests::waitUntil;

TEST(RunsPanel, ListsARunThatAppearsAndFollowsItsStateToTheEnd) {
  const support::TemporaryFolder folder;
  RunsPanel panel(QString::fromStdString(folder.path().string()));
  SampleRun run(folder / "new.lockstep", 10);
  run.startUp();
  ASSERT_TRUE(waitUntil([&] {
    return panel.model().rowCount() == 1 &&
           panel.model().entry(0).state == trace::RunState::kRunning;
  }));
  run.steps(10);
  run.finish(trace::RunState::kFinished);
  ASSERT_TRUE(waitUntil(
      [&] { return panel.model().entry(0).state == trace::RunState::kFinished; }));
  EXPECT_TRUE(waitUntil([&] { return panel.model().entry(0).overlapPercent.has_value(); }));
  EXPECT_EQ(panel.model().entry(0).name, "demo");
  EXPECT_EQ(panel.model().entry(0).worldSize, SampleRun::kRanks);
  EXPECT_GT(panel.model().entry(0).exposedMs.value_or(0), 0);
}

TEST(RunsPanel, AFolderThatDoesNotExistYetIsWatchedOnceItDoes) {
  const support::TemporaryFolder folder;
  RunsPanel panel(QString::fromStdString((folder / "runs").string()));
  std::filesystem::create_directories(folder / "runs");
  tests::writeFinishedRun(folder / "runs" / "one.lockstep", 3);
  panel.refresh();
  EXPECT_TRUE(waitUntil([&] { return panel.model().rowCount() == 1; }));
}

TEST(RunsPanel, MarksTheOpenRunAsSoonAsItsRowAppearsAndThenLeavesTheSelectionAlone) {
  const support::TemporaryFolder folder;
  tests::writeFinishedRun(folder / "old.lockstep", 3);
  RunsPanel panel(QString::fromStdString(folder.path().string()));
  const auto marked = [&] { return panel.view()->currentIndex().siblingAtColumn(RunsModel::kState)
                                       .data(Qt::ToolTipRole).toString(); };
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
    const QModelIndex index = panel.view()->model()->index(row, RunsModel::kName);
    const QModelIndex state = index.siblingAtColumn(RunsModel::kState);
    if (state.data(Qt::ToolTipRole) == pathOf("old.lockstep")) panel.view()->setCurrentIndex(index);
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
  const auto line = [&](int row) { return panel.model().index(row).data().toString(); };
  EXPECT_TRUE(line(0).startsWith("run ")) << line(0).toStdString();
  known = true;
  EXPECT_EQ(line(0).simplified(), "1.235 s run rank 1 finished");
  EXPECT_TRUE(line(1).startsWith("run ")) << line(1).toStdString();
}

TEST(LogPanel, ShowsTheLinesOfOneRankThatContainAText) {
  LogPanel panel;
  panel.setWorldSize(2);
  std::vector<trace::LogRow> rows(4);
  rows[0].text = "listening";
  for (int i = 1; i < 4; ++i) {
    rows[i].rank = i % 2;
    rows[i].text = i == 3 ? "epoch done" : "epoch begins";
  }
  panel.append(rows);
  const auto* view = panel.findChild<QListView*>("logLines");
  EXPECT_EQ(view->model()->rowCount(), 4);
  panel.findChild<QComboBox*>("logRank")->setCurrentText("Rank 1");
  EXPECT_EQ(view->model()->rowCount(), 2);
  panel.findChild<QLineEdit*>("logText")->setText("DONE");
  ASSERT_EQ(view->model()->rowCount(), 1);
  EXPECT_TRUE(view->model()->index(0, 0).data().toString().contains("epoch done"));
}

TEST(ProblemsPanel, OnlyAProblemWithAnIterationCanBeShown) {
  ProblemsPanel panel;
  panel.model().add({true, 1, 7, "rank 1 was killed"});
  panel.model().add({false, -1, std::nullopt, "the studio has a remark"});
  std::vector<std::pair<int, quint32>> asked;
  QObject::connect(&panel, &ProblemsPanel::showRequested,
                   [&](int rank, quint32 step) { asked.emplace_back(rank, step); });
  auto* view = panel.findChild<QTableView*>("problemsTable");
  emit view->activated(panel.model().index(0, 0));
  emit view->activated(panel.model().index(1, 0));
  EXPECT_EQ(asked, (std::vector<std::pair<int, quint32>>{{1, 7}}));
}

}  // namespace
}  // namespace lockstep::ui
