#include "ui/views/divergence/StripScene.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/chart/Legend.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kLogarithmicFrom = 100;  // the largest value over the smallest
constexpr double kApart = 16;             // px between points that have a dot each

/// What of a strip is in sight, and how a value becomes a height.
class StripScale {
 public:
  StripScale(const StripData& strip, const TimeAxis& axis) {
    bool negative = false;
    for (const StepSeries& series : strip.series) {
      for (const StepSeries::Piece& piece : series.pieces()) {
        if (piece.step < axis.startNs() || piece.step > axis.endNs()) {
          continue;
        }
        least_ = std::min<double>(least_, piece.least);
        most_ = std::max<double>(most_, piece.most);
        negative = negative || piece.least < 0;
        // 0 is no value that a logarithm could begin at.
        for (const float value : {piece.least, piece.most}) {
          leastPositive_ = value > 0 ? std::min<double>(leastPositive_, value) : leastPositive_;
        }
      }
    }
    logarithmic_ = any() && !negative && most_ > 0 && most_ > kLogarithmicFrom * leastPositive_;
    if (any() && !logarithmic_) {
      // A loss is looked at for its change; a norm or a distance is read from 0 up.
      least_ = strip.kind == StripData::Kind::kLoss ? least_ : std::min(least_, 0.0);
      // Lines that lie on one value are drawn in the middle.
      margin_ = most_ > least_ ? 0 : std::max(std::abs(most_), 1e-9) * 0.1;
    }
  }

  [[nodiscard]] bool any() const { return most_ >= least_; }
  [[nodiscard]] bool logarithmic() const { return logarithmic_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

  /// 0 at the bottom, 1 at the top; 0 itself lies at the bottom of a logarithmic scale.
  [[nodiscard]] double part(double value) const {
    if (!logarithmic_) {
      return (value - least_ + margin_) / (most_ - least_ + 2 * margin_);
    }
    // From half of the smallest positive value, which so differs from 0.
    const double low = std::log10(leastPositive_) - 0.3;
    return value <= 0 ? 0 : (std::log10(value) - low) / (std::log10(most_) - low);
  }

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  double leastPositive_ = std::numeric_limits<double>::infinity();
  double margin_ = 0;
  bool logarithmic_ = false;
};

void drawSeries(DisplayList& list, const StepSeries& series, const TimeAxis& axis,
                const StripScale& scale, const QRectF& plot, const QColor& colour) {
  const auto y = [&](double value) {
    // 2 px below and 3 above, so that lines are not cut by the plot's edge.
    return plot.bottom() - 2 - scale.part(value) * (plot.height() - 5);
  };
  std::vector<QPointF> line;
  const auto& pieces = series.pieces();
  for (std::size_t i = 0; i < pieces.size();) {
    const double x = axis.toX(pieces[i].step + 0.5);
    // What falls on one column of pixels is one stroke from its least to its most.
    float least = pieces[i].least;
    float most = pieces[i].most;
    std::size_t behind = i + 1;
    while (behind < pieces.size() && axis.toX(pieces[behind].step + 0.5) < x + 1) {
      least = std::min(least, pieces[behind].least);
      most = std::max(most, pieces[behind].most);
      ++behind;
    }
    // A line also needs the points next to the plot, from which it comes and to which it goes.
    const bool near = x >= plot.left() - 40 && x <= plot.right() + 40;
    const bool neighbour =
        (behind < pieces.size() && axis.toX(pieces[behind].step) >= plot.left()) &&
        x <= plot.right();
    if (near || neighbour) {
      // Lines go on from the last value of the column; its stroke shows what lies between.
      line.emplace_back(x, y(pieces[behind - 1].last));
      if (y(least) - y(most) > 2) {
        list.line({x, y(least)}, {x, y(most)}, colour, 1);
      }
    } else if (x > plot.right() && !line.empty()) {
      line.emplace_back(x, y(pieces[i].last));
      break;
    }
    i = behind;
  }
  drawCurve(list, line, colour);
  // What was sampled now and then is known at these points, and nowhere between them.
  const auto isApart = [&line](std::size_t a, std::size_t b) {
    return b >= line.size() || line[b].x() - line[a].x() >= kApart;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (isApart(i, i + 1) && (i == 0 || isApart(i - 1, i))) {
      list.fill(QRectF(line[i] - QPointF(2, 2), QSizeF(4, 4)), colour, 2);
    }
  }
}

void drawNotFinite(DisplayList& list, const StripData& strip, const TimeAxis& axis,
                   const QRectF& plot, const Palette& palette) {
  std::vector<LostCurve> lost;
  for (const StepSeries& series : strip.series) {
    if (series.firstNotFinite()) {
      lost.push_back({series.rank(), *series.firstNotFinite()});
    }
  }
  drawFirstLost(
      list, plot, lost, [&](double step) { return axis.toX(step + 0.5); }, palette);
}

}  // namespace

