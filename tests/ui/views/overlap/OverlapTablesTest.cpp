#include "ui/views/overlap/OverlapTables.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <memory>
#include <utility>

#include "tests/ui/views/overlap/HandMadeContent.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

QString cell(const RowsModel& table, int line, int column) {
  return table.index(line, column).data().toString();
}

// Rank 0: step 10 ms, forward 2, backward 8, in flight 4 of which 1 overlaps.
TEST(OverlapTablesTest, GiveTheFiguresOfEachStepToTheLastDigit) {
  RowsModel table;
  table.setRows(overlapSteps(test::handMadeContent(4)));
  ASSERT_EQ(table.rowCount(), 8);
  const QStringList wanted{QStringLiteral("0"),      QStringLiteral("3"),
                           QStringLiteral("10.000"), QStringLiteral("2.000"),
                           QStringLiteral("8.000"),  QStringLiteral("0.000"),
                           QStringLiteral("4.000"),  QStringLiteral("1.000"),
                           QStringLiteral("3.000"),  QStringLiteral("25.00"),
                           QStringLiteral("2.000"),  QStringLiteral("1.000"),
                           QStringLiteral("1.000"),  QStringLiteral("uneven ranks, 3.00 ms")};
  for (int column = 0; column < table.columnCount(); ++column) {
    EXPECT_EQ(cell(table, 3, column), wanted[column]) << column;
  }
}

TEST(OverlapTablesTest, SortByAnyColumnBothWays) {
  RowsModel table;
  table.setRows(overlapSteps(test::handMadeContent(4)));
  table.sort(8, Qt::AscendingOrder);  // exposed: rank 1 has 1 ms, rank 0 has 3
  EXPECT_EQ(cell(table, 0, 0), QStringLiteral("1"));
  table.sort(8, Qt::DescendingOrder);
  EXPECT_EQ(cell(table, 0, 0), QStringLiteral("0"));
  EXPECT_EQ(table.lineOf(2), 2);
  EXPECT_EQ(table.rowAt(7), 7u);
}

TEST(OverlapTablesTest, AddTheCausesUpToTheMeanOfTheExposedTime) {
  RowsModel table;
  table.setRows(overlapCauses(test::handMadeContent(4)));
  ASSERT_EQ(table.rowCount(), 2);
  EXPECT_DOUBLE_EQ(table.index(0, 1).data(RowsModel::kSortRole).toDouble() +
                       table.index(1, 1).data(RowsModel::kSortRole).toDouble(),
                   2);
}

TEST(OverlapTablesTest, ShowMediansWithAndWithoutTheWarmUp) {
  RowsModel table;
  table.setRows(overlapRanks(test::handMadeContent(4)));
  ASSERT_EQ(table.rowCount(), 4);
  EXPECT_EQ(cell(table, 0, 2), QStringLiteral("3")) << "step 0 is warm-up";
  EXPECT_EQ(cell(table, 1, 2), QStringLiteral("4"));
  EXPECT_EQ(cell(table, 0, 16), QStringLiteral("9.000"));
}

TEST(OverlapTablesTest, KeepTheirRowsWhileALiveRunGrows) {
  RowsModel table;
  table.setRows(overlapSteps(test::handMadeContent(2)));
  table.setRows(overlapSteps(test::handMadeContent(4)));
  EXPECT_EQ(table.rowCount(), 8);
  table.setRows(overlapSteps(nullptr));
  EXPECT_EQ(table.rowCount(), 0);
}

TEST(OverlapTablesTest, AStepStaysMarkedWhenARankBeforeItGetsAnother) {
  RowsModel table;
  table.setRows(overlapSteps(test::handMadeContent(2)));
  const QPersistentModelIndex marked = table.index(3, 0);
  table.setRows(overlapSteps(test::handMadeContent(4)));
  EXPECT_EQ(cell(table, marked.row(), 0), QStringLiteral("1"));
  EXPECT_EQ(cell(table, marked.row(), 1), QStringLiteral("1"));
}

TEST(OverlapTablesTest, ACauseStaysMarkedWhenAnotherGrowsLarger) {
  RowsModel table;
  const auto before = test::handMadeContent(4);
  table.setRows(overlapCauses(before));
  const QPersistentModelIndex marked = table.index(1, 0);
  const QString cause = marked.data().toString();
  const auto after = std::make_shared<OverlapContent>(*before);
  std::swap(after->reasons[0], after->reasons[1]);
  table.setRows(overlapCauses(after));
  EXPECT_EQ(marked.row(), 0);
  EXPECT_EQ(marked.data().toString(), cause);
}

TEST(OverlapTablesTest, CopyTheSelectedRowsWithTheirHeader) {
  TableView view(QStringLiteral("ranks"));
  view.setRows(overlapRanks(test::handMadeContent(4)));
  view.selectRow(1);
  for (QAction* action : view.actions()) {
    action->trigger();
  }
  const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'));
  ASSERT_EQ(lines.size(), 3) << "header, row, end";
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("Rank\tOver\tIterations\tStep ms")));
  EXPECT_TRUE(lines[1].startsWith(QStringLiteral("0\tall\t4\t10.000")));
}

}  // namespace
}  // namespace lockstep::ui
