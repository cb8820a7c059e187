#include <QStringList>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "engine/analysis/Durations.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plot.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;
constexpr double kBinPixels = 9;
constexpr double kBesideP99 = 1.12;  // how far the axis goes on beyond P99

/// A sentence in the middle of a card.
void say(DisplayList& list, const QRectF& rect, const QString& sentence, const Palette& palette) {
  list.text(rect, sentence, palette.textMuted, FontRole::kNormal,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

/// The stretch of durations that both runs' histograms show: without the last percent, which one
/// outlier may stretch over the whole picture.
struct Range {
  double from = 0;
  double to = 0;
};

Range rangeOf(const std::vector<const analysis::Durations*>& sides) {
  Range range{std::numeric_limits<double>::infinity(), 0};
  for (const analysis::Durations* durations : sides) {
    if (durations != nullptr && durations->count() > 0) {
      range.from = std::min(range.from, durations->sorted.front());
      range.to = std::max(range.to, std::min(durations->max, durations->p99 * kBesideP99));
    }
  }
  if (!std::isfinite(range.from)) {
    return {};
  }
  if (!(range.to > range.from)) {  // all alike: a bin about them
    range.to = range.from > 0 ? range.from * 1.1 : 1;
    range.from *= 0.9;
  }
  return range;
}

void drawBins(DisplayList& list, const QRectF& plot, const analysis::Histogram& bins,
              double highest, double total, const QColor& colour, bool outlined) {
  const double width = plot.width() / static_cast<double>(bins.counts.size());
  std::vector<QPointF> edge{plot.bottomLeft()};
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double height = bins.counts[i] / total / highest * plot.height();
    const QRectF bar(plot.left() + static_cast<double>(i) * width, plot.bottom() - height, width,
                     height);
    edge.push_back(bar.topLeft());
    edge.push_back(bar.topRight());
    if (height <= 0) {
      continue;
    }
    if (outlined) {
      list.hatch(bar, colour);
    } else {
      list.fill(bar.adjusted(0.5, 0, -0.5, 0), colour);
    }
  }
  edge.push_back(plot.bottomRight());
  if (outlined) {
    list.polyline(edge, colour, 1.5);
  }
}

/// Lines at the quantiles, their labels in a row above the plot.
void drawQuantiles(DisplayList& list, const QRectF& plot, double labelTop, const Range& range,
                   const analysis::Durations& durations, const QColor& colour,
                   const QString& prefix) {
  const std::pair<const char*, double> lines[] = {
      {"P50", durations.p50}, {"P90", durations.p90}, {"P99", durations.p99}};
  // Labels lie right of their lines where there is room, else they move left, from the last on.
  double limit = plot.right() + kPad;
  for (auto line = std::rbegin(lines); line != std::rend(lines); ++line) {
    const double x =
        plot.left() + (line->second - range.from) / (range.to - range.from) * plot.width();
    list.line(QPointF(x, plot.top()), QPointF(x, plot.bottom()), colour, 1.5);
    const QString label =
        prefix + QLatin1String(line->first) + QLatin1Char(' ') + formatMs(line->second);
    const double width = textWidth(label, FontRole::kSmall) + 4;
    const double left = std::min(x + 2, limit - width);
    list.text(QRectF(left, labelTop, width, kLine), label, colour, FontRole::kSmall);
    limit = left - 4;
  }
}

}  // namespace

QColor sideColour(const Palette& palette, std::size_t side) {
  constexpr int kBlue = 0;
  constexpr int kVermilion = 6;
  return palette.rank(side == 0 ? kBlue : kVermilion);
}

QString sideName(std::size_t side) {
  return side == 0 ? QStringLiteral("A") : QStringLiteral("B");
}

void drawHistogram(DisplayList& list, const QRectF& rect, const HooksContent& content,
                   const HookPick& pick, const Palette& palette) {
  std::vector<const analysis::Durations*> sides;
  for (const HookSide& side : content.sides) {
    sides.push_back(side.durations(pick));
  }
  const QRectF inner = rect.adjusted(kPad, kPad, -kPad, -kPad);
  list.text(QRectF(inner.left(), inner.top(), inner.width(), kLine),
            tr("How long: %1, %2").arg(bucketTitle(pick.bucket), phaseTitle(pick.phase)),
            palette.text, FontRole::kBold);
  const Range range = rangeOf(sides);
  if (!(range.to > range.from)) {
    say(list, inner, tr("No call of it was measured"), palette);
    return;
  }
  const double labels = inner.top() + kLine + 4;
  const double plotTop = labels + kLine * static_cast<double>(sides.size()) + 2;
  const QRectF plot(inner.left() + 34, plotTop, inner.width() - 40,
                    inner.bottom() - plotTop - kLine - 6);
  const auto count = static_cast<std::size_t>(std::clamp(plot.width() / kBinPixels, 8.0, 80.0));
  std::vector<analysis::Histogram> bins;
  double highest = 0;
  QStringList beyond;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    bins.push_back(sides[side] == nullptr
                       ? analysis::Histogram{}
                       : analysis::histogram(*sides[side], range.from, range.to, count));
    for (const std::uint32_t each : bins[side].counts) {
      highest = std::max(highest, each / static_cast<double>(sides[side]->count()));
    }
    if (bins[side].beyond > 0) {
      beyond
          << (content.compares() ? sideName(side) + QLatin1Char(' ') : QString()) +
                 tr("%1 longer, up to %2").arg(bins[side].beyond).arg(formatMs(sides[side]->max));
    }
  }
  list.text(QRectF(inner.left() + inner.width() * 0.5, inner.top(), inner.width() * 0.5, kLine),
            beyond.join(QStringLiteral("   ")), palette.textMuted, FontRole::kSmall,
            Qt::AlignRight | Qt::AlignVCenter);
  list.text(QRectF(inner.left(), plot.top() - 8, 30, 16),
            formatPercent(100 * highest, highest < 0.1 ? 1 : 0), palette.textMuted,
            FontRole::kSmall, Qt::AlignRight | Qt::AlignVCenter);
  list.text(QRectF(inner.left(), plot.bottom() - 8, 30, 16), QStringLiteral("0"), palette.textMuted,
            FontRole::kSmall, Qt::AlignRight | Qt::AlignVCenter);
  list.line(plot.topLeft(), plot.topRight(), palette.grid);
  drawAxisBelow(
      list, plot, {range.from, range.to, plot.left(), plot.right()}, 90,
      [&](double ms, double step) {
        return formatTime(ms * kNsPerMs, step * kNsPerMs, range.to * kNsPerMs);
      },
      palette);
  list.line(plot.bottomLeft(), plot.bottomRight(), palette.gridStrong);
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (!bins[side].counts.empty() && highest > 0) {
      const QColor colour = sideColour(palette, side);
      drawBins(list, plot, bins[side], highest, static_cast<double>(sides[side]->count()),
               side == 0 ? mixed(colour, palette.background, 0.6) : colour, side != 0);
    }
  }
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (sides[side] != nullptr && sides[side]->count() > 0) {
      drawQuantiles(list, plot, labels + kLine * static_cast<double>(side), range, *sides[side],
                    content.compares() && side != 0 ? palette.warning : palette.text,
                    content.compares() ? sideName(side) + QLatin1Char(' ') : QString());
    }
  }
}

}  // namespace lockstep::ui
