#include "ui/views/timeline/CounterValues.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

// The first value later than `ticks`, none of those before `from`: steps that double, since it is
// near as a rule.
std::size_t firstAfter(const CounterSeries& series, std::uint64_t ticks, std::size_t from) {
  const std::vector<MetricPoint>& points = series.points();
  std::size_t step = 1;
  std::size_t low = from;
  std::size_t high = from;
  while (high < points.size() && points[high].ticks <= ticks) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  const auto begin = points.begin();
  const auto at = std::upper_bound(
      begin + static_cast<std::ptrdiff_t>(low),
      begin + static_cast<std::ptrdiff_t>(std::min(high, points.size())), ticks,
      [](std::uint64_t time, const MetricPoint& point) { return time < point.ticks; });
  return static_cast<std::size_t>(at - begin);
}

// The values that count where those later than the left edge begin with `begin` and those later
// than the right one with `end`.
CounterValues valuesOf(const CounterSeries& series, bool overInterval, std::size_t begin,
                       std::size_t end) {
  if (overInterval) {
    return {begin, std::min(end + 1, series.size())};
  }
  return {begin > 0 ? begin - 1 : 0, end};
}

}  // namespace

// Note [Which values count]
//
// A counter is a list of values with their times; which value counts in between depends on how it
// was made:
//
//   times            10        20        30
//   values            1         3         2
//   taken             1111111111333333333 2     a value holds until the next one
//   mean of           |333333333322222222222    a value is of the time since the one before
//
//   in (15, 25]      taken: 1, which still holds, and 3     mean: 3, and 2, which reaches in
//
// So over a stretch there count the values whose times lie in it, and one more: of those that are
// taken the one before, of means the one after (valuesOf). Before the first time and after the last
// nothing counts, since nothing is known.
CounterValues counterValuesIn(const CounterSeries& series, bool overInterval,
                              std::uint64_t fromTicks, std::uint64_t toTicks) {
  const auto& points = series.points();
  if (points.empty() || toTicks < points.front().ticks || fromTicks > points.back().ticks) {
    return {};
  }
  // A mean that begins where the stretch ends says nothing of it.
  const std::uint64_t last = overInterval && toTicks > 0 ? toTicks - 1 : toTicks;
  return valuesOf(series, overInterval, series.firstAfter(fromTicks), series.firstAfter(last));
}

std::vector<CounterColumns> counterColumns(const RunModel& model, const CounterSeries& series,
                                           bool overInterval, const TimeAxis& axis) {
  std::vector<CounterColumns> columns;
  if (series.size() == 0) {
    return columns;
  }
  const auto& points = series.points();
  const double firstX = axis.toX(model.toNs(points.front().ticks));
  const double lastX = axis.toX(model.toNs(points.back().ticks));
  if (lastX < axis.left() || firstX > axis.right()) {
    return columns;
  }
  const double left = std::max(std::floor(firstX), std::floor(axis.left()));
  const double right = std::min(std::max(std::ceil(lastX), left + 1), std::ceil(axis.right()));
  std::size_t end = series.firstAfter(model.toTicks(axis.toNs(left)));
  // One column of pixels at a time, but for values that last longer than a pixel: with few values
  // in sight the loop jumps from one to the next, with many it makes a step a pixel.
  for (double x = left; x < right;) {
    const std::size_t begin = firstAfter(series, model.toTicks(axis.toNs(x)), end);
    end = firstAfter(series, model.toTicks(axis.toNs(x + 1)), begin);
    const CounterValues values = valuesOf(series, overInterval, begin, end);
    double next = x + 1;
    if (values.last == values.first + 1) {
      // One value alone: it goes on to the column in which the next one begins to count.
      const std::size_t until = overInterval ? values.first : values.last;
      if (until < series.size()) {
        // A column has what comes after its left edge, up to and with its right one.
        const double column = std::ceil(axis.toX(model.toNs(points[until].ticks))) - 1;
        next = std::clamp(column, next, right);
      } else {
        next = right;
      }
    }
    const CounterSeries::Summary sum = series.summary(values.first, values.last);
    if (sum.any()) {
      if (!columns.empty() && columns.back().right == x && columns.back().minimum == sum.minimum &&
          columns.back().maximum == sum.maximum) {
        columns.back().right = next;
      } else {
        columns.push_back({x, next, sum.minimum, sum.maximum});
      }
    }
    x = next;
  }
  return columns;
}

std::size_t counterValueAt(const RunModel& model, const CounterSeries& series, bool overInterval,
                           double ns) {
  if (series.size() == 0) {
    return 0;
  }
  const auto& points = series.points();
  const double firstNs = model.toNs(points.front().ticks);
  const double lastNs = model.toNs(points.back().ticks);
  if (ns < firstNs || ns > lastNs) {
    return series.size();
  }
  const std::size_t after = series.firstAfter(model.toTicks(ns));
  if (overInterval) {
    // A value counts up to and with its own time.
    const bool itsOwn = after > 0 && model.toNs(points[after - 1].ticks) >= ns;
    return itsOwn ? after - 1 : std::min(after, series.size() - 1);
  }
  return after > 0 ? after - 1 : 0;
}

TimeRange timeOfValue(const RunModel& model, const CounterSeries& series, bool overInterval,
                      std::size_t index) {
  const auto& points = series.points();
  const double own = model.toNs(points[index].ticks);
  if (overInterval) {
    return {index > 0 ? model.toNs(points[index - 1].ticks) : own, own};
  }
  return {own, index + 1 < points.size() ? model.toNs(points[index + 1].ticks) : own};
}

}  // namespace lockstep::ui
