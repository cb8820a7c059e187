#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/SpanStyle.h"
#include "ui/views/timeline/TimelineScene.h"

// The parts of the scene that lie on top: selection, measuring band, filter, flags, tooltip.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

void plate(DisplayList& list, const QRectF& rect, const QString& text, const QColor& fill) {
  list.fill(rect, fill, 3);
  list.text(rect, text, Palette::textOn(fill), FontRole::kSmall,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

}  // namespace

QRectF flagRect(const Mark& mark, const TimeAxis& axis) {
  constexpr double kWidest = 150;
  constexpr double kFlag = 11;
  const double x = std::round(axis.toX(mark.ns));
  if (mark.kind == Mark::Kind::kBookmark) {
    return {x, kIterationHeight + 1, kFlag, kFlag + 3};
  }
  const double width = std::min(textWidth(mark.text.simplified(), FontRole::kSmall) + 10, kWidest);
  return {x, kIterationHeight + 1, width, 16};
}

void TimelineScene::drawSelection(DisplayList& list) const {
  if (frame_.hovered) {
    if (const auto rect = rectOf(*frame_.hovered)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.hover, 2);
    }
  }
  if (frame_.selection) {
    if (const auto rect = rectOf(*frame_.selection)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.accent, 2);
      list.outline(rect->adjusted(-2, -2, 1, 2), palette_.accent, 3);
    }
  }
}

void TimelineScene::drawMeasure(DisplayList& list) const {
  if (!frame_.measured || frame_.measured->empty()) {
    return;
  }
  const double left = std::clamp(axis_.toX(frame_.measured->startNs), axis_.left(), axis_.right());
  const double right = std::clamp(axis_.toX(frame_.measured->endNs), axis_.left(), axis_.right());
  const QRectF band(left, kRulerHeight, right - left, frame_.size.height() - kRulerHeight);
  list.fill(band, withAlpha(palette_.measure, 0.13f));
  list.fill(QRectF(left, kRulerHeight, 1, band.height()), palette_.measure);
  list.fill(QRectF(right, kRulerHeight, 1, band.height()), palette_.measure);
  const QString text = formatDuration(frame_.measured->lengthNs());
  const double width = textWidth(text, FontRole::kBold) + 16;
  const double x = std::clamp(band.center().x() - width / 2, axis_.left(),
                              std::max(axis_.left(), axis_.right() - width));
  const QRectF label(x, kRulerHeight + 4, width, 20);
  list.fill(label, palette_.measure, 4);
  list.text(label, text, Palette::textOn(palette_.measure), FontRole::kBold,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

// All that statistics leave out is pale.
void TimelineScene::drawFilter(DisplayList& list) const {
  if (!frame_.filter || frame_.filter->empty()) {
    return;
  }
  const double left = std::clamp(axis_.toX(frame_.filter->startNs), axis_.left(), axis_.right());
  const double right = std::clamp(axis_.toX(frame_.filter->endNs), axis_.left(), axis_.right());
  const double height = frame_.size.height() - kRulerHeight;
  const QColor veil = withAlpha(palette_.background, 0.68f);
  list.fill(QRectF(axis_.left(), kRulerHeight, left - axis_.left(), height), veil);
  list.fill(QRectF(right, kRulerHeight, axis_.right() - right, height), veil);
  for (const double x : {left, right}) {
    if (x > axis_.left() && x < axis_.right()) {
      list.fill(QRectF(std::round(x) - 1, kRulerHeight, 2, height), palette_.accent);
    }
  }
  if (right - left < 2) {
    return;
  }
  const QString text =
      QStringLiteral("filter: ") + formatDuration(frame_.filter->lengthNs());
  const double width = textWidth(text, FontRole::kSmall) + 12;
  const double x = std::clamp((left + right - width) / 2, axis_.left(),
                              std::max(axis_.left(), axis_.right() - width));
  plate(list, QRectF(x, frame_.size.height() - 20, width, 16), text, palette_.accent);
}

void TimelineScene::drawFlags(DisplayList& list) const {
  if (frame_.notes == nullptr) {
    return;
  }
  list.clip(QRectF(axis_.left(), 0, axis_.width(), frame_.size.height()));
  for (const Mark& mark : frame_.notes->marks()) {
    const QRectF flag = flagRect(mark, axis_);
    if (flag.left() > axis_.right() || flag.right() < axis_.left()) {
      continue;
    }
    const double x = std::round(axis_.toX(mark.ns));
    const QColor colour = mark.kind == Mark::Kind::kNote ? palette_.measure : palette_.accent;
    list.fill(QRectF(x, flag.top(), 1, frame_.size.height() - flag.top()),
              withAlpha(colour, 0.55f));
    if (mark.kind == Mark::Kind::kNote) {
      plate(list, flag, mark.text.simplified(), colour);
    } else {
      list.polygon({flag.topLeft(), {flag.right(), flag.center().y()}, flag.bottomLeft()}, colour);
    }
  }
  list.unclip();
}

void TimelineScene::drawPointer(DisplayList& list) const {
  if (!frame_.pointer || frame_.pointer->x() < axis_.left() || frame_.measured) {
    return;
  }
  const double x = std::round(frame_.pointer->x());
  list.fill(QRectF(x, kRulerHeight, 1, frame_.size.height() - kRulerHeight),
            withAlpha(palette_.textMuted, 0.35f));
  // One more digit than the labels of the grid.
  const QString text = timeLabel(axis_.toNs(x), axis_.labelStepNs(labelDistance()) / 100);
  const double width = textWidth(text, FontRole::kSmall) + 10;
  const double left = std::clamp(x - width / 2, axis_.left(),
                                 std::max(axis_.left(), axis_.right() - width));
  plate(list, QRectF(left, kIterationHeight + 1, width, 16), text, palette_.textMuted);
}

void TimelineScene::drawTooltip(DisplayList& list) const {
  if (!frame_.pointer || !frame_.hovered) {
    drawCounterCard(list);
    return;
  }
  drawFactCard(list, frame_.size, *frame_.pointer, titleOf(model_, *frame_.hovered),
               colourOf(*frame_.hovered, frame_.colourBy, palette_),
               factsOf(model_, *frame_.hovered), palette_);
}

}  // namespace lockstep::ui
