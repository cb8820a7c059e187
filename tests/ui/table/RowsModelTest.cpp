#include "ui/table/RowsModel.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "tests/ui/table/Numbers.h"

namespace lockstep::ui {
namespace {

using test::Numbers;

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

/// A column that is called as a term is, beside one that is not.
class Titled : public TableRows {
 public:
  Titled() : TableRows({{"Exposed ms", "Median, in ms"}, {"Tea", "Hot"}}) {}
  [[nodiscard]] std::size_t size() const override { return 0; }
  [[nodiscard]] QString text(std::size_t, std::size_t) const override { return {}; }
};

TEST(RowsModelTest, ATitleThatIsATermSaysWhatItMeans) {
  RowsModel model;
  model.setRows(std::make_shared<Titled>());
  const auto tip = [&](int column) {
    return model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString();
  };
  EXPECT_TRUE(tip(0).contains("Median, in ms") && tip(0).contains("<b>exposed time</b>"))
      << tip(0).toStdString();
  EXPECT_EQ(tip(1), "Hot");
}

/// Numbers whose last digit is a group.
class Grouped : public Numbers {
 public:
  using Numbers::Numbers;
  [[nodiscard]] std::optional<std::size_t> groupedBy() const override { return 1; }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    return column == 1 ? std::optional<double>(row % 3) : std::optional<double>(row);
  }
};

TEST(RowsModelTest, GroupsStandTogetherWhateverRowsAreSortedBy) {
  RowsModel model;
  model.setRows(std::make_shared<Grouped>(6));
  const auto order = [&] {
    std::vector<std::size_t> rows;
    for (int line = 0; line < model.rowCount(); ++line) {
      rows.push_back(model.rowAt(line));
    }
    return rows;
  };
  EXPECT_EQ(order(), (std::vector<std::size_t>{0, 3, 1, 4, 2, 5})) << "unsorted";
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(order(), (std::vector<std::size_t>{3, 0, 4, 1, 5, 2}));
  model.setFilter([](const TableRows&, std::size_t row) { return row != 4; });
  EXPECT_EQ(order(), (std::vector<std::size_t>{3, 0, 1, 5, 2}));
}

TEST(RowsModelTest, ALongTableIsHandedOutInPagesAndSortedOnAnotherThread) {
  RowsModel model;
  constexpr std::size_t kRows = 3'000'000;
  model.setRows(std::make_shared<Numbers>(kRows));
  EXPECT_EQ(model.rowCount(), RowsModel::kPage);
  EXPECT_TRUE(model.canFetchMore({}));
  model.fetchMore({});
  EXPECT_EQ(model.rowCount(), 2 * RowsModel::kPage);
  QSignalSpy arranged(&model, &RowsModel::arranged);
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(model.rowAt(0), 0u) << "the order stands until the new one is known";
  ASSERT_TRUE(QTest::qWaitFor([&] { return !arranged.isEmpty(); }, 60'000));
  EXPECT_EQ(model.rowAt(0), kRows - 1);
  EXPECT_EQ(model.lineOf(kRows - 50'000), 49'999) << "pages up to it are handed out";
  EXPECT_GT(model.rowCount(), 49'999);
}

TEST(RowsModelTest, WhatIsMarkedStaysWithItsRowWhenAnotherOrderStands) {
  RowsModel model;
  model.setRows(std::make_shared<Numbers>(10));
  const QPersistentModelIndex marked = model.index(7, 1);
  model.sort(0, Qt::DescendingOrder);
  EXPECT_EQ(model.rowAt(marked.row()), 7u);
  EXPECT_EQ(marked.row(), 2);
  model.setRows(std::make_shared<Numbers>(20));
  EXPECT_EQ(model.rowAt(marked.row()), 7u) << "news of the same rows, in the order that stands";
  EXPECT_EQ(marked.row(), 12);
  model.setRows(std::make_shared<Numbers>(5));
  EXPECT_FALSE(marked.isValid()) << "it is gone";
}

TEST(RowsModelTest, AFilterLeavesWhatItAcceptsInTheOrderThatStands) {
  RowsModel model;
  model.setRows(std::make_shared<Numbers>(10));
  model.sort(0, Qt::DescendingOrder);
  const QPersistentModelIndex seven = model.index(model.lineOf(7), 0);
  const QPersistentModelIndex six = model.index(model.lineOf(6), 0);
  model.setFilter([](const TableRows&, std::size_t row) { return row % 2 == 0; });
  ASSERT_EQ(model.rowCount(), 5);
  EXPECT_EQ(model.rowAt(0), 8u);
  EXPECT_EQ(model.lineOf(7), -1);
  EXPECT_FALSE(seven.isValid());
  EXPECT_EQ(six.row(), 1);
  model.setFilter([](const TableRows&, std::size_t) { return false; });
  EXPECT_EQ(model.rowCount(), 0);
  model.setFilter(nullptr);
  EXPECT_EQ(model.rowCount(), 10);
}

TEST(RowsModelTest, ALongTableGrowsAtItsEndUntilTheNewOrderIsKnown) {
  RowsModel model;
  model.setPage(1'000'000);
  model.setRows(std::make_shared<Numbers>(10'000));
  model.sort(0, Qt::DescendingOrder);
  ASSERT_TRUE(QTest::qWaitFor([&] { return model.rowAt(0) == 9'999u; }, 60'000));
  model.setRows(std::make_shared<Numbers>(10'100));
  EXPECT_EQ(model.rowAt(0), 9'999u);
  EXPECT_EQ(model.rowAt(10'099), 10'099u);
  ASSERT_TRUE(QTest::qWaitFor([&] { return model.rowAt(0) == 10'099u; }, 60'000));
}

}  // namespace
}  // namespace lockstep::ui
