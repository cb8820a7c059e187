#include "ui/table/TableView.h"

#include <gtest/gtest.h>

#include <QHeaderView>
#include <QSignalSpy>

#include "tests/ui/table/Numbers.h"
#include "ui/table/TableText.h"

namespace lockstep::ui {
namespace {

using test::Numbers;

TEST(TableViewTest, CopiesTheSelectedRowsWithTheirHeader) {
  TableView table("numbers");
  table.setRows(std::make_shared<Numbers>(5));
  table.selectRow(1);
  EXPECT_EQ(rowsAsText(table), "Number\tText\n1\trow 1\n");
}

TEST(TableViewTest, OnlyTheUserChooses) {
  TableView table("numbers");
  table.setRows(std::make_shared<Numbers>(5));
  QSignalSpy chosen(&table, &TableView::rowChosen);
  table.showRow(2);
  EXPECT_TRUE(chosen.isEmpty());
  EXPECT_EQ(table.currentIndex().row(), 2);
  table.setCurrentIndex(table.model()->index(4, 0));
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen.front().front().value<std::size_t>(), 4u);
}

/// Rows of which nothing but the number is shown.
class FiguresAlone : public Numbers {
 public:
  FiguresAlone() : Numbers(5) { columns_.pop_back(); }
};

TEST(TableViewTest, ALastColumnOfWordsTakesTheRestOneOfFiguresStaysWithTheOthers) {
  TableView words("numbers");
  words.setRows(std::make_shared<Numbers>(5));
  EXPECT_TRUE(words.horizontalHeader()->stretchLastSection());
  TableView figures("numbers");
  figures.setRows(std::make_shared<FiguresAlone>());
  EXPECT_FALSE(figures.horizontalHeader()->stretchLastSection());
}

TEST(TableViewTest, NewsOfALiveRunMoveNothingUnderTheReadersEyes) {
  TableView table("numbers");
  table.resize(300, 200);
  table.setRows(std::make_shared<Numbers>(500));
  table.show();
  table.showRow(100);
  const QModelIndex top = table.indexAt({5, 5});
  table.setRows(std::make_shared<Numbers>(600));
  EXPECT_EQ(table.currentIndex().row(), 100);
  EXPECT_EQ(table.indexAt({5, 5}).row(), top.row());
}

}  // namespace
}  // namespace lockstep::ui
