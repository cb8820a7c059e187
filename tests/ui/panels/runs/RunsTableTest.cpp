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

TEST_F(RunsTableTest, TermsCompareSettingsTheirDefaultsIncluded) {
  RunEntry small = entry("small", "mlp", 2);
  small.settings = {{"ddp.bucket_cap_mb", "5"}, {"hook.name", "powersgd"}, {"hook.rank", "2"}};
  show({small, entry("usual", "mlp", 2)});
  EXPECT_EQ(visible("bucket_cap_mb<=5"), QStringList{"small"});
  EXPECT_EQ(visible("ddp.bucket_cap_mb>5"), QStringList{"usual"});
  EXPECT_EQ(visible("hook.rank=2"), QStringList{"small"});
  EXPECT_EQ(visible("hook.name:powersgd"), QStringList{"small"});
  EXPECT_EQ(visible("hook.rank<9"), QStringList{"small"}) << "what has no such key is in no range";
}

TEST_F(RunsTableTest, NamesTagsAndNotesAreFoundAndShown) {
  RunEntry run = entry("a", "mlp", 2);
  run.label = {"the good one", {"baseline", "to show"}, "after\nthe fix"};
  run.subtitle = "bucket_cap_mb 5";
  show({run, entry("b", "mlp", 2)});
  EXPECT_EQ(model_.index(0, RunsTable::kName).data().toString(), "the good one");
  EXPECT_EQ(model_.index(0, RunsTable::kName).data(Qt::ToolTipRole).toString(),
            "the good one\nrecorded as a\nbucket_cap_mb 5");
  EXPECT_EQ(model_.index(0, RunsTable::kName).data(RunsTable::kSubtitleRole).toString(),
            "bucket_cap_mb 5");
  EXPECT_EQ(model_.index(0, RunsTable::kTags).data().toString(), "baseline, to show");
  EXPECT_EQ(model_.index(0, RunsTable::kNote).data().toString(), "after the fix");
  EXPECT_EQ(visible("tag:baseline"), QStringList{"the good one"});
  EXPECT_EQ(visible("note:fix"), QStringList{"the good one"});
  EXPECT_EQ(visible("good"), QStringList{"the good one"});
}

TEST_F(RunsTableTest, RunsOfAGroupStandTogetherInTheOrderOfGroups) {
  const auto capped = [](const QString& path, const QString& cap, int world) {
    RunEntry run = entry(path, "mlp", world);
    run.settings = {{"ddp.bucket_cap_mb", cap}};
    return run;
  };
  RunEntry broken = entry("e", "mlp", 2);
  broken.problem = "broken: not a run file";
  model_.setRows(std::make_shared<RunsTable>(
      std::vector<RunEntry>{capped("a", "100", 2), capped("b", "9", 8), capped("c", "100", 4),
                            broken, entry("d", "mlp", 1)},
      "ddp.bucket_cap_mb"));
  model_.sort(RunsTable::kWorld, Qt::DescendingOrder);
  QStringList order;
  for (int line = 0; line < model_.rowCount(); ++line) {
    order << model_.index(line, RunsTable::kName).data().toString() + ' ' +
                 model_.index(line, RunsTable::kGroup).data().toString();
  }
  EXPECT_EQ(order, (QStringList{"b 9", "d 25", "c 100", "a 100", QString("e –")}))
      << "by number, the default among them, what is unknown last";
  EXPECT_EQ(model_.headerData(RunsTable::kGroup, Qt::Horizontal, Qt::DisplayRole).toString(),
            "ddp.bucket_cap_mb");
  model_.sort(RunsTable::kGroup, Qt::DescendingOrder);
  EXPECT_EQ(model_.index(0, RunsTable::kGroup).data().toString(), "100") << "sorted by it";
}

TEST_F(RunsTableTest, DaysStandWithTheLatestFirstAndTagsByTheAlphabet) {
  const auto of = [](const QString& path, int day, const QStringList& tags) {
    RunEntry run = entry(path, "mlp", 2);
    run.started = QDateTime(QDate(2026, 3, day), QTime(12, 0));
    run.label.tags = tags;
    return run;
  };
  const std::vector<RunEntry> runs{of("a", 1, {"slow"}), of("b", 7, {}), of("c", 3, {"baseline"})};
  const auto names = [&](const QString& key) {
    model_.setRows(std::make_shared<RunsTable>(runs, key));
    QStringList order;
    for (int line = 0; line < model_.rowCount(); ++line) {
      order << model_.index(line, RunsTable::kName).data().toString();
    }
    return order.join("");
  };
  EXPECT_EQ(names("day"), "bca");
  EXPECT_EQ(names("tag"), "cab");
  EXPECT_EQ(names(""), "abc");
}

TEST_F(RunsTableTest, RunsThatAreComparedHaveTheirLetterAndColour) {
  model_.setRows(std::make_shared<RunsTable>(
      std::vector<RunEntry>{entry("a", "mlp", 2), entry("b", "mlp", 2), entry("c", "mlp", 2)},
      QString(), QStringList{"c", "a"}));
  const auto of = [&](int row, int role) { return model_.index(row, RunsTable::kName).data(role); };
  EXPECT_EQ(of(0, RunsTable::kLetterRole).toString(), "B");
  EXPECT_EQ(of(2, RunsTable::kLetterRole).toString(), "A");
  EXPECT_EQ(of(2, RunsTable::kColourRole).value<QColor>(), currentPalette().rank(0));
  EXPECT_FALSE(of(1, RunsTable::kLetterRole).isValid());
}

TEST_F(RunsTableTest, ARunThatIsNotReadYetSaysSoAndIsNotLive) {
  const RunEntry unread = unreadRunEntry("/runs/some.lockstep");
  EXPECT_FALSE(unread.live());
  show({unread});
  EXPECT_EQ(model_.index(0, RunsTable::kState).data().toString(), "not read yet");
  EXPECT_EQ(model_.index(0, RunsTable::kName).data().toString(), "some");
  EXPECT_EQ(model_.index(0, RunsTable::kWorld).data().toString(), "");
  EXPECT_EQ(visible("world<4"), QStringList{});
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
