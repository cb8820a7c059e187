#include "ui/views/timeline/layers/RulerLayer.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/layers/TimeMarks.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kBoxPadding = 8;  // px beside the number in it, both sides together

}  // namespace

void RulerLayer::draw(DisplayList& list) const {
  const QRectF whole(0, 0, frame_.size.width(), kRulerHeight);
  const TimeMarks marks(sight_);
  list.fill(whole, palette_.surface);
  list.clip(QRectF(axis_.left(), 0, axis_.width(), kRulerHeight));
  marks.boxed() ? drawBoxes(list, marks) : drawNumbers(list, marks);
  drawTimes(list, marks);
  list.unclip();
  list.fill(QRectF(0, kRulerHeight - 1, frame_.size.width(), 1), palette_.gridStrong);
  list.note(QRectF(10, 0, kLabelWidth - 14, kIterationHeight), QStringLiteral("Iteration"),
            palette_);
  list.note(QRectF(10, kIterationHeight, kLabelWidth - 14, kRulerHeight - kIterationHeight - 6),
            QStringLiteral("Time"), palette_);
  list.fill(QRectF(kLabelWidth - 1, 0, 1, kRulerHeight), palette_.gridStrong);
}

void RulerLayer::drawTimes(DisplayList& list, const TimeMarks& marks) const {
  const double step = marks.stepNs();
  for (const TimeAxis::Tick& tick : marks.ticks()) {
    const double x = std::round(tick.x);
    const double length = tick.major ? 7 : 4;
    list.fill(QRectF(x, kRulerHeight - length, 1, length),
              tick.major ? palette_.textMuted : palette_.gridStrong);
    const QString text = tick.major ? marks.label(tick.ns, step) : QString();
    const double half = textWidth(text, FontRole::kSmall) / 2 + 2;
    if (tick.major && x - half >= axis_.left() && x + half <= axis_.right()) {
      list.note(QRectF(x - half, kIterationHeight + 1, 2 * half, 15), text, palette_,
                Qt::AlignCenter);
    }
  }
}

void RulerLayer::drawNumbers(DisplayList& list, const TimeMarks& marks) const {
  for (const StepSpan& step : marks.iterations()) {
    const double left = std::max(axis_.toX(step.startNs), axis_.left() - 2);
    list.fill(QRectF(std::round(left), 4, 1, kIterationHeight - 4), palette_.gridStrong);
    const QString number = QString::number(step.step);
    if (left + 4 + textWidth(number, FontRole::kSmall) <= axis_.right()) {  // else cut: 7 of 70
      list.label(QRectF(left + 4, 2, TimeMarks::kNumberDistance - 6, kIterationHeight - 3), number,
                 palette_);
    }
  }
}

void RulerLayer::drawBoxes(DisplayList& list, const TimeMarks& marks) const {
  for (const StepSpan& step : marks.iterations()) {
    const double left = std::round(std::max(axis_.toX(step.startNs), axis_.left() - 2));
    const double right = std::round(std::min(axis_.toX(step.endNs), axis_.right() + 2));
    const QRectF box(left, 3, right - left - 1, kIterationHeight - 4);
    if (box.width() < 3) {
      continue;
    }
    list.fill(box, palette_.raised, 3);
    const QString number = QString::number(step.step);
    const QString full = QStringLiteral("iteration %1 · %2")
                             .arg(step.step)
                             .arg(formatDuration(step.endNs - step.startNs));
    const bool roomy = textWidth(full, FontRole::kSmall) + 12 < box.width();
    if (textWidth(number, FontRole::kSmall) + kBoxPadding < box.width()) {
      list.label(box, roomy ? full : number, palette_, Qt::AlignCenter);
    }
  }
}

}  // namespace lockstep::ui
