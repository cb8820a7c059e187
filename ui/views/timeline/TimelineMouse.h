#pragma once

#include <QPointF>
#include <Qt>
#include <optional>

#include "ui/canvas/CanvasInput.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

class TimelineController;

/// What the mouse does to a timeline: hover, click, measure, filter, pan, zoom. Keeps what lasts
/// while a button is down, and the measuring band. What takes input needs a controller that is
/// ready. [ui-thread]
class TimelineMouse {
 public:
  explicit TimelineMouse(TimelineController& timeline) : timeline_(timeline) {}

  void press(const PointerInput& input);
  void move(const PointerInput& input);
  void release(const PointerInput& input);
  void doubleClick(const PointerInput& input);
  void leave();
  void wheel(const WheelInput& input);
  /// Forgets all of another run.
  void reset();
  void dropMeasured() { measured_.reset(); }
  /// What lies under the pointer may have changed.
  void updateHover();

  [[nodiscard]] Qt::CursorShape cursor() const;
  [[nodiscard]] const std::optional<QPointF>& pointer() const { return pointer_; }
  [[nodiscard]] bool pans() const { return drag_ == Drag::kPan; }
  [[nodiscard]] const std::optional<TimeRange>& measured() const { return measured_; }
  /// The filter while it is dragged.
  [[nodiscard]] const std::optional<TimeRange>& filtering() const { return filtering_; }
  /// Whether the button that went up last was pressed and let go in one place.
  [[nodiscard]] bool wasClick() const { return wasClick_; }

 private:
  enum class Drag { kNone, kPending, kMeasure, kFilter, kPan };

  void panFrom(QPointF delta);

  TimelineController& timeline_;
  std::optional<QPointF> pointer_;
  std::optional<TimeRange> measured_;
  std::optional<TimeRange> filtering_;
  bool filterDrag_ = false;
  bool wasClick_ = false;
  Drag drag_ = Drag::kNone;
  QPointF dragFrom_;
  TimeRange dragRange_;
  double dragScroll_ = 0;
};

}  // namespace lockstep::ui
