#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Plate.h"
#include "ui/chart/Ticks.h"
#include "ui/model/Format.h"
#include "ui/views/overlap/OverlapScene.h"
#include "ui/views/overlap/OverlapWords.h"

// The figures on top, the bars and what marks them.
namespace lockstep::ui {

void OverlapScene::draw(DisplayList& list) {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  drawHeader(list);
  drawRuler(list);
  list.clip(charts_);
  drawSpread(list);
  for (const Row& row : rows_) {
    // Ranks that are scrolled out of sight cost nothing.
    if (row.plot.bottom() >= charts_.top() && row.plot.top() <= charts_.bottom()) {
      drawRow(list, row);
    }
  }
  list.unclip();
  drawLegend(list, legend_, legendEntries(), palette_);
  drawSide(list);
  drawHover(list);
}

void OverlapScene::drawHeader(DisplayList& list) const {
  list.fill(header_, palette_.surface);
  list.fill(QRectF(0, header_.bottom() - 1, header_.width(), 1), palette_.gridStrong);
  const double width = header_.width() - 28;
  list.title(QRectF(14, 6, width, 22),
             frame_.headed ? content_.headline : QStringLiteral("Iteration by iteration"),
             palette_);
  list.note(QRectF(14, 28, width, 19), overlap_words::medians(content_, frame_.live), palette_);
}

void OverlapScene::drawRuler(DisplayList& list) const {
  list.note(QRectF(14, ruler_.top(), ruler_.left() - 20, ruler_.height()),
            QStringLiteral("iteration"), palette_);
  // Labels at round numbers, at least 56 px apart.
  const double stride = std::max(1.0, roundStep(56 / pixelsPerStep()));
  for (double step = std::ceil(std::max(0.0, frame_.firstStep) / stride) * stride;
       step < frame_.lastStep; step += stride) {
    const double x = xOf(step);
    const double width = std::min(stride * pixelsPerStep(), 80.0);
    if (x + 20 <= ruler_.right()) {
      list.fill(QRectF(x, ruler_.bottom() - 5, 1, 5), palette_.gridStrong);
      list.note(QRectF(x + 3, ruler_.top(), width, ruler_.height() - 2),
                QString::number(step, 'f', 0), palette_);
    }
  }
}

void OverlapScene::drawRow(DisplayList& list, const Row& row) const {
  list.fill(row.plot, palette_.lane);
  const double stepMs = roundStep(content_.scaleMs, 5);
  for (double ms = stepMs; ms < content_.scaleMs; ms += stepMs) {
    list.fill(QRectF(row.plot.left(), std::round(yOf(row, ms)), row.plot.width(), 1),
              palette_.grid);
    list.note(QRectF(row.plot.left() - 66, yOf(row, ms) - 8, 60, 16), formatMs(ms), palette_,
              kToTheRight);
  }
  list.clip(row.plot);
  drawWarmUp(list, row);
  const std::uint32_t each = stepsPerBar();
  const double first = std::max(0.0, std::floor(frame_.firstStep));
  // From the bar that the first visible step belongs to: it may begin left of the plot.
  for (double step = first - std::fmod(first, each); step < frame_.lastStep; step += each) {
    if (const auto bar = barAt(row, static_cast<std::uint32_t>(step))) {
      drawBar(list, row, *bar);
    }
  }
  drawBounds(list, row);
  drawSelection(list, row);
  list.unclip();
  list.fill(QRectF(row.plot.left(), row.plot.bottom() - 1, row.plot.width(), 1),
            palette_.gridStrong);
  drawLabel(list, row);
}

void OverlapScene::drawLabel(DisplayList& list, const Row& row) const {
  const bool chosen = frame_.rank == row.rank->rank;
  if (chosen) {
    list.fill(QRectF(0, row.label.top(), 4, row.label.height()), palette_.accent);
  }
  double y = row.label.top() + 2;
  const auto line = [&](const QString& text, const QColor& colour, FontRole font) {
    if (y + 16 <= row.label.bottom()) {
      list.text(QRectF(14, y, row.label.width() - 84, 16), text, colour, font);
    }
    y += 17;
  };
  line(QStringLiteral("rank %1").arg(row.rank->rank), palette_.text, FontRole::kBold);
  if (row.why[0] != '\0') {
    line(QString::fromLatin1(row.why), palette_.accent, FontRole::kSmall);
  }
  for (const QString& text : overlap_words::labelOf(*row.rank)) {
    line(text, palette_.textMuted, FontRole::kSmall);
  }
}

// Shown, but paler: no figure of the view counts it.
void OverlapScene::drawWarmUp(DisplayList& list, const Row& row) const {
  const double end = xOf(content_.warmUp.firstMeasured);
  if (end <= row.plot.left()) {
    return;
  }
  const QRectF part(row.plot.left(), row.plot.top(),
                    std::min(end, row.plot.right()) - row.plot.left(), row.plot.height());
  list.fill(part, palette_.raised);
  if (part.width() > 60) {
    list.note(part.adjusted(4, 0, 0, -part.height() + 18), QStringLiteral("warm-up"), palette_);
  }
}

void OverlapScene::drawBar(DisplayList& list, const Row& row, const Bar& bar) const {
  double below = 0;
  double unexposed = 0;
  for (int i = 0; i < kOverlapParts; ++i) {
    const auto part = static_cast<OverlapPart>(i);
    unexposed = part == OverlapPart::kNoCore ? below : unexposed;
    const double bottom = yOf(row, below);
    below += bar.parts[static_cast<std::size_t>(i)];
    const QRectF rect(bar.left, yOf(row, below), bar.right - bar.left, bottom - yOf(row, below));
    if (rect.height() <= 0) {
      continue;
    }
    const Swatch swatch = barSwatchOf(part);
    drawSwatch(list, rect, swatch, 0);
    if (swatch.hatch.isValid()) {
      list.outline(rect, colourOf(part, palette_));
    }
  }
  if (below > unexposed && hasRoomForHatches()) {
    const double top = yOf(row, below);
    markExposed(list, QRectF(bar.left, top, bar.right - bar.left, yOf(row, unexposed) - top),
                Qt::LeftEdge, palette_);
  }
  if (below > content_.scaleMs) {  // goes on beyond the top
    const double x = (bar.left + bar.right) / 2;
    const double half = std::min(5.0, (bar.right - bar.left) / 2);
    list.polygon(
        {{x, row.plot.top() + 1}, {x + half, row.plot.top() + 8}, {x - half, row.plot.top() + 8}},
        palette_.text);
  }
  // Only where the bar is one step: of a mean over many it could not be said.
  if (bar.begin + 1 == bar.end && row.rank->steps[bar.begin].times.incomplete &&
      bar.right - bar.left > 3) {
    list.hatch(QRectF(bar.left, row.plot.top(), bar.right - bar.left, 8), palette_.warning);
  }
}

// What the step cannot fall below; labels at either end, so that they never cover each other.
void OverlapScene::drawBounds(DisplayList& list, const Row& row) const {
  if (!row.rank->measured || !row.rank->measured->exposedMs) {
    return;
  }
  const auto bound = [&](double ms, const QString& text, const QColor& colour, bool right) {
    const double y = std::round(yOf(row, ms));
    list.fill(QRectF(row.plot.left(), y, row.plot.width(), 1), colour);
    const double width = textWidth(text, FontRole::kSmall) + 10;
    // Two plates that do not fit beside each other would cover the bars between; the lines stay.
    if (width * 2 > row.plot.width()) {
      return;
    }
    const double left = right ? row.plot.right() - width - 4 : row.plot.left() + 4;
    drawPlate(list, QRectF(left, y + 2, width, 15), text, withAlpha(palette_.surface, 0.88f),
              {.ink = colour});
  };
  const analysis::RankOverlap& of = *row.rank->measured;
  // Where perfect overlap is no faster than what was measured there is nothing to show.
  if (of.perfectMs && *of.perfectMs < of.stepMs) {
    bound(*of.perfectMs, QStringLiteral("perfect overlap %1").arg(formatMs(*of.perfectMs)),
          palette_.measure, false);
  }
  bound(of.noopMs, QStringLiteral("no transfer %1").arg(formatMs(of.noopMs)), palette_.good, true);
}

void OverlapScene::drawSelection(DisplayList& list, const Row& row) const {
  if (!frame_.selected || frame_.selected->rank != row.rank->rank) {
    return;
  }
  if (const auto bar = barAt(row, frame_.selected->step)) {
    const QRectF column(bar->left - 1, row.plot.top(), bar->right - bar->left + 2,
                        row.plot.height());
    list.outline(column, palette_.accent, 2);
    list.outline(column.adjusted(-1, 0, 1, 0), palette_.accent, 2);
  }
}

}  // namespace lockstep::ui
