#include "ui/table/WrittenTable.h"

#include <gtest/gtest.h>

#include <QHeaderView>

namespace lockstep::ui {
namespace {

QColor red() {
  return Qt::red;
}

WrittenRows rowsOf(std::vector<WrittenRows::Row> rows) {
  return WrittenRows({{QStringLiteral("Name")}, {QStringLiteral("Size"), {}, true}},
                     std::move(rows));
}

TEST(WrittenRowsTest, ACellSaysMoreUnderThePointerOnlyWhereThatIsWritten) {
  const WrittenRows rows = rowsOf({{{"a", {}, "more of a"}, {"1 KiB", 1024, {}, red, true}}});
  EXPECT_EQ(rows.tip(0, 0), "more of a");
  EXPECT_EQ(rows.tip(0, 1), "1 KiB");
  EXPECT_EQ(rows.number(0, 1), 1024);
  EXPECT_EQ(rows.look(0, 1, Qt::ForegroundRole).value<QColor>(), QColor(Qt::red));
  EXPECT_TRUE(rows.look(0, 1, Qt::FontRole).value<QFont>().underline());
  EXPECT_FALSE(rows.look(0, 0, Qt::ForegroundRole).isValid());
}

TEST(WrittenRowsTest, RowsGoOnWithThoseThatStandFirstInThem) {
  const WrittenRows one = rowsOf({{{"a"}, {"1"}}});
  const WrittenRows two = rowsOf({{{"a"}, {"2"}}, {{"b"}, {"1"}}});
  const WrittenRows other = rowsOf({{{"c"}, {"1"}}});
  EXPECT_TRUE(two.continues(one));
  EXPECT_FALSE(one.continues(two));
  EXPECT_FALSE(other.continues(one));
}

TEST(LowTableTest, IsAsHighAsItsRowsUpToTheMost) {
  LowTable table("Things", {{QStringLiteral("Name")}}, 3);
  const auto heightOf = [&](std::size_t rows) {
    table.write(std::vector<WrittenRows::Row>(rows, WrittenRows::Row{{"a"}}));
    return table.height();
  };
  const int one = heightOf(1);
  EXPECT_EQ(heightOf(2) - one, table.rowHeight(0));
  EXPECT_EQ(heightOf(9), heightOf(3));
}

TEST(LowTableTest, OnlyALinkIsFollowedWhicheverWayTheRowsAreSorted) {
  LowTable table("Things", {{QStringLiteral("Name")}});
  table.write({{{"plain"}}, {{"a link", {}, {}, red, true}}});
  std::vector<std::size_t> followed;
  QObject::connect(&table, &LowTable::followed, [&](std::size_t row) { followed.push_back(row); });
  table.sortByColumn(0, Qt::AscendingOrder);
  emit table.clicked(table.model()->index(0, 0));
  emit table.activated(table.model()->index(0, 0));
  emit table.activated(table.model()->index(1, 0));
  EXPECT_EQ(followed, (std::vector<std::size_t>{1, 1}));
}

}  // namespace
}  // namespace lockstep::ui
