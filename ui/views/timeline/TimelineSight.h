#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <optional>
#include <span>

#include "ui/chart/TimeAxis.h"
#include "ui/model/Annotations.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFinder.h"
#include "ui/model/ViewState.h"
#include "ui/views/timeline/TimelineLayout.h"

namespace lockstep::ui {

/// What one frame of the timeline is about, beside the model.
struct TimelineFrame {
  QSizeF size;
  TimeRange range;
  double scrollY = 0;
  bool keepsHeads = false;  ///< World and the header of a rank stay in sight over what is scrolled
  ColourBy colourBy = ColourBy::kPhase;
  std::optional<Span> selection;
  std::optional<Span> hovered;
  std::optional<QPointF> pointer;     ///< shows a cursor line, and the tooltip when over a span
  std::optional<TimeRange> measured;  ///< the measuring band
  std::optional<TimeRange> filter;    ///< what statistics are about; all else is dimmed
  bool ribbons = false;               ///< joins every collective in sight across ranks
  const Annotations* notes = nullptr;
  const ForecastIteration* forecast = nullptr;  ///< is drawn where the layout has room for it
  const SpanFinder* found = nullptr;            ///< what is searched for: all else is dimmed
};

/// What of a run is in sight in a frame, and where: by this every layer of a timeline is drawn and
/// hit. Refers to model and layout.
struct TimelineSight {
  TimelineSight(const RunModel& model, const TimelineLayout& layout, TimelineFrame frame);

  /// The axis of a frame of this width.
  static TimeAxis axisFor(double width, TimeRange range);

  [[nodiscard]] double yOf(double layoutY) const;
  /// Where a point of the frame lies in the layout.
  [[nodiscard]] double layoutY(QPointF position) const;
  /// Below the ruler: all of it, and what lies right of the names.
  [[nodiscard]] QRectF belowRuler() const;
  [[nodiscard]] QRectF timesArea() const;
  /// The same without what stays in sight: here lies what is scrolled.
  [[nodiscard]] QRectF scrolled() const;
  [[nodiscard]] QRectF lanesArea() const;
  [[nodiscard]] bool inSight(double layoutTop, double height) const;
  /// The ranks whose lanes are in sight, or nearly; the cost does not grow with all others.
  [[nodiscard]] std::span<const TimelineLayout::RankBox> ranksInSight() const {
    return layout.ranksWithin(frame.scrollY - 1, frame.scrollY + frame.size.height());
  }
  [[nodiscard]] QRectF barRect(double leftX, double rightX, const TimelineLayout::Row& row) const;
  /// Where a span's bar or mark is, in its lanes or else in the line of its rank; nothing when it
  /// has no place or is out of sight sideways.
  [[nodiscard]] std::optional<QRectF> rectOf(const Span& span) const;
  [[nodiscard]] std::optional<TimelineLayout::Row> rowOf(const Span& span) const;
  /// What of a stretch of time is in sight, from the ruler down.
  [[nodiscard]] QRectF bandOf(TimeRange range) const;
  /// Where a label of this width lies about `x` without leaving the axis.
  [[nodiscard]] double labelLeft(double x, double width) const;

  const RunModel& model;
  const TimelineLayout& layout;
  const TimelineFrame frame;
  const TimeAxis axis;
  /// The height of World where it stays below the ruler; 0: it is scrolled like all else.
  const double worldKept;
  /// The rank whose lanes are cut off above, and where its header stays; null: none.
  const TimelineLayout::RankBox* const headKept;
  const double headTop;
};

/// How far beside a thin span the pointer may be, in pixels.
inline constexpr double kPointerSlack = 4;

}  // namespace lockstep::ui
