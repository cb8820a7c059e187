#include "ui/panels/runs/RunsTable.h"

#include <gtest/gtest.h>

#include <QColor>
#include <QPersistentModelIndex>
#include <memory>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/table/RowsModel.h"

namespace lockstep::ui {
namespace {

RunEntry entry(const QString& path, const QString& model, int world) {
  RunEntry run;
  run.path = path;
  run.name = path;
  run.model = model;
  run.worldSize = world;
  run.backend = "gloo";
  run.hook = "allreduce";
  run.bucketCapMb = 25;
  run.state = trace::RunState::kFinished;
  return run;
}

class RunsTableTest : public testing::Test {
 protected:
  RunsTableTest() { show({entry("b", "mlp", 2), entry("a", "cnn", 4), entry("c", "mlp", 8)}); }
  void show(std::vector<RunEntry> entries) {
    model_.setRows(std::make_shared<RunsTable>(std::move(entries)));
  }
  QStringList visible(const QString& line) {
    model_.setFilter([filter = RunsFilter(line)](const TableRows& rows, std::size_t row) {
      return filter.accepts(static_cast<const RunsTable&>(rows), row);
    });
    QStringList names;
    for (int row = 0; row < model_.rowCount(); ++row) {
      names << model_.index(row, RunsTable::kName).data().toString();
    }
    names.sort();
    return names;
  }

  RowsModel model_;
};

TEST_F(RunsTableTest, RowsThatStayKeepTheirIndexesOverAScan) {
  const QPersistentModelIndex c = model_.index(2, 0);
  show({entry("c", "mlp", 8), entry("d", "mlp", 2)});
  EXPECT_EQ(model_.rowCount(), 2);
  EXPECT_TRUE(c.isValid());
  EXPECT_EQ(c.row(), 0);
}

TEST_F(RunsTableTest, ABareWordMustOccurInSomeTextColumn) {
  EXPECT_EQ(visible("mlp"), (QStringList{"b", "c"}));
  EXPECT_EQ(visible("nothing"), QStringList{});
  EXPECT_EQ(visible(""), (QStringList{"a", "b", "c"}));
}

TEST_F(RunsTableTest, TermsCompareNumbersAndNameColumns) {
  EXPECT_EQ(visible("world>2"), (QStringList{"a", "c"}));
  EXPECT_EQ(visible("world<=4 model:mlp"), QStringList{"b"});
  EXPECT_EQ(visible("cap=25 state:finished"), (QStringList{"a", "b", "c"}));
}

TEST_F(RunsTableTest, WhatIsNotKnownIsADashAndSortsLast) {
  EXPECT_EQ(model_.index(0, RunsTable::kOverlap).data().toString(), QString("–"));
  RunEntry known = entry("known", "mlp", 2);
  known.overlapPercent = 40;
  show({entry("a", "mlp", 2), known});
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    model_.sort(RunsTable::kOverlap, order);
    EXPECT_EQ(model_.index(1, RunsTable::kName).data().toString(), "a");
  }
}

TEST_F(RunsTableTest, AFigureThatIsNotKnownIsInNoRange) {
  RunEntry known = entry("known", "mlp", 2);
  known.overlapPercent = 40;
  RunEntry broken = entry("broken", "mlp", 0);
  broken.problem = "broken: not a run file";
  show({known, broken, entry("unknown", "mlp", 2)});
  EXPECT_EQ(visible("overlap<50"), QStringList{"known"});
  EXPECT_EQ(visible("drops=0"), (QStringList{"known", "unknown"}));
  EXPECT_EQ(visible("world<4"), (QStringList{"known", "unknown"}));
  EXPECT_EQ(visible("model=0"), QStringList{}) << "a word is no number";
}

TEST_F(RunsTableTest, TheStartIsShortForRunsOfTodayAndWholeInTooltipAndFilter) {
  RunEntry now = entry("now", "mlp", 2);
  now.started = QDateTime::currentDateTime();
  RunEntry old = entry("old", "mlp", 2);
  old.started = QDateTime(QDate(2024, 2, 3), QTime(4, 5, 6));
  show({now, old});
  const auto started = [&](int row, int role) {
    return model_.index(row, RunsTable::kStarted).data(role).toString();
  };
  EXPECT_EQ(started(0, Qt::DisplayRole), now.started.toString("HH:mm:ss"));
  EXPECT_EQ(started(1, Qt::DisplayRole), "3 Feb 04:05");
  EXPECT_EQ(started(1, Qt::ToolTipRole), "2024-02-03 04:05:06");
  EXPECT_EQ(visible("started:2024-02"), QStringList{"old"});
}

TEST_F(RunsTableTest, ANameThatIsCutOffStandsWholeInItsTooltip) {
  show({entry("fault: a frozen rank", "mlp", 2)});
  EXPECT_EQ(model_.index(0, RunsTable::kName).data(Qt::ToolTipRole).toString(),
            "fault: a frozen rank");
}

TEST_F(RunsTableTest, ARunThatDivergedIsRedAndSaysWhereInItsTooltip) {
  RunEntry diverged = entry("a", "mlp", 2);
  diverged.state = trace::RunState::kDiverged;
  diverged.failure = "the replicas differ at step 60";
  show({diverged});
  const QModelIndex cell = model_.index(0, RunsTable::kState);
  EXPECT_EQ(cell.data().toString(), "diverged");
  EXPECT_EQ(cell.data(Qt::ForegroundRole).value<QColor>(), currentPalette().error);
  EXPECT_TRUE(cell.data(Qt::ToolTipRole).toString().contains("the replicas differ at step 60"));
}

TEST_F(RunsTableTest, AnUnreadableFileSaysSoAndShowsNoFigures) {
  RunEntry broken;
  broken.path = "z";
  broken.name = "z";
  broken.problem = "z: not a run file";
  show({broken});
  EXPECT_EQ(model_.index(0, RunsTable::kState).data().toString(), QString("unreadable"));
  EXPECT_EQ(model_.index(0, RunsTable::kWorld).data().toString(), QString());
  EXPECT_EQ(model_.index(0, 0).data(Qt::ToolTipRole).toString(), broken.problem);
}

}  // namespace
}  // namespace lockstep::ui
