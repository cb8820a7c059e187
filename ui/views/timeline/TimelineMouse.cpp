#include "ui/views/timeline/TimelineMouse.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/stage/Steps.h"
#include "ui/views/timeline/TimelineController.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kScrollANotch = 60;  // px

}  // namespace

// Note [What a drag turns out to be]
//
//   pressed                        moved 4 px                         let go
//   left, in the lanes  kPending ─▶ kMeasure: a band that stays       kPending: it was a click,
//                                ─▶ kFilter, with Ctrl: a preview     so select what is there
//                                                                     kFilter: sets the filter
//   left, on the ruler  kPan     ─▶ moves time and lanes
//   middle or right     kPan     ─▶ moves time and lanes              right, not moved: the view
//                                                                     opens its menu (wasClick)
//   left, on a header   folds the rank at once, and is no drag
//   left, on a line     as in the lanes; a click gives its rank lanes, too
//
// A filter is set once, at the end, so that it is one step to undo. Nothing is hovered during a
// drag.
void TimelineMouse::press(const PointerInput& input) {
  pointer_ = input.position;
  dragFrom_ = input.position;
  dragRange_ = timeline_.state().range();
  dragScroll_ = timeline_.scrollY();
  wasClick_ = true;
  if (ui::pans(input) || (input.button == Qt::LeftButton && input.position.y() < kRulerHeight)) {
    drag_ = Drag::kPan;
    updateHover();
    return;
  }
  if (input.button != Qt::LeftButton) {
    return;
  }
  if (const auto rank = timeline_.headerAt(input.position)) {
    timeline_.toggleRank(*rank);
    return;
  }
  const bool names = input.position.x() < timeline_.axis().left();
  if (const auto rank = names ? timeline_.lineAt(input.position) : std::nullopt) {
    timeline_.showRanks({*rank});
    return;
  }
  if (input.position.x() >= timeline_.axis().left()) {
    drag_ = Drag::kPending;
    filterDrag_ = input.modifiers.testFlag(Qt::ControlModifier);
  }
}

void TimelineMouse::move(const PointerInput& input) {
  pointer_ = input.position;
  const QPointF delta = input.position - dragFrom_;
  if (std::max(std::abs(delta.x()), std::abs(delta.y())) >= kDragFrom) {
    wasClick_ = false;
  }
  if (drag_ == Drag::kPending && std::abs(delta.x()) >= kDragFrom) {
    drag_ = filterDrag_ ? Drag::kFilter : Drag::kMeasure;
  }
  if (drag_ == Drag::kMeasure || drag_ == Drag::kFilter) {
    const TimeAxis now = timeline_.axis();
    const double a = now.toNs(std::clamp(dragFrom_.x(), now.left(), now.right()));
    const double b = now.toNs(std::clamp(input.position.x(), now.left(), now.right()));
    (drag_ == Drag::kFilter ? filtering_ : measured_) = TimeRange{std::min(a, b), std::max(a, b)};
  } else if (drag_ == Drag::kPan && !wasClick_) {
    panFrom(delta);
  }
  updateHover();
}

void TimelineMouse::panFrom(QPointF delta) {
  timeline_.setScroll(dragScroll_ - delta.y());
  if (std::abs(delta.x()) >= 1) {
    const TimeAxis now = timeline_.axis();
    // From where the drag began and not from the last move: rounding and the limits of the run do
    // not add up, and the time under the pointer stays under it.
    timeline_.show(
        TimeAxis(dragRange_.startNs, dragRange_.endNs, now.left(), now.width()).panned(-delta.x()),
        ViewState::RangeChange::kPan);
  }
}

void TimelineMouse::release(const PointerInput& input) {
  pointer_ = input.position;
  const Drag ended = std::exchange(drag_, Drag::kNone);
  if (ended == Drag::kPending) {
    measured_.reset();
    const std::optional<int> line = timeline_.lineAt(input.position);
    timeline_.state().select(timeline_.spanAt(input.position));
    if (line && timeline_.layout().boxOf(*line) == nullptr) {
      timeline_.showRanks({*line});
    }
  } else if (ended == Drag::kFilter) {
    timeline_.state().setFilter(std::exchange(filtering_, std::nullopt));
  }
  updateHover();
}

void TimelineMouse::doubleClick(const PointerInput& input) {
  pointer_ = input.position;
  if (input.button != Qt::LeftButton) {
    return;
  }
  if (timeline_.headerAt(input.position)) {
    press(input);  // a quick second click folds back
    return;
  }
  if (const auto span = timeline_.spanAt(input.position)) {
    timeline_.state().select(span);
    timeline_.focus();
  }
}

void TimelineMouse::leave() {
  pointer_.reset();
  updateHover();
}

void TimelineMouse::wheel(const WheelInput& input) {
  pointer_ = input.position;
  if (input.modifiers.testFlag(Qt::AltModifier)) {
    timeline_.scaleRows(input.steps());  // Qt turns a wheel with Alt sideways
    updateHover();
  } else if (input.position.x() < timeline_.axis().left() && !input.sideways()) {
    timeline_.setScroll(timeline_.scrollY() - input.steps() * kScrollANotch);
    updateHover();
  } else if (input.sideways()) {
    timeline_.pan(-input.steps() * kPanANotch);
  } else {
    timeline_.zoom(std::pow(kZoomANotch, input.steps()));
  }
}

void TimelineMouse::reset() {
  measured_.reset();
  filtering_.reset();
  drag_ = Drag::kNone;
}

void TimelineMouse::updateHover() {
  const bool over = pointer_ && drag_ == Drag::kNone;
  timeline_.state().setHovered(over ? timeline_.spanAt(*pointer_) : std::nullopt);
}

Qt::CursorShape TimelineMouse::cursor() const {
  if (drag_ == Drag::kPan) {
    return Qt::ClosedHandCursor;
  }
  if (drag_ == Drag::kMeasure || drag_ == Drag::kFilter) {
    return Qt::SizeHorCursor;
  }
  const bool over = pointer_ && (timeline_.headerAt(*pointer_) || timeline_.markAt(*pointer_) ||
                                 timeline_.lineAt(*pointer_));
  return over ? Qt::PointingHandCursor : Qt::ArrowCursor;
}

}  // namespace lockstep::ui
