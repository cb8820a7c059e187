#include "ui/views/whatif/ScalingScene.h"

#include <QMarginsF>
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "engine/simulate/ScalingText.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

const QMarginsF kAround(64, 24, 12, 38);  // what stands there is about the plot
constexpr double kLine = 16;

/// One of the two plots.
struct Figure {
  QString title;
  cost::Estimate simulate::RanksForecast::*of;
  double least = 0;  ///< the axis goes up to this, or further
  std::function<QString(double value, double step)> label;
  QColor colour;
};

/// Where a number of ranks lies: each doubling is as long as the next.
double along(double ranks) {
  return std::log2(ranks);
}

class ScalingPlot {
 public:
  ScalingPlot(DisplayList& list, const QRectF& rect, const ScalingCurve& curve,
              const Figure& figure, const Palette& palette)
      : list_(list),
        rect_(rect),
        plot_(rect.marginsRemoved(kAround)),
        curve_(curve),
        figure_(figure),
        palette_(palette) {
    double most = figure.least;
    for (const auto& row : curve.rows) {
      most = std::max(most, (row.*figure.of).high);
    }
    constexpr double kRoom = 1.06;  // so that the largest value does not touch the edge
    up_ = {0, kRoom * std::max(most, 1e-9), plot_.bottom(), plot_.top()};
    across_ = {along(curve.rows.front().ranks) - 0.25, along(curve.rows.back().ranks) + 0.25,
               plot_.left(), plot_.right()};
  }

  [[nodiscard]] bool hasRoom() const { return plot_.width() > 60 && plot_.height() > 40; }
  [[nodiscard]] const QRectF& plot() const { return plot_; }

  void draw(int chosen) const {
    list_.title(QRectF(rect_.left() + 8, rect_.top(), rect_.width() - 8, kAround.top()),
                figure_.title, palette_);
    drawPlotGround(list_, plot_, palette_);
    drawAxisBeside(list_, plot_, up_, rect_.left(), figure_.label, palette_);
    drawAxisBelow(
        list_, plot_, across_, 46,
        [](double value, double) {
          const double ranks = std::exp2(value);
          return ranks < 1 || ranks != std::round(ranks)
                     ? QString()
                     : formatCount(static_cast<std::uint64_t>(ranks));
        },
        palette_);
    list_.note(QRectF(rect_.left(), plot_.bottom() + 20, rect_.width() - kAround.right(), kLine),
               QStringLiteral("ranks"), palette_, kToTheRight);
    markExtrapolated();
    drawCurves();
    if (const auto* row = curve_.of(chosen)) {
      list_.fill(QRectF(std::round(x(*row)), plot_.top(), 1.5, plot_.height()), palette_.accent);
    }
  }

  /// Where the efficiency falls below its bound, and by what.
  void markBreak() const {
    const simulate::BreakingPoint& breaks = curve_.breaks;
    const double bound = std::round(up_.at(breaks.efficiency));
    list_.fill(QRectF(plot_.left(), bound, plot_.width(), 1), palette_.warning);
    if (!breaks.ranks) {
      return;
    }
    const double at = std::clamp(across_.at(along(*breaks.ranks)), plot_.left(), plot_.right());
    const QString said =
        QStringLiteral("below %1 by %2")
            .arg(formatPercent(100 * breaks.efficiency, 0), shown(simulate::name(breaks.bound)));
    const double width = textWidth(said, FontRole::kSmall) + 10;
    const double left = std::clamp(at - width / 2, plot_.left(), plot_.right() - width);
    list_.fill(QRectF(std::round(at), bound - 5, 1.5, 11), palette_.warning);
    drawPlate(list_, QRectF(left, plot_.bottom() - kLine - 3, width, kLine), said,
              palette_.warning);
  }

  /// The row nearest to a point in the plot; null: it is elsewhere.
  [[nodiscard]] const simulate::RanksForecast* under(const std::optional<QPointF>& point) const {
    if (!point || !plot_.contains(*point)) {
      return nullptr;
    }
    return &*std::ranges::min_element(
        curve_.rows, {}, [&](const auto& row) { return std::abs(x(row) - point->x()); });
  }

