#include "ui/chart/LineChart.h"

#include <QMarginsF>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Legend.h"
#include "ui/chart/Plot.h"

namespace lockstep::ui {
namespace {

constexpr QMarginsF kAround(58, 24, 12, 20);  // what stands there is about the plot
constexpr double kHeading = kAround.top();
constexpr double kBeforeLegend = 14;
constexpr std::size_t kRanksNamed = 8;
constexpr float kAllAlpha = 0.14f;  // of a band, and of that of the middle half over it
constexpr float kHalfAlpha = 0.3f;
constexpr int kGapBridged = 3;  // points without a value: fewer iterations than points

// The range of what a chart shows, in values of its axes.
struct Bounds {
  double left = std::numeric_limits<double>::max();
  double right = std::numeric_limits<double>::lowest();
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();

  [[nodiscard]] bool empty() const { return right < left; }
};

/// Where curves were lost, and whose these are.
std::vector<LostCurve> lostOf(const std::vector<RankCurve>& curves) {
  std::vector<LostCurve> lost;
  for (const RankCurve& curve : curves) {
    if (curve.lostAt) {
      lost.push_back({curve.rank, static_cast<std::uint32_t>(*curve.lostAt)});
    }
  }
  return lost;
}

Bounds boundsOf(const std::vector<RankCurve>& curves, const RankBand& band, bool fromZero) {
  Bounds bounds;
  for (const RankBand::Place& place : band.places) {
    bounds.left = std::min(bounds.left, place.x);
    bounds.right = std::max(bounds.right, place.x);
    bounds.low = std::min(bounds.low, place.least);
    bounds.high = std::max(bounds.high, place.most);
  }
  for (const RankCurve& curve : curves) {
    if (curve.lostAt) {
      // The iteration at which a curve was lost belongs on the axis, even where it has no point at
      // all.
      bounds.left = std::min(bounds.left, *curve.lostAt);
      bounds.right = std::max(bounds.right, curve.lostUntil);
    }
    for (const QPointF& point : curve.points) {
      bounds.left = std::min(bounds.left, point.x());
      bounds.right = std::max(bounds.right, point.x());
      bounds.low = std::min(bounds.low, point.y());
      bounds.high = std::max(bounds.high, point.y());
    }
  }
  if (!bounds.empty()) {
    if (bounds.high < bounds.low) {  // nothing but what was lost
      bounds.low = bounds.high = 0;
    }
    // A single value, or equal ones, would give an axis of no length.
    bounds.right = bounds.right > bounds.left ? bounds.right : bounds.left + 1;
    bounds.low = fromZero ? std::min(0.0, bounds.low) : bounds.low;
    // 1 is nothing beside a number of 16 digits.
    constexpr double kLeast = 1e-9;
    bounds.high = bounds.high > bounds.low
                      ? bounds.high
                      : bounds.low + std::max(1.0, kLeast * std::abs(bounds.low));
    // Room at the top, so that the largest value does not touch the edge.
    bounds.high += 0.06 * (bounds.high - bounds.low);
  }
  return bounds;
}

// All of the ranks, and over them the middle half.
void drawSpread(DisplayList& list, const RankBand& band, const Scale& across, const Scale& up,
                const QColor& colour) {
  const auto edge = [&](double RankBand::Place::*value) {
    std::vector<QPointF> points;
    for (const RankBand::Place& place : band.places) {
      points.emplace_back(across.at(place.x), up.at(place.*value));
    }
    return points;
  };
  using Place = RankBand::Place;
  drawBand(list, edge(&Place::least), edge(&Place::most), withAlpha(colour, kAllAlpha));
  drawBand(list, edge(&Place::quarter), edge(&Place::threeQuarters), withAlpha(colour, kHalfAlpha));
}

}  // namespace

void drawSparkline(DisplayList& list, const QRectF& rect, const std::vector<double>& values,
                   const QColor& colour) {
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();
  for (const double value : values) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (high < low) {
    return;
  }
  // Noise of a steady figure must not look like a storm.
  const double least = 0.1 * std::max(std::abs(high), std::abs(low));
  if (high - low < least) {
    const double middle = (high + low) / 2;
    low = middle - least / 2 - 1e-12;
    high = middle + least / 2 + 1e-12;
  }
  if (high == low) {  // nothing but zeros, which lie along the bottom
    high = 1;
  }
  const QColor ground = withAlpha(colour, 0.16f);
  std::vector<QPointF> line;
  const double step =
      rect.width() / static_cast<double>(std::max<std::size_t>(1, values.size() - 1));
  const auto flush = [&] {
    if (line.size() > 1) {
      list.polyline(line, colour, 1.5);
    } else if (line.size() == 1) {
      // A single value between two gaps is a dot: a polyline of one point draws nothing.
      list.fill(QRectF(line[0].x() - 1, line[0].y() - 1, 2, 2), colour);
    }
    line.clear();
  };
  int missing = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      if (++missing > kGapBridged) {
        flush();
      }
      continue;
    }
    missing = 0;
    const double y = rect.bottom() - rect.height() * (values[i] - low) / (high - low);
    const double x = rect.left() + step * static_cast<double>(i);
    line.emplace_back(x, y);
    list.fill(QRectF(x - step / 2, y, step, rect.bottom() - y).intersected(rect), ground);
  }
  flush();
}

