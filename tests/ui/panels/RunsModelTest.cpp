#include "ui/panels/RunsModel.h"

#include <gtest/gtest.h>

#include <QColor>

#include "ui/panels/CurrentPalette.h"

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

class RunsModelTest : public testing::Test {
 protected:
  RunsModelTest() {
    model_.setEntries({entry("b", "mlp", 2), entry("a", "cnn", 4), entry("c", "mlp", 8)});
    filter_.setSourceModel(&model_);
  }
  QStringList visible(const QString& line) {
    filter_.setLine(line);
    QStringList names;
    for (int row = 0; row < filter_.rowCount(); ++row) {
      names << filter_.index(row, RunsModel::kName).data().toString();
    }
    names.sort();
    return names;
  }

  RunsModel model_;
  RunsFilter filter_;
};

TEST_F(RunsModelTest, RowsThatStayKeepTheirIndexesOverAScan) {
  const QPersistentModelIndex c = model_.index(2, 0);
  model_.setEntries({entry("c", "mlp", 8), entry("d", "mlp", 2)});
  EXPECT_EQ(model_.rowCount(), 2);
  EXPECT_TRUE(c.isValid());
  EXPECT_EQ(c.row(), 0);
}

TEST_F(RunsModelTest, ABareWordMustOccurInSomeTextColumn) {
  EXPECT_EQ(visible("mlp"), (QStringList{"b", "c"}));
  EXPECT_EQ(visible("nothing"), QStringList{});
  EXPECT_EQ(visible(""), (QStringList{"a", "b", "c"}));
}

TEST_F(RunsModelTest, TermsCompareNumbersAndNameColumns) {
  EXPECT_EQ(visible("world>2"), (QStringList{"a", "c"}));
  EXPECT_EQ(visible("world<=4 model:mlp"), QStringList{"b"});
  EXPECT_EQ(visible("cap=25 state:finished"), (QStringList{"a", "b", "c"}));
}

TEST_F(RunsModelTest, WhatIsNotKnownIsADashAndSortsLast) {
  EXPECT_EQ(model_.index(0, RunsModel::kOverlap).data().toString(), QString("–"));
  EXPECT_LT(model_.index(0, RunsModel::kOverlap).data(RunsModel::kValueRole).toDouble(), 0);
}

TEST_F(RunsModelTest, TheStartIsShortForRunsOfTodayAndWholeInTooltipAndFilter) {
  RunEntry now = entry("now", "mlp", 2);
  now.started = QDateTime::currentDateTime();
  RunEntry old = entry("old", "mlp", 2);
  old.started = QDateTime(QDate(2024, 2, 3), QTime(4, 5, 6));
  model_.setEntries({now, old});
  const auto started = [&](int row, int role) {
    return model_.index(row, RunsModel::kStarted).data(role).toString();
  };
  EXPECT_EQ(started(0, Qt::DisplayRole), now.started.toString("HH:mm:ss"));
  EXPECT_EQ(started(1, Qt::DisplayRole), "3 Feb 04:05");
  EXPECT_EQ(started(1, Qt::ToolTipRole), "2024-02-03 04:05:06");
  EXPECT_EQ(visible("started:2024-02"), QStringList{"old"});
}

TEST_F(RunsModelTest, ANameThatIsCutOffStandsWholeInItsTooltip) {
  model_.setEntries({entry("fault: a frozen rank", "mlp", 2)});
  EXPECT_EQ(model_.index(0, RunsModel::kName).data(Qt::ToolTipRole).toString(),
            "fault: a frozen rank");
}

TEST_F(RunsModelTest, ARunThatDivergedIsRedAndSaysWhereInItsTooltip) {
  RunEntry diverged = entry("a", "mlp", 2);
  diverged.state = trace::RunState::kDiverged;
  diverged.failure = "the replicas differ at step 60";
  model_.setEntries({diverged});
  const QModelIndex cell = model_.index(0, RunsModel::kState);
  EXPECT_EQ(cell.data().toString(), "diverged");
  EXPECT_EQ(cell.data(Qt::ForegroundRole).value<QColor>(), currentPalette().error);
  EXPECT_TRUE(cell.data(Qt::ToolTipRole).toString().contains("the replicas differ at step 60"));
}

TEST_F(RunsModelTest, AnUnreadableFileSaysSoAndShowsNoFigures) {
  RunEntry broken;
  broken.path = "z";
  broken.name = "z";
  broken.problem = "z: not a run file";
  model_.setEntries({broken});
  EXPECT_EQ(model_.index(0, RunsModel::kState).data().toString(), QString("unreadable"));
  EXPECT_EQ(model_.index(0, RunsModel::kWorld).data().toString(), QString());
  EXPECT_EQ(model_.index(0, 0).data(Qt::ToolTipRole).toString(), broken.problem);
}

}  // namespace
}  // namespace lockstep::ui