QString titleOf(StripData::Kind kind) {
  return kind == StripData::Kind::kLoss           ? QStringLiteral("Loss")
         : kind == StripData::Kind::kGradientNorm ? QStringLiteral("Gradient norm")
                                                  : QStringLiteral("Consensus distance");
}

QString meaningOf(const StripData& strip) {
  if (strip.kind == StripData::Kind::kLoss) {
    return QStringLiteral("Of each rank's own batch.");
  }
  if (strip.kind == StripData::Kind::kGradientNorm) {
    return QStringLiteral("Euclidean, of each rank's own gradients before they are averaged.");
  }
  return strip.fromHook
             ? QStringLiteral("From a rank's parameters to the mean of all, as the hook counts it.")
             : QStringLiteral("From a rank's parameters to the mean of all, from their sketches.");
}

QString formatValue(double value) {
  const double magnitude = std::abs(value);
  if (value == 0) {
    return QStringLiteral("0");
  }
  if (magnitude >= 1e-3 && magnitude < 1e5) {
    const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(magnitude))), 0, 5);
    return QString::number(value, 'f', decimals);
  }
  return QString::number(value, 'e', 2);
}

void drawStrip(DisplayList& list, const StripData& strip, const TimeAxis& axis, const QRectF& plot,
               double left, const Palette& palette) {
  drawPlotGround(list, plot, palette);
  const StripScale scale(strip, axis);
  const QRectF title(left, plot.top(), plot.left() - left - 8, 18);
  list.title(title, titleOf(strip.kind), palette);
  if (scale.any()) {
    const double room = plot.left() - left - 8;
    list.note(QRectF(left, plot.top() + 18, room, 16),
              QStringLiteral("up to ") + formatValue(scale.most()), palette);
    list.note(QRectF(left, plot.top() + 34, room, 16),
              scale.logarithmic() ? QStringLiteral("from %1, log").arg(formatValue(scale.least()))
                                  : QStringLiteral("from ") + formatValue(scale.least()),
              palette);
  }
  list.clip(plot);
  for (const TimeAxis::Tick& tick : axis.ticks()) {
    if (tick.major) {
      list.fill(QRectF(std::round(tick.x), plot.top(), 1, plot.height()), palette.grid);
    }
  }
  if (scale.any()) {
    for (const StepSeries& series : strip.series) {
      drawSeries(list, series, axis, scale, plot, palette.rank(series.rank()));
    }
  }
  drawNotFinite(list, strip, axis, plot, palette);
  list.unclip();
}

std::vector<Fact> factsAt(const StripData& strip, std::uint32_t step) {
  Facts facts;
  constexpr std::size_t kRanksShown = 16;
  for (std::size_t i = 0; i < std::min(strip.series.size(), kRanksShown); ++i) {
    const StepSeries& series = strip.series[i];
    const auto value = series.at(step);
    const bool gone = series.firstNotFinite() && *series.firstNotFinite() == step;
    facts.push_back(
        {QStringLiteral("Rank %1").arg(series.rank()), gone    ? QStringLiteral("not a number")
                                                       : value ? formatValue(*value)
                                                               : QStringLiteral("none yet")});
  }
  if (strip.series.size() > kRanksShown) {
    facts.push_back(
        {QString(), QStringLiteral("and %1 more").arg(strip.series.size() - kRanksShown)});
  }
  facts.add("Meaning", meaningOf(strip));
  return facts;
}

void drawRankLegend(DisplayList& list, const QRectF& area, const std::vector<int>& ranks,
                    const Palette& palette) {
  std::vector<LegendEntry> entries;
  for (const int rank : ranks) {
    entries.push_back({{palette.rank(rank), {}, true}, QStringLiteral("rank %1").arg(rank)});
  }
  drawLegend(list, area, entries, palette, Qt::AlignRight);
}

void drawStepRuler(DisplayList& list, const TimeAxis& axis, const QRectF& area,
                   const Palette& palette) {
  list.fill(QRectF(area.left(), area.top(), area.width(), 1), palette.gridStrong);
  for (const TimeAxis::Tick& tick : axis.ticks(70)) {
    // Iterations are whole: a tick between two has no name.
    if (!tick.major || tick.ns < 0 || tick.ns != std::floor(tick.ns)) {
      continue;
    }
    list.fill(QRectF(std::round(tick.x), area.top(), 1, 5), palette.gridStrong);
    const QRectF label(tick.x + 4, area.top() + 1, 80, area.height() - 1);
    if (label.left() + 30 < area.right()) {
      list.note(label, formatCount(static_cast<std::uint64_t>(tick.ns)), palette);
    }
  }
}

}  // namespace lockstep::ui
