#pragma once

#include <QRectF>
#include <QString>
#include <QStringList>
#include <algorithm>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/views/timeline/TimelineSight.h"

namespace lockstep::ui {

/// What a layer of the timeline is made of: it draws one kind of thing by `draw(list)` over what
/// lies below it and, where that can be pointed at, says by a static `...At(sight, position)` what
/// is hit. Lives no longer than a frame. [ui-thread]
class TimelineLayer {
 public:
  TimelineLayer(const TimelineSight& sight, const Palette& palette)
      : sight_(sight),
        model_(sight.model),
        layout_(sight.layout),
        frame_(sight.frame),
        axis_(sight.axis),
        palette_(palette) {}

 protected:
  /// The place at the left of a row that is of no rank, with its title, as far as it lies `within`.
  void drawTitle(DisplayList& list, const QRectF& within, double top, double height,
                 const QString& title) const {
    using timeline_metrics::kLabelWidth;
    list.clip(within);
    const QRectF place(0, sight_.yOf(top), kLabelWidth, height);
    list.fill(place, palette_.surface);
    list.title(place.adjusted(10, 0, -6, 0), title, palette_);
    list.fill(QRectF(kLabelWidth - 1, place.top(), 1, place.height()), palette_.gridStrong);
    list.unclip();
  }

  /// Right of a bar that has no room for words, the first of `forms` that fits before `roomRight`.
  void noteBeside(DisplayList& list, const QRectF& bar, double roomRight,
                  const QStringList& forms) const {
    constexpr double kOff = 3;
    const double left = bar.right() + kOff;
    const double room = std::min(roomRight, axis_.right()) - kOff - left;
    if (bar.height() < timeline_metrics::kWordsFrom || left < axis_.left()) {
      return;
    }
    for (const QString& form : forms) {
      if (const double width = textWidth(form, FontRole::kSmall); width <= room) {
        list.note(QRectF(left, bar.top(), width + 2, bar.height()), form, palette_);
        return;
      }
    }
  }

  const TimelineSight& sight_;
  const RunModel& model_;
  const TimelineLayout& layout_;
  const TimelineFrame& frame_;
  const TimeAxis& axis_;
  const Palette& palette_;
};

}  // namespace lockstep::ui
