#include <QStringList>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plot.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;
constexpr double kMostStrip = 170;

/// The curves of one key, of all runs.
struct Strip {
  QString key;
  bool parameter = false;
  std::vector<std::pair<std::size_t, const HookCurve*>> curves;  // side, curve
};

// In the order in which the first run has them; what only the second has comes after.
std::vector<Strip> stripsOf(const HooksContent& content) {
  std::vector<Strip> strips;
  for (std::size_t side = 0; side < content.sides.size(); ++side) {
    for (const HookCurve& curve : content.sides[side].run->curves) {
      auto at = std::ranges::find(strips, curve.key, &Strip::key);
      if (at == strips.end()) {
        at = strips.insert(strips.end(), Strip{curve.key, false, {}});
      }
      at->parameter = at->parameter || curve.parameter;
      at->curves.emplace_back(side, &curve);
    }
  }
  return strips;
}

// Also of runs that stopped counting early: no curve ends beyond the axis.
double lastStepOf(const HooksContent& content) {
  double last = 1;
  for (const HookSide& side : content.sides) {
    last = std::max(last, static_cast<double>(side.run->steps) - 1);
    for (const HookCurve& curve : side.run->curves) {
      for (const auto& [rank, line] : curve.ranks) {
        last = std::max(last, line.empty() ? 0 : line.back().x());
      }
    }
  }
  return last;
}

/// The values of a strip, from the lower edge of its plot to the upper one.
struct Fit {
  Scale up;
  bool constant = false;  ///< one value, in the middle
};

Fit fitOf(const Strip& strip, const QRectF& plot) {
  Fit fit{{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
           plot.bottom(), plot.top()}};
  Scale& scale = fit.up;
  for (const auto& [side, curve] : strip.curves) {
    for (const auto& [rank, line] : curve->ranks) {
      for (const QPointF& point : line) {
        if (std::isfinite(point.y())) {
          scale.from = std::min(scale.from, point.y());
          scale.to = std::max(scale.to, point.y());
        }
      }
    }
  }
  // Nothing finite: any scale will do for an empty plot.
  if (!(scale.to >= scale.from)) {
    scale.from = 0;
    scale.to = 1;
  } else if (scale.to == scale.from) {
    fit.constant = true;
    // About the value, so that it stands in the middle and not on an edge.
    const double about = scale.from == 0 ? 1 : std::abs(scale.from) * 0.5;
    scale.from -= about;
    scale.to += about;
  }
  return fit;
}

void drawLine(DisplayList& list, const Scale& across, const Scale& up,
              const std::vector<QPointF>& line, bool steps, const QColor& colour) {
  std::vector<QPointF> drawn;
  for (const QPointF& point : line) {
    // A value that is not finite is no point: the line goes on from the one before.
    if (!std::isfinite(point.y())) {
      continue;
    }
    const QPointF at(across.at(point.x()), up.at(point.y()));
    // A parameter holds its value until the next change.
    if (steps && !drawn.empty()) {
      drawn.emplace_back(at.x(), drawn.back().y());
    }
    drawn.push_back(at);
  }
  drawCurve(list, drawn, colour);
}

// The same on all ranks: then one line and one figure say it.
bool allAlike(const HookCurve& curve) {
  return std::all_of(curve.ranks.begin(), curve.ranks.end(),
                     [&](const auto& rank) { return rank.second == curve.ranks.begin()->second; });
}

