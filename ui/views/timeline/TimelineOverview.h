#pragma once

#include <QPointer>
#include <QRectF>
#include <QWidget>
#include <optional>

#include "ui/chart/TimeAxis.h"
#include "ui/model/Annotations.h"
#include "ui/stage/CanvasPart.h"
#include "ui/stage/RunPart.h"

namespace lockstep::ui {

/// What an overview shows beside the run.
struct OverviewFrame {
  TimeRange shown;                  ///< drawn as a window; empty: none
  std::optional<TimeRange> filter;  ///< drawn as a line below
  ColourBy colourBy = ColourBy::kPhase;
  const Annotations* notes = nullptr;
};

inline constexpr double kOverviewHeight = 46;

/// The mapping of an overview: the whole run over the width of the lanes.
TimeAxis overviewAxis(const RunModel& model, const QRectF& rect);

/// Draws the whole run in a strip: per pixel column, which part of the ranks' time went into
/// which phase, from the bottom up, and waiting for buckets from the top down; when coloured by
/// wait, that alone. What is before the first iteration is marked as the start. Where events were
/// lost it is hatched. Costs pixels, not events. [ui-thread]
void drawOverview(DisplayList& list, const QRectF& rect, const RunModel& model,
                  const Palette& palette, const OverviewFrame& frame);

/// The strip above a timeline: its window is the visible range, and can be dragged, resized at
/// its edges, and put elsewhere by a click; the wheel zooms it, a double click shows all.
/// [ui-thread]
class TimelineOverview : public CanvasPart<RunPart> {
  Q_OBJECT

 public:
  explicit TimelineOverview(QWidget* parent = nullptr);

  void setAnnotations(const Annotations* notes);

  /// Pixels to time, for tests.
  [[nodiscard]] TimeAxis axis() const;

 private:
  enum class Drag { kNone, kMove, kLeft, kRight };

  void paintCanvas(DisplayList& list, QSizeF size) override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;
  void wheelTurned(const WheelInput& input) override;

  void runChanged() override;
  [[nodiscard]] bool ready() const;
  [[nodiscard]] Drag partAt(double x) const;
  void showRange(TimeRange range, ViewState::RangeChange change);

  QPointer<const Annotations> notes_;
  Drag drag_ = Drag::kNone;
  double dragFromNs_ = 0;
  TimeRange dragRange_;
};

}  // namespace lockstep::ui
