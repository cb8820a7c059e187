#include "engine/trace/Event.h"
#include "ui/model/Counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/ui/model/Feed.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

CounterSeries seriesOf(const std::vector<double>& values) {
  CounterSeries series;
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.add({0, 10 * (i + 1), values[i]});
  }
  return series;
}

TEST(CounterSeries, SumsUpAnyStretchAsAWalkOverItDoes) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> value(-1000, 1000);
  std::vector<double> values(5000);
  std::generate(values.begin(), values.end(), [&] { return value(random); });
  const CounterSeries series = seriesOf(values);
  std::uniform_int_distribution<std::size_t> place(0, values.size());
  for (int i = 0; i < 2000; ++i) {
    const auto [first, last] = std::minmax({place(random), place(random)});
    const CounterSeries::Summary sum = series.summary(first, last);
    ASSERT_EQ(sum.count, last - first);
    if (first == last) {
      EXPECT_FALSE(series.peak(first, last).has_value());
      continue;
    }
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(last);
    EXPECT_EQ(sum.minimum, *std::min_element(begin, end));
    EXPECT_EQ(sum.maximum, *std::max_element(begin, end));
    EXPECT_EQ(sum.sum, std::accumulate(begin, end, 0.0));
    EXPECT_EQ(series.peak(first, last),
              static_cast<std::size_t>(std::max_element(begin, end) - values.begin()));
  }
}

TEST(CounterSeries, PutsWhatComesLateWhereItsTimeIs) {
  std::mt19937 random(3);
  std::vector<MetricPoint> points;
  for (std::uint64_t i = 0; i < 900; ++i) {
    points.push_back({0, i, std::floor(1000 * std::sin(static_cast<double>(i)))});
  }
  std::vector<MetricPoint> mixed = points;
  std::shuffle(mixed.begin(), mixed.end(), random);
  CounterSeries inOrder;
  CounterSeries shuffled;
  for (std::size_t i = 0; i < points.size(); ++i) {
    inOrder.add(points[i]);
    shuffled.add(mixed[i]);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(shuffled.points()[i].ticks, i);
  }
  for (std::size_t first = 0; first < points.size(); first += 37) {
    EXPECT_EQ(shuffled.summary(first, points.size()), inOrder.summary(first, points.size()));
  }
}

TEST(CounterSeries, LeavesOutWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const CounterSeries series = seriesOf({nan, 4, nan, 2, INFINITY});
  EXPECT_EQ(series.summary(), (CounterSeries::Summary{2, 4, 6, 2}));
  EXPECT_EQ(series.summary().mean(), 3);
  EXPECT_EQ(series.peak(0, 5), 1u);
  EXPECT_FALSE(series.summary(2, 3).any());
  EXPECT_FALSE(series.peak(2, 3).has_value());
}

TEST(CounterSeries, FindsTheFirstValueLaterThanATime) {
  const CounterSeries series = seriesOf({1, 2, 3});  // at 10, 20, 30
  EXPECT_EQ(series.firstAfter(9), 0u);
  EXPECT_EQ(series.firstAfter(10), 1u);
  EXPECT_EQ(series.firstAfter(29), 2u);
  EXPECT_EQ(series.firstAfter(30), 3u);
}

TEST(Counters, KnowTheExtremesOfAllRanksAndComeFromTheRunsMetrics) {
  trace::RunUpdate update = test::Feed().span(1, trace::EventKind::kStep, 0, 100).take();
  update.metrics = {{1, 0, "resident_bytes", 0, 1010, 5e6},
                    {2, 1, "resident_bytes", 0, 1010, 9e6},
                    {3, 0, "resident_bytes", 0, 1030, 7e6},
                    {4, 0, "loss", 0, 1020, 2.5}};
  RunModel model;
  model.applyUpdate(update);
  EXPECT_EQ(model.metricNames(), (std::vector<std::string>{"loss", "resident_bytes"}));
  EXPECT_EQ(model.counters().summary("resident_bytes"),
            (CounterSeries::Summary{5e6, 9e6, 21e6, 3}));
  ASSERT_NE(model.counters().find("resident_bytes", 0), nullptr);
  EXPECT_EQ(model.counters().find("resident_bytes", 0)->size(), 2u);
  EXPECT_EQ(model.metric("resident_bytes", 0).size(), 2u);
  EXPECT_EQ(model.counters().find("resident_bytes", 2), nullptr);
  EXPECT_FALSE(model.counters().summary("nothing").any());
}

}  // namespace
}  // namespace lockstep::ui