void drawStrip(DisplayList& list, const QRectF& rect, const Strip& strip,
               const HooksContent& content, double lastStep, const Palette& palette) {
  const QRectF plot(rect.left() + 66, rect.top() + kLine + 2, rect.width() - 76,
                    rect.height() - kLine - 12);
  const Scale across{0, lastStep, plot.left(), plot.right()};
  const Fit fit = fitOf(strip, plot);
  drawPlotGround(list, plot, palette);
  const auto label = [&](double y, double value) {
    list.note(QRectF(rect.left(), y - 8, 62, 16), QString::number(value, 'g', 4), palette,
              kToTheRight);
  };
  if (fit.constant) {
    label(plot.center().y(), (fit.up.from + fit.up.to) / 2);
  } else {
    label(plot.top() + 4, fit.up.to);
    label(plot.bottom() - 4, fit.up.from);
  }
  list.title(QRectF(rect.left(), rect.top(), rect.width() * 0.6, kLine),
             strip.parameter ? tr("%1, a live parameter").arg(strip.key) : strip.key, palette);
  QStringList latest;
  for (const auto& [side, curve] : strip.curves) {
    const bool alike = allAlike(*curve);
    for (const auto& [rank, line] : curve->ranks) {
      if (line.empty()) {
        continue;
      }
      // Of two runs the colour tells the run, and all ranks of one have the same.
      const QColor colour =
          content.compares() ? sideColour(palette, side) : palette.rank(alike ? 0 : rank);
      drawLine(list, across, fit.up, line, strip.parameter, colour);
      // One figure a run, not one a rank: the title has one line.
      if (alike || rank == curve->ranks.begin()->first) {
        const QString of = alike ? tr("all ranks") : tr("rank %1").arg(rank);
        latest << (content.compares() ? sideName(side) + QLatin1Char(' ') : QString()) +
                      tr("%1 now, %2").arg(QString::number(line.back().y(), 'g', 5), of);
      }
      if (alike) {
        break;
      }
    }
  }
  list.note(QRectF(rect.left() + rect.width() * 0.4, rect.top(), rect.width() * 0.6 - 10, kLine),
            latest.join(QStringLiteral("   ")), palette, kToTheRight);
}

/// Where a live parameter was changed: a line through all strips, what it became beside it.
void drawChanges(DisplayList& list, const QRectF& plot, const HooksContent& content,
                 double lastStep, double labelTop, const Palette& palette) {
  double limit = plot.left();
  for (std::size_t side = 0; side < content.sides.size(); ++side) {
    for (const HookChange& change : content.sides[side].run->changes) {
      const double x = plot.left() + change.step / lastStep * plot.width();
      list.line(QPointF(x, labelTop + kLine - 2), QPointF(x, plot.bottom()), palette.accent, 1.5);
      const QString label =
          tr("▼ %1%2 = %3 from step %4")
              .arg(content.compares() ? sideName(side) + QLatin1Char(' ') : QString(), change.key,
                   change.value)
              .arg(change.step);
      const double width = textWidth(label, FontRole::kSmall) + 4;
      // Its left edge under the mark, moved in where it would leave the plot.
      const double left =
          std::clamp(x - 5, plot.left(), std::max(plot.left(), plot.right() - width));
      if (left >= limit) {  // labels that would lie on each other are left out; the marks stay
        list.text(QRectF(left, labelTop, width, kLine), label, palette.accent, FontRole::kSmall);
        limit = left + width + 6;
      }
    }
  }
}

}  // namespace

double curvesHeight(const HooksContent& content) {
  const std::size_t strips = stripsOf(content).size();
  return strips == 0 ? 0 : 2 * kPad + 3 * kLine + 4 + static_cast<double>(strips) * kStrip;
}

void drawCurves(DisplayList& list, const QRectF& rect, const HooksContent& content,
                const Palette& palette) {
  const QRectF inner = rect.adjusted(kPad, kPad, -kPad, -kPad);
  const std::vector<Strip> strips = stripsOf(content);
  const QRectF title(inner.left(), inner.top(), inner.width(), kLine);
  list.title(title, tr("What the hook counts, over the steps"), palette);
  const double lastStep = lastStepOf(content);
  const double labels = inner.top() + kLine + 2;
  const double top = labels + kLine + 2;
  const double height =
      std::min(kMostStrip, (inner.bottom() - kLine - top) / static_cast<double>(strips.size()));
  const double bottom = top + height * static_cast<double>(strips.size());
  for (std::size_t i = 0; i < strips.size(); ++i) {
    drawStrip(list,
              QRectF(inner.left(), top + static_cast<double>(i) * height, inner.width(), height),
              strips[i], content, lastStep, palette);
  }
  const QRectF plot(inner.left() + 66, top, inner.width() - 76, bottom - top - 10);
  drawChanges(list, plot, content, lastStep, labels, palette);
  drawAxisBelow(
      list, plot, {0, lastStep, plot.left(), plot.right()}, 80,
      [](double at, double step) { return at == 0 ? tr("step 0") : tickText(at, step); }, palette);
}

}  // namespace lockstep::ui
