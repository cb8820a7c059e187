#include "ui/views/timeline/CounterScene.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/FactCard.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kBand = 1.5;  // px, the thinnest band that is seen
constexpr double kMargin = 3;  // of the plot, above and below
constexpr double kPeakWidth = 7;
constexpr double kPeakHeight = 4;
constexpr int kOtherRanks = 6;  // in the card
constexpr float kPale = 0.3f;

struct Values {
  std::size_t first = 0;
  std::size_t last = 0;  // behind them
};

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
Values valuesOf(const CounterSeries& series, bool overInterval, std::size_t begin,
                std::size_t end) {
  if (overInterval) {
    return {begin, std::min(end + 1, series.size())};
  }
  return {begin > 0 ? begin - 1 : 0, end};
}

// The values that count somewhere after `fromTicks` up to `toTicks`.
Values valuesIn(const CounterSeries& series, bool overInterval, std::uint64_t fromTicks,
                std::uint64_t toTicks) {
  return valuesOf(series, overInterval, series.firstAfter(fromTicks), series.firstAfter(toTicks));
}

}  // namespace

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
  for (double x = left; x < right;) {
    const std::size_t begin = firstAfter(series, model.toTicks(axis.toNs(x)), end);
    end = firstAfter(series, model.toTicks(axis.toNs(x + 1)), begin);
    const Values values = valuesOf(series, overInterval, begin, end);
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

CounterLane::CounterLane(const RunModel& model, const std::string& name, int rank,
                         const CounterSeries& series, const QRectF& plot)
    : model_(model),
      name_(name),
      rank_(rank),
      series_(series),
      facts_(counterFacts(name)),
      scale_([&] {
        const CounterSeries::Summary all = model.counters().summary(name);
        return all.any() ? counterScale(facts_.unit, all.minimum, all.maximum) : CounterScale{};
      }()),
      plot_(plot.adjusted(0, kMargin, 0, -kMargin)) {}

double CounterLane::toY(double value) const {
  const double part = (value - scale_.low) / (scale_.high - scale_.low);
  return plot_.bottom() - std::clamp(part, 0.0, 1.0) * plot_.height();
}

QColor CounterLane::colour(const Palette& palette) const {
  return palette.rank(static_cast<int>(facts_.group));
}

void CounterLane::draw(DisplayList& list, const TimeAxis& axis, const Palette& palette) const {
  const QColor line = colour(palette);
  const QColor area = mixed(line, palette.background, kPale);
  const double zeroY = toY(0);
  list.fill(QRectF(axis.left(), std::round(zeroY), axis.width(), 1), palette.gridStrong);
  // Columns that look alike are one.
  struct Shape {
    double left = 0;
    double right = 0;
    double top = 0;
    double bottom = 0;
  };
  const auto fill = [&](const Shape& shape) {
    const double width = shape.right - shape.left;
    // From the far end of the band to zero, whichever side that is.
    const double from = std::min({shape.top, zeroY});
    const double to = std::max({shape.bottom, zeroY});
    list.fill(QRectF(shape.left, from, width, to - from), area);
    const double thick = std::max(shape.bottom - shape.top, kBand);
    list.fill(QRectF(shape.left, std::min(shape.top, plot_.bottom() - kBand), width, thick), line);
  };
  Shape pending;
  for (const CounterColumns& columns : counterColumns(model_, series_, facts_.overInterval, axis)) {
    const Shape shape{std::max(columns.left, axis.left()), std::min(columns.right, axis.right()),
                      std::round(2 * toY(columns.maximum)) / 2,
                      std::round(2 * toY(columns.minimum)) / 2};
    if (pending.right == shape.left && pending.top == shape.top && pending.bottom == shape.bottom) {
      pending.right = shape.right;
      continue;
    }
    if (pending.right > pending.left) {
      fill(pending);
    }
    pending = shape;
  }
  if (pending.right > pending.left) {
    fill(pending);
  }
  drawPeak(list, axis, palette);
}

// The largest value in sight, unless all are alike.
void CounterLane::drawPeak(DisplayList& list, const TimeAxis& axis, const Palette& palette) const {
  const Values values = valuesIn(series_, facts_.overInterval, model_.toTicks(axis.startNs()),
                                 model_.toTicks(axis.endNs()));
  const CounterSeries::Summary sum = series_.summary(values.first, values.last);
  const auto peak = series_.peak(values.first, values.last);
  if (!peak || sum.minimum == sum.maximum) {
    return;
  }
  const TimeRange time = timeOfValue(model_, series_, facts_.overInterval, *peak);
  const double left = std::max(axis.toX(time.startNs), axis.left());
  const double right = std::min(axis.toX(time.endNs), axis.right());
  if (right < axis.left() || left > axis.right()) {
    return;
  }
  const double x = std::round((left + right) / 2);
  const double y = toY(sum.maximum);
  const QColor ink = palette.text;
  list.polygon(
      {{x - kPeakWidth / 2, y - kPeakHeight}, {x + kPeakWidth / 2, y - kPeakHeight}, {x, y}}, ink);
  const QString text = counterText(facts_.unit, sum.maximum);
  const double width = textWidth(text, FontRole::kSmall) + 6;
  const double high = lineHeight(FontRole::kSmall);
  const bool roomRight = x + kPeakWidth + width < axis.right();
  const QRectF plate(
      roomRight ? x + kPeakWidth : x - kPeakWidth - width,
      std::clamp(y - kPeakHeight, plot_.top() - kMargin + 1, plot_.bottom() + kMargin - high),
      width, high);
  if (plate.left() < axis.left()) {
    return;
  }
  QColor ground = palette.background;
  ground.setAlphaF(0.8f);
  list.fill(plate, ground, 2);
  list.text(plate, text, palette.text, FontRole::kSmall, Qt::AlignHCenter | Qt::AlignVCenter);
}

void CounterLane::drawLabel(DisplayList& list, const QRectF& place, const Palette& palette) const {
  const double half = place.height() / 2;
  const QString high = counterText(facts_.unit, scale_.high);
  const QString low = scale_.low == 0 ? QStringLiteral("0") : counterText(facts_.unit, scale_.low);
  const double taken = textWidth(high, FontRole::kSmall) + 2;
  list.text(place.adjusted(0, 0, 0, -half), high, palette.textMuted, FontRole::kSmall,
            Qt::AlignRight | Qt::AlignVCenter);
  list.text(place.adjusted(0, half, 0, 0), low, palette.textMuted, FontRole::kSmall,
            Qt::AlignRight | Qt::AlignVCenter);
  // The name keeps off the longer of the two.
  list.text(place.adjusted(0, 0, -taken - 4, 0), facts_.title, palette.text, FontRole::kSmall);
}

std::vector<Fact> CounterLane::factsAt(std::size_t index, const TimeAxis& axis, double x) const {
  const MetricPoint& point = series_.points()[index];
  const TimeRange time = timeOfValue(model_, series_, facts_.overInterval, index);
  const auto at = [&](double ns) { return formatTime(ns, 1e6); };
  std::vector<Fact> facts;
  facts.push_back({QStringLiteral("Value"), counterText(facts_.unit, point.value)});
  if (facts_.overInterval && !time.empty()) {
    facts.push_back({QStringLiteral("Mean of"),
                     at(time.startNs) + QStringLiteral(" to ") + at(time.endNs) +
                         QStringLiteral(" (%1)").arg(formatDuration(time.lengthNs()))});
  } else {
    facts.push_back({QStringLiteral("Taken at"), at(model_.toNs(point.ticks))});
  }
  facts.push_back({QStringLiteral("Iteration"), formatCount(point.step)});
  const Values here = valuesIn(series_, facts_.overInterval, model_.toTicks(axis.toNs(x)),
                               model_.toTicks(axis.toNs(x + 1)));
  const CounterSeries::Summary sum = series_.summary(here.first, here.last);
  if (sum.count > 2) {
    facts.push_back({QStringLiteral("In this pixel"),
                     QStringLiteral("%1 values, %2 to %3")
                         .arg(formatCount(sum.count), counterText(facts_.unit, sum.minimum),
                              counterText(facts_.unit, sum.maximum))});
  }
  int named = 0;
  for (int rank = 0; rank < model_.rankCount() && named < kOtherRanks; ++rank) {
    const CounterSeries* other = rank == rank_ ? nullptr : model_.counters().find(name_, rank);
    if (other == nullptr) {
      continue;
    }
    const std::size_t i = counterValueAt(model_, *other, facts_.overInterval, axis.toNs(x));
    if (i < other->size()) {
      facts.push_back({QStringLiteral("Rank %1").arg(rank),
                       counterText(facts_.unit, other->points()[i].value)});
      ++named;
    }
  }
  if (const auto peak = series_.peak(0, series_.size())) {
    const MetricPoint& highest = series_.points()[*peak];
    facts.push_back(
        {QStringLiteral("Peak of the run"),
         QStringLiteral("%1 at %2")
             .arg(counterText(facts_.unit, highest.value), at(model_.toNs(highest.ticks)))});
  }
  facts.push_back({QStringLiteral("Means"), facts_.meaning});
  return facts;
}

void CounterLane::drawHover(DisplayList& list, const TimeAxis& axis, const Palette& palette,
                            QSizeF size, QPointF pointer) const {
  const double x = std::round(pointer.x());
  const QString title = QStringLiteral("%1, rank %2").arg(facts_.title).arg(rank_);
  const std::size_t index = counterValueAt(model_, series_, facts_.overInterval, axis.toNs(x));
  if (index >= series_.size()) {
    drawFactCard(list, size, pointer, title, colour(palette),
                 {{QStringLiteral("Value"), QStringLiteral("not recorded at this time")},
                  {QStringLiteral("Means"), facts_.meaning}},
                 palette);
    return;
  }
  const double value = series_.points()[index].value;
  if (std::isfinite(value)) {
    constexpr double kDot = 3;
    const double y = toY(value);
    list.fill(QRectF(x - kDot, y - kDot, 2 * kDot, 2 * kDot), palette.background, kDot);
    list.fill(QRectF(x - kDot + 1, y - kDot + 1, 2 * kDot - 2, 2 * kDot - 2), palette.text,
              kDot - 1);
  }
  drawFactCard(list, size, pointer, title, colour(palette), factsAt(index, axis, x), palette);
}

}  // namespace lockstep::ui
