#pragma once

#include <QRectF>
#include <QSizeF>
#include <optional>
#include <set>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/TimeAxis.h"
#include "ui/model/Annotations.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"
#include "ui/model/SpanFinder.h"
#include "ui/model/ViewState.h"
#include "ui/views/timeline/CounterScene.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/TimelineLayout.h"

namespace lockstep::ui {

/// What one frame of the timeline is about, beside the model.
struct TimelineFrame {
  QSizeF size;
  TimeRange range;
  double scrollY = 0;
  ColourBy colourBy = ColourBy::kPhase;
  std::optional<Span> selection;
  std::optional<Span> hovered;
  std::optional<QPointF> pointer;      ///< shows a cursor line, and the tooltip when over a span
  std::optional<TimeRange> measured;   ///< the measuring band
  std::optional<TimeRange> filter;     ///< what statistics are about; all else is dimmed
  bool ribbons = false;                ///< joins every collective in sight across ranks
  const Annotations* notes = nullptr;
  const SpanFinder* found = nullptr;   ///< what is searched for: all else is dimmed
};

/// Where the flag of a bookmark or a note stands in the ruler, in coordinates of the frame.
QRectF flagRect(const Mark& mark, const TimeAxis& axis);

/// The meeting that a row of the World lane shows at a time, or nearest within `slackNs`.
const Meeting* meetingAt(const RunModel& model, const TimelineLayout::WorldRow& row, double ns,
                         double slackNs);

/// Draws one frame of a timeline into a display list. Holds nothing beyond the frame: the
/// widget and the picture make one, draw, and let it go.
class TimelineScene {
 public:
  TimelineScene(const RunModel& model, const TimelineLayout& layout, const Palette& palette,
                TimelineFrame frame);

  void draw(DisplayList& list);

  /// The axis of a frame of this width.
  static TimeAxis axisFor(double width, TimeRange range);
  /// Where a span's bar or mark is, in coordinates of the frame; nothing when its rank is
  /// collapsed or it is out of sight sideways.
  [[nodiscard]] std::optional<QRectF> rectOf(const Span& span) const;

  /// One line of the colours that a run has and their meaning; returns the width it took.
  static double drawLegend(DisplayList& list, const QRectF& rect, const Palette& palette,
                           const RunModel& model, ColourBy by = ColourBy::kPhase);

 private:
  struct Fold;

  void drawGrid(DisplayList& list) const;
  void drawLanes(DisplayList& list) const;
  [[nodiscard]] QString stateOf(const trace::RankInfo& info) const;
  void drawRankHeader(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawLane(DisplayList& list, const TimelineLayout::LaneBox& lane) const;
  void drawRow(DisplayList& list, const Lane& lane, const TimelineLayout::Row& row) const;
  void drawBar(DisplayList& list, const Span& span, const QRectF& bar) const;
  void drawBarItself(DisplayList& list, const Span& span, const QRectF& bar) const;
  void drawCollective(DisplayList& list, const Span& span, const QRectF& bar) const;
  void drawBarText(DisplayList& list, const Span& span, const QRectF& bar,
                   const QColor& fill) const;
  void drawPlate(DisplayList& list, const Span& span, const QRectF& hatched,
                 const QColor& ground) const;
  void drawMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                double roomRight) const;
  void drawFold(DisplayList& list, const Fold& fold, const QRectF& row) const;
  void drawWorld(DisplayList& list) const;
  void drawWorldGroup(DisplayList& list, std::uint8_t group) const;
  void drawMeeting(DisplayList& list, const Meeting& meeting, const QRectF& bar) const;
  void drawMeetingText(DisplayList& list, const Meeting& meeting, const QRectF& waiting,
                       const QRectF& transfer, const QColor& fill) const;
  void drawWorldFold(DisplayList& list, const MeetingTable& table, std::size_t first,
                     std::size_t last, const QRectF& rows) const;
  [[nodiscard]] QColor colourOfMeeting(const Meeting& meeting) const;
  [[nodiscard]] std::size_t membersOf(const Meeting& meeting) const;
  void drawMatches(DisplayList& list, const Lane& lane, const TimelineLayout::Row& row) const;
  void drawGaps(DisplayList& list, const TimelineLayout::LaneBox& lane) const;
  void drawCounterBands(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawCounters(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawCounterLabels(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawCounterCard(DisplayList& list) const;
  [[nodiscard]] std::optional<CounterLane> counterLane(
      int rank, const TimelineLayout::CounterBox& box) const;
  void drawLabels(DisplayList& list) const;
  void drawRuler(DisplayList& list) const;
  void drawIterations(DisplayList& list) const;
  void drawTimes(DisplayList& list) const;
  void drawSelection(DisplayList& list) const;
  void drawRibbon(DisplayList& list) const;
  void drawRibbons(DisplayList& list) const;
  void drawRibbonOf(DisplayList& list, const Meeting& meeting, const QColor& colour,
                    bool withText) const;
  void drawFilter(DisplayList& list) const;
  void drawFlags(DisplayList& list) const;
  void drawMeasure(DisplayList& list) const;
  void drawPointer(DisplayList& list) const;
  void drawTooltip(DisplayList& list) const;

  [[nodiscard]] double labelDistance() const;
  [[nodiscard]] QString timeLabel(double ns, double stepNs) const;
  [[nodiscard]] double yOf(double layoutY) const;
  [[nodiscard]] QRectF lanesArea() const;
  [[nodiscard]] bool inSight(double layoutTop, double height) const;
  [[nodiscard]] QRectF barRect(double leftX, double rightX, const TimelineLayout::Row& row) const;
  /// Iterations to number: first, last and the stride between labels.
  struct Iterations {
    int rank = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t stride = 1;
  };
  [[nodiscard]] std::optional<Iterations> visibleIterations() const;

  const RunModel& model_;
  const TimelineLayout& layout_;
  const Palette& palette_;
  const TimelineFrame frame_;
  const TimeAxis axis_;
};

}  // namespace lockstep::ui
