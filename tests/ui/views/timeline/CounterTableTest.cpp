#include "ui/views/timeline/CounterTable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QPersistentModelIndex>
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "ui/table/RowsModel.h"
#include "ui/views/timeline/CounterValues.h"

namespace lockstep::ui {
namespace {

using testing::ElementsAre;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct Taken {
  std::uint64_t atNs = 0;
  double value = 0;
};

// A run of one rank and 1000 ns with these values, one tick a nanosecond.
class CounterTimesTest : public testing::Test {
 protected:
  void load(const char* name, const std::vector<Taken>& values) {
    trace::RunUpdate update = test::Feed().span(1, trace::EventKind::kStep, 0, 1000, 0).take();
    for (const Taken& taken : values) {
      update.metrics.push_back({0, 0, name, 0, 1000 + taken.atNs, taken.value});
    }
    model_.applyUpdate(update);
    name_ = name;
  }

  CounterRow within(double fromNs, double toNs) const {
    return counterRows(model_, {name_}, TimeRange{fromNs, toNs}).at(0);
  }

  // What the plot of that time says, a pixel a nanosecond.
  CounterSeries::Summary plotted(double fromNs, double toNs) const {
    CounterSeries::Summary sum;
    for (const CounterColumns& part :
         counterColumns(model_, *model_.counters().find(name_.toStdString(), 0),
                        counterFacts(name_.toStdString()).overInterval,
                        TimeAxis(fromNs, toNs, 0, toNs - fromNs))) {
      sum.minimum = std::min(sum.minimum, part.minimum);
      sum.maximum = std::max(sum.maximum, part.maximum);
      ++sum.count;
    }
    return sum;
  }

  void expectAsPlotted(double fromNs, double toNs) const {
    const CounterSeries::Summary plot = plotted(fromNs, toNs);
    const CounterSeries::Summary row = within(fromNs, toNs).summary;
    EXPECT_EQ(row.any(), plot.any()) << fromNs << " to " << toNs;
    EXPECT_EQ(row.minimum, plot.minimum) << fromNs << " to " << toNs;
    EXPECT_EQ(row.maximum, plot.maximum) << fromNs << " to " << toNs;
  }