 private:
  [[nodiscard]] double x(const simulate::RanksForecast& row) const {
    return across_.at(along(row.ranks));
  }

  void markExtrapolated() const {
    const double from = x(curve_.rows.front());
    list_.fill(QRectF(std::round(from), plot_.top(), 1, plot_.height()), palette_.gridStrong);
    list_.note(QRectF(from + 6, plot_.top() + 1, plot_.right() - from - 8, kLine),
               QStringLiteral("extrapolated →"), palette_);
  }

  void drawCurves() const {
    std::vector<QPointF> middle;
    std::vector<QPointF> low;
    std::vector<QPointF> high;
    for (const auto& row : curve_.rows) {
      const cost::Estimate& estimate = row.*figure_.of;
      middle.emplace_back(x(row), up_.at(estimate.value));
      low.emplace_back(x(row), up_.at(estimate.low));
      high.emplace_back(x(row), up_.at(estimate.high));
    }
    drawBand(list_, low, high, withAlpha(figure_.colour, 0.2f));
    drawCurve(list_, middle, figure_.colour);
    for (std::size_t i = 0; i < middle.size(); ++i) {
      drawErrorBar(list_, low[i], high[i], figure_.colour);
      list_.fill(QRectF(middle[i] - QPointF(2.5, 2.5), QSizeF(5, 5)), figure_.colour, 2.5);
    }
    const double measured = up_.at((curve_.measured.*figure_.of).value);
    list_.outline(QRectF(x(curve_.rows.front()) - 5, measured - 5, 10, 10), palette_.text, 5);
  }

  DisplayList& list_;
  const QRectF rect_;
  const QRectF plot_;
  const ScalingCurve& curve_;
  const Figure& figure_;
  const Palette& palette_;
  Scale up_;
  Scale across_;
};

std::vector<Fact> factsOf(const simulate::RanksForecast& row) {
  return {{QStringLiteral("step"), shown(row.stepNs)},
          {QStringLiteral("exposed"), shown(row.exposedNs)},
          {QStringLiteral("efficiency"), shown(simulate::efficiencyText(row.efficiency))},
          {QStringLiteral("bound by"), shown(simulate::name(row.bound))},
          {QStringLiteral("allreduce"), shown(simulate::name(row.by))}};
}

}  // namespace

void drawScaling(DisplayList& list, const ScalingFrame& frame, const ScalingCurve& curve,
                 const Palette& palette) {
  if (!curve.known()) {
    drawMessage(list, frame.rect, QStringLiteral("More ranks"), curve.whyNot, palette.textMuted,
                palette);
    return;
  }
  double most = 0;
  for (const auto& row : curve.rows) {
    most = std::max(most, row.stepNs.high);
  }
  const Figure step{QStringLiteral("Step time by ranks"), &simulate::RanksForecast::stepNs, 0,
                    [most](double ns, double apart) { return formatTime(ns, apart, most); },
                    palette.rank(0)};
  const Figure efficiency{
      QStringLiteral("Efficiency by ranks"), &simulate::RanksForecast::efficiency, 1,
      [](double part, double) { return formatPercent(100 * part, 0); }, palette.rank(1)};
  const QSizeF half(frame.rect.width() / 2, frame.rect.height());
  const ScalingPlot left(list, QRectF(frame.rect.topLeft(), half), curve, step, palette);
  const ScalingPlot right(list, QRectF(frame.rect.topLeft() + QPointF(half.width(), 0), half),
                          curve, efficiency, palette);
  if (!left.hasRoom()) {
    return;
  }
  left.draw(frame.chosen);
  right.draw(frame.chosen);
  right.markBreak();
  const auto* under = left.under(frame.pointer);
  under = under != nullptr ? under : right.under(frame.pointer);
  if (under != nullptr) {
    const QString ranks = formatCounted(static_cast<std::uint64_t>(under->ranks), "rank");
    drawFactCard(list, QSizeF(frame.rect.right(), frame.rect.bottom()), *frame.pointer,
                 under->extrapolated ? QStringLiteral("%1, extrapolated").arg(ranks) : ranks, {},
                 factsOf(*under), palette);
  }
}

}  // namespace lockstep::ui
