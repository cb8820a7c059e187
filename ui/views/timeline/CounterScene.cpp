#include "ui/views/timeline/CounterScene.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kBand = 1.5;      // px, the thinnest band that is seen
constexpr double kPlotMargin = 3;  // of the plot, above and below
constexpr double kLowPlot = 16;    // below it there is room for one line of words
constexpr double kPeakWidth = 7;
constexpr double kPeakHeight = 4;
constexpr int kOtherRanks = 6;  // in the card
constexpr float kPale = 0.3f;

}  // namespace

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
      plot_(plot.height() < kLowPlot ? plot.adjusted(0, 1, 0, -1)
                                     : plot.adjusted(0, kPlotMargin, 0, -kPlotMargin)) {}

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
    // To half pixels, so that values that differ by nothing that can be seen are one rectangle.
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

// The largest value in sight, unless all are alike, or the plot is too low for its words.
void CounterLane::drawPeak(DisplayList& list, const TimeAxis& axis, const Palette& palette) const {
  if (plot_.height() < kLowPlot) {
    return;
  }
  // Of what is in sight, while the scale is that of all ranks and the whole run.
  const CounterValues values = counterValuesIn(
      series_, facts_.overInterval, model_.toTicks(axis.startNs()), model_.toTicks(axis.endNs()));
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
  const QRectF plate(roomRight ? x + kPeakWidth : x - kPeakWidth - width,
                     std::clamp(y - kPeakHeight, plot_.top() - kPlotMargin + 1,
                                plot_.bottom() + kPlotMargin - high),
                     width, high);
  if (plate.left() < axis.left()) {
    return;
  }
  drawPlate(list, plate, text, withAlpha(palette.background, 0.8f),
            {.radius = 2, .ink = palette.text});
}

void CounterLane::drawLabel(DisplayList& list, const QRectF& place, const Palette& palette) const {
  // A strip has room for the name alone: a bare figure beside it would be taken for the value that
  // it has now.
  if (place.height() < kLowPlot) {
    list.label(place, facts_.title, palette);
    return;
  }
  const double half = place.height() / 2;
  const QString high = counterText(facts_.unit, scale_.high);
  const QString low = scale_.low == 0 ? QStringLiteral("0") : counterText(facts_.unit, scale_.low);
  list.label(place.adjusted(0, 0, 0, -half), facts_.title, palette);
  list.note(place.adjusted(0, half, 0, 0), QStringLiteral("%1 to %2").arg(low, high), palette);
}

std::vector<Fact> CounterLane::factsAt(std::size_t index, const TimeAxis& axis, double x) const {
  const MetricPoint& point = series_.points()[index];
  const TimeRange time = timeOfValue(model_, series_, facts_.overInterval, index);
  const auto at = [&](double ns) { return formatTime(ns, 1e6); };
  Facts facts;
  facts.add("Value", counterText(facts_.unit, point.value));
  if (facts_.overInterval && !time.empty()) {
    facts.add("Mean of", at(time.startNs) + QStringLiteral(" to ") + at(time.endNs) +
                             QStringLiteral(" (%1)").arg(formatDuration(time.lengthNs())));
  } else {
    facts.add("Taken at", at(model_.toNs(point.ticks)));
  }
  facts.add("Iteration", formatCount(point.step));
  const CounterValues here = counterValuesIn(
      series_, facts_.overInterval, model_.toTicks(axis.toNs(x)), model_.toTicks(axis.toNs(x + 1)));
  const CounterSeries::Summary sum = series_.summary(here.first, here.last);
  // Two may always count in a pixel, the one that ends there and the one that begins.
  if (sum.count > 2) {
    facts.add("In this pixel",
              QStringLiteral("%1 values, %2 to %3")
                  .arg(formatCount(sum.count), counterText(facts_.unit, sum.minimum),
                       counterText(facts_.unit, sum.maximum)));
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
    facts.add("Peak of the run",
              QStringLiteral("%1 at %2")
                  .arg(counterText(facts_.unit, highest.value), at(model_.toNs(highest.ticks))));
  }
  facts.add("Means", facts_.meaning);
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