  RunModel model_;
  QString name_;
};

// From 500 to 800 the 7 of 400 holds; from 500 to 950 it does until the 6 of 900.
TEST_F(CounterTimesTest, AStretchHasTheValueThatHoldsWhenItBegins) {
  load("resident_bytes", {{100, 5}, {400, 7}, {900, 6}});
  const CounterRow held = within(500, 800);
  EXPECT_EQ(held.summary.count, 1u);
  EXPECT_EQ(held.summary.mean(), 7);
  EXPECT_EQ(held.peakNs, 500);
  EXPECT_EQ(held.last, 7);
  EXPECT_EQ(held.lastNs, 500);
  const CounterRow both = within(500, 950);
  EXPECT_EQ(both.summary.minimum, 6);
  EXPECT_EQ(both.summary.maximum, 7);
  EXPECT_EQ(both.last, 6);
  EXPECT_EQ(both.lastNs, 900);
  for (const auto& [from, to] : {std::pair{0.0, 50.0},
                                 {50.0, 300.0},
                                 {150.0, 350.0},
                                 {500.0, 800.0},
                                 {500.0, 950.0},
                                 {950.0, 1000.0}}) {
    expectAsPlotted(from, to);
  }
}

// The 90 is the mean from 100 to 600, the 50 that from 600 to 900.
TEST_F(CounterTimesTest, AStretchHasTheMeanOfTheIntervalInWhichItEnds) {
  load("cpu_percent", {{100, 10}, {600, 90}, {900, 50}});
  const CounterRow inside = within(200, 300);
  EXPECT_EQ(inside.summary.count, 1u);
  EXPECT_EQ(inside.summary.maximum, 90);
  EXPECT_EQ(inside.peakNs, 300);
  EXPECT_EQ(inside.lastNs, 300);
  EXPECT_EQ(within(200, 600).summary.minimum, 90) << "the 50 begins where that ends";
  EXPECT_EQ(within(200, 601).summary.minimum, 50);
  for (const auto& [from, to] : {std::pair{0.0, 50.0},
                                 {150.0, 300.0},
                                 {200.0, 300.0},
                                 {300.0, 700.0},
                                 {650.0, 850.0},
                                 {950.0, 1000.0}}) {
    expectAsPlotted(from, to);
  }
}

TEST_F(CounterTimesTest, NothingCountsBeforeTheFirstValueAndAfterTheLast) {
  load("resident_bytes", {{100, 5}, {900, 6}});
  const CounterSeries& series = *model_.counters().find("resident_bytes", 0);
  for (const bool overInterval : {false, true}) {
    EXPECT_TRUE(counterValuesIn(series, overInterval, 1000, 1099).empty());
    EXPECT_TRUE(counterValuesIn(series, overInterval, 1901, 2000).empty());
    EXPECT_TRUE(counterValuesIn(CounterSeries(), overInterval, 0, 2000).empty());
    EXPECT_EQ(counterValuesIn(series, overInterval, 0, 3000), (CounterValues{0, 2}));
  }
}

// A row of one value.
CounterRow rowOf(int rank, double value, const char* name = "loss") {
  CounterRow row{name, rank, counterFacts(name), {value, value, value, 1}, 0, value, 0};
  return row;
}

std::shared_ptr<const TableRows> tableOf(std::vector<CounterRow> rows) {
  return std::make_shared<CounterTable>(std::move(rows));
}

int rankAt(const RowsModel& table, int line) {
  return static_cast<const CounterTable&>(*table.rows()).row(table.rowAt(line)).rank;
}

std::vector<int> ranksOf(const RowsModel& table) {
  std::vector<int> ranks;
  for (int line = 0; line < table.rowCount(); ++line) {
    ranks.push_back(rankAt(table, line));
  }
  return ranks;
}

TEST(CounterTableTest, WhatIsSelectedStaysWithItsRankWhenTheOrderChanges) {
  RowsModel table;
  table.setRows(tableOf({rowOf(0, 3), rowOf(1, 2), rowOf(2, 1)}));
  const QPersistentModelIndex chosen = table.index(1, CounterTable::kLast);
  const QPersistentModelIndex other = table.index(2, CounterTable::kRank);
  table.sort(CounterTable::kMaximum, Qt::AscendingOrder);
  EXPECT_THAT(ranksOf(table), ElementsAre(2, 1, 0));
  table.setRows(tableOf({rowOf(0, 3), rowOf(1, 9), rowOf(2, 4)}));
  EXPECT_THAT(ranksOf(table), ElementsAre(0, 2, 1));
  EXPECT_EQ(rankAt(table, chosen.row()), 1);
  EXPECT_EQ(chosen.column(), CounterTable::kLast);
  EXPECT_EQ(rankAt(table, other.row()), 2);
  EXPECT_EQ(chosen.data().toString(), "9");
  table.sort(CounterTable::kMaximum, Qt::DescendingOrder);
  EXPECT_EQ(rankAt(table, chosen.row()), 1);
  EXPECT_EQ(chosen.row(), 0);
  table.sort(-1, Qt::AscendingOrder);
  EXPECT_THAT(ranksOf(table), ElementsAre(0, 1, 2)) << "as they were given";
  EXPECT_EQ(chosen.row(), 1);
}

TEST(CounterTableTest, ASelectionIsNotHandedToAnotherCounter) {
  RowsModel table;
  table.setRows(tableOf({rowOf(0, 3), rowOf(1, 2)}));
  const QPersistentModelIndex chosen = table.index(1, 0);
  table.setRows(tableOf({rowOf(0, 3, "cpu_percent"), rowOf(1, 2, "cpu_percent")}));
  EXPECT_FALSE(chosen.isValid());
}

TEST(CounterTableTest, WhatIsNoNumberStandsLastWhicheverWay) {
  RowsModel table;
  CounterRow broken = rowOf(1, 4);
  broken.last = kNoNumber;
  CounterRow none = rowOf(3, 0);
  none.summary = {};
  table.setRows(tableOf({rowOf(0, 5), broken, rowOf(2, 3), none, rowOf(4, 6)}));
  table.sort(CounterTable::kLast, Qt::AscendingOrder);
  EXPECT_THAT(ranksOf(table), ElementsAre(2, 0, 4, 1, 3));
  EXPECT_EQ(table.index(3, CounterTable::kLast).data().toString(), "not finite");
  EXPECT_EQ(table.index(4, CounterTable::kLast).data().toString(), "–");
  table.sort(CounterTable::kLast, Qt::DescendingOrder);
  EXPECT_THAT(ranksOf(table), ElementsAre(4, 0, 2, 1, 3));
}

}  // namespace
}  // namespace lockstep::ui
