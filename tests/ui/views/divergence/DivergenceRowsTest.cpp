#include "ui/views/divergence/DivergenceRows.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/panels/TableText.h"
#include "ui/views/divergence/TwinTable.h"

namespace lockstep::ui {
namespace {

class Numbers : public TableRows {
 public:
  explicit Numbers(std::size_t size) : size_(size) {}
  [[nodiscard]] const std::vector<Column>& columns() const override { return columns_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    return column == 0 ? QString::number(row) : QStringLiteral("row %1").arg(row % 7);
  }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t) const override {
    return row == 3 ? std::nullopt : std::optional<double>(row);
  }

 private:
  std::size_t size_;
  std::vector<Column> columns_{{"Number", "", true}, {"Text", "", false}};
};

TEST(RowsModelTest, UnknownNumbersComeLastWhicheverWay) {
  RowsModel model;
  model.setRows(std::make_shared<Numbers>(5));
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(model.rowAt(0), 4u);
  EXPECT_EQ(model.rowAt(4), 3u);
  model.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(model.rowAt(0), 0u);
  EXPECT_EQ(model.rowAt(4), 3u);
  EXPECT_EQ(model.lineOf(4), 3);
  model.sort(-1, Qt::AscendingOrder);
  EXPECT_EQ(model.rowAt(3), 3u) << "the rows' own order again";
}

TEST(RowsModelTest, ALongTableIsHandedOutInPagesAndSortedOnAnotherThread) {
  RowsModel model;
  constexpr std::size_t kRows = 3'000'000;
  model.setRows(std::make_shared<Numbers>(kRows));
  EXPECT_EQ(model.rowCount(), RowsModel::kPage);
  EXPECT_TRUE(model.canFetchMore({}));
  model.fetchMore({});
  EXPECT_EQ(model.rowCount(), 2 * RowsModel::kPage);
  QSignalSpy sorted(&model, &RowsModel::sorted);
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(model.rowAt(0), 0u) << "the order stands until the new one is known";
  ASSERT_TRUE(QTest::qWaitFor([&] { return !sorted.isEmpty(); }, 60'000));
  EXPECT_EQ(model.rowAt(0), kRows - 1);
  EXPECT_EQ(model.lineOf(kRows - 50'000), 49'999) << "pages up to it are handed out";
  EXPECT_GT(model.rowCount(), 49'999);
}

TEST(TwinTableTest, CopiesTheSelectedRowsWithTheirHeader) {
  TwinTable table("numbers");
  table.setRows(std::make_shared<Numbers>(5));
  table.selectRow(1);
  EXPECT_EQ(rowsAsText(table), "Number\tText\n1\trow 1\n");
}

TEST(TwinTableTest, OnlyTheUserChooses) {
  TwinTable table("numbers");
  table.setRows(std::make_shared<Numbers>(5));
  QSignalSpy chosen(&table, &TwinTable::rowChosen);
  table.showRow(2);
  EXPECT_TRUE(chosen.isEmpty());
  EXPECT_EQ(table.currentIndex().row(), 2);
  table.setCurrentIndex(table.model()->index(4, 0));
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen.front().front().value<std::size_t>(), 4u);
}

TEST(TwinTableTest, NewsOfALiveRunMoveNothingUnderTheReadersEyes) {
  TwinTable table("numbers");
  table.resize(300, 200);
  table.setRows(std::make_shared<Numbers>(500));
  table.show();
  table.showRow(100);
  const QModelIndex top = table.indexAt({5, 5});
  table.setRows(std::make_shared<Numbers>(600));
  EXPECT_EQ(table.currentIndex().row(), 100);
  EXPECT_EQ(table.indexAt({5, 5}).row(), top.row());
}

TEST(DivergenceRowsTest, SaysOfAParameterSinceWhenAndWhere) {
  const auto rows = parameterRows(test::factsOfRun(test::replicas(4, 2, 2, 1)));
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->text(0, 3), "0");
  EXPECT_EQ(rows->text(0, 4), "none");
  EXPECT_EQ(rows->text(1, 2), "4");
  EXPECT_EQ(rows->text(1, 3), "1");
  EXPECT_EQ(rows->text(1, 4), "20");
  EXPECT_EQ(rows->text(1, 5), "rank 1");
  EXPECT_EQ(rows->text(1, 6), "50.0");
  EXPECT_TRUE(rows->warns(1));
  EXPECT_FALSE(rows->warns(0));
}

}  // namespace
}  // namespace lockstep::ui
