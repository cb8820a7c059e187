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

class TableColumns : public testing::Test {
 protected:
  TableColumns() {
    table_.setRows(std::make_shared<Numbers>(5));
    table_.resize(400, 200);
    table_.show();
    table_.setColumnWidth(0, 200);
    table_.setColumnWidth(1, 150);
    table_.horizontalHeader()->setStretchLastSection(false);
    table_.keepInSight(1, {{0, 80}});
  }
  [[nodiscard]] int room() const { return table_.viewport()->width(); }

  TableView table_{"numbers"};
};

TEST_F(TableColumns, AColumnThatGivesWayDoesSoInANarrowTableAndIsAsWideAsBeforeInAWideOne) {
  EXPECT_EQ(table_.columnWidth(0), 200);
  table_.resize(300, 200);
  EXPECT_EQ(table_.columnWidth(0) + table_.columnWidth(1), room());
  EXPECT_EQ(table_.columnWidth(1), 150);
  table_.resize(100, 200);
  EXPECT_EQ(table_.columnWidth(0), 80) << "no narrower";
  table_.resize(400, 200);
  EXPECT_EQ(table_.columnWidth(0), 200);
}

TEST_F(TableColumns, AColumnKeepsTheWidthThatTheUserGaveIt) {
  table_.setColumnWidth(0, 220);
  table_.resize(300, 200);
  EXPECT_EQ(table_.columnWidth(0), 220);
}

// The picture of a column's title, or of the place where it would be.
TEST_F(TableColumns, ATitleThatNoLongerFitsIsLeftAwayAndNotCutOff) {
  const auto inked = [this](int column) {
    QHeaderView& header = *table_.horizontalHeader();
    const QImage picture = header
                               .grab({header.sectionViewportPosition(column) + 2, 2,
                                      header.sectionSize(column) - 4, header.height() - 4})
                               .toImage();
    for (int y = 0; y < picture.height(); ++y) {
      for (int x = 0; x < picture.width(); ++x) {
        if (picture.pixel(x, y) != picture.pixel(0, y)) {
          return true;
        }
      }
    }
    return false;
  };
  table_.keepInSight(1, {{0, 16}});
  EXPECT_TRUE(inked(0));
  table_.resize(150, 200);
  ASSERT_LT(table_.columnWidth(0), 30);
  EXPECT_FALSE(inked(0));
  EXPECT_TRUE(inked(1)) << "a column that does not give way keeps its title";
  EXPECT_EQ(table_.model()->headerData(0, Qt::Horizontal).toString(), "Number")
      << "for the clipboard";
}

TEST_F(TableColumns, AnotherColumnThatGetsWiderIsGivenWayTo) {
  table_.setColumnWidth(1, 250);
  EXPECT_EQ(table_.columnWidth(0) + table_.columnWidth(1), room());
}

}  // namespace
}  // namespace lockstep::ui