void drawLineChart(DisplayList& list, const QRectF& rect, const ChartText& text,
                   const std::vector<RankCurve>& curves, const Palette& palette,
                   std::optional<QPointF> pointer, const RankBand& band) {
  const double titleWidth = textWidth(text.title, FontRole::kBold);
  list.title(QRectF(rect.left(), rect.top(), titleWidth + 4, kHeading), text.title, palette);
  const QRectF unit(rect.left() + titleWidth + 10, rect.top(), 150, kHeading);
  list.note(unit, text.unit, palette);
  const QRectF plot = rect.marginsRemoved(kAround);
  if (plot.width() < 40 || plot.height() < 30) {
    return;
  }
  drawPlotGround(list, plot, palette);
  const Bounds bounds = boundsOf(curves, band, text.fromZero);
  if (bounds.empty()) {
    list.text(plot, text.empty, palette.textMuted, FontRole::kNormal, Qt::AlignCenter);
    return;
  }
  const Scale across{bounds.left, bounds.right, plot.left(), plot.right()};
  const Scale up{bounds.low, bounds.high, plot.bottom(), plot.top()};
  const double stepY = drawAxisBeside(list, plot, up, rect.left(), tickText, palette);
  drawAxisBelow(list, plot, across, 80, tickText, palette);
  list.note(QRectF(rect.left(), plot.bottom() + 3, kAround.left() - 6, kAround.bottom() - 3),
            text.x, palette, kToTheRight);
  // 2 px more, so that a curve along the upper or lower edge keeps its width.
  list.clip(plot.adjusted(0, -2, 0, 2));
  drawSpread(list, band, across, up, palette.textMuted);
  for (const RankCurve& curve : curves) {
    std::vector<QPointF> points;
    for (const QPointF& point : curve.points) {
      points.emplace_back(across.at(point.x()), up.at(point.y()));
    }
    drawCurve(list, points, palette.rank(curve.rank));
  }
  drawFirstLost(
      list, plot, lostOf(curves), [&](double x) { return across.at(x); }, palette);
  list.unclip();
  // Names and, under the pointer, values: at the top, where they cover nothing.
  const bool pointed = pointer && plot.contains(*pointer);
  if (pointed) {
    list.fill(QRectF(std::round(pointer->x()), plot.top(), 1, plot.height()), palette.textMuted);
  }
  // More names than there is room for would be cut off anyway; colours repeat after eight.
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < std::min(curves.size(), kRanksNamed); ++i) {
    QString label = QStringLiteral("rank %1").arg(curves[i].rank);
    const auto& points = curves[i].points;
    if (pointed && !points.empty()) {
      const double x = across.valueAt(pointer->x());
      const auto near = std::ranges::min_element(
          points, {}, [x](const QPointF& point) { return std::abs(point.x() - x); });
      // A hundredth of the step of the axis: two digits more than its labels.
      label += QStringLiteral(": ") + tickText(near->y(), stepY / 100);
    }
    entries.push_back({{palette.rank(curves[i].rank), {}, true}, label});
  }
  // After the names: what is grey is understood without a word.
  if (!band.places.empty()) {
    entries.push_back(
        {{withAlpha(palette.textMuted, kAllAlpha), {}, false}, QStringLiteral("all")});
    entries.push_back({{withAlpha(palette.textMuted, kAllAlpha + kHalfAlpha), {}, false},
                       QStringLiteral("middle half")});
  }
  const double left = unit.left() + textWidth(text.unit, FontRole::kSmall) + kBeforeLegend;
  drawLegend(list, QRectF(QPointF(left, rect.top()), QPointF(plot.right(), unit.bottom())), entries,
             palette, Qt::AlignRight);
}

}  // namespace lockstep::ui
