#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/views/timeline/TimelineController.h"

// The mouse on a timeline: hover, click, measure, pan, zoom.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kDragFrom = 4;         // px that tell a drag from a click
constexpr double kSlack = 4;            // px beside a thin span that still hit it
constexpr double kZoomANotch = 0.8;
constexpr double kPanANotch = 0.12;     // of the visible length
constexpr double kScrollANotch = 60;    // px

bool pans(const PointerInput& input) {
  return input.button == Qt::RightButton || input.button == Qt::MiddleButton;
}

}  // namespace

std::optional<Span> TimelineController::spanAt(QPointF position) const {
  const TimeAxis now = axis();
  if (position.y() < kRulerHeight || position.x() < now.left() || position.x() > now.right()) {
    return std::nullopt;
  }
  const auto hit = layout_.hit(position.y() - kRulerHeight + scrollY_);
  if (!hit || hit->row < 0) {
    return std::nullopt;
  }
  return model_->findSpan(hit->lane, hit->row, now.toNs(position.x()), now.nsPerPixel() * kSlack);
}

void TimelineController::press(const PointerInput& input) {
  pointer_ = input.position;
  dragFrom_ = input.position;
  dragRange_ = state_->range();
  dragScroll_ = scrollY_;
  if (pans(input) || (input.button == Qt::LeftButton && input.position.y() < kRulerHeight)) {
    drag_ = Drag::kPan;
    updateHover();
    return;
  }
  if (input.button != Qt::LeftButton) {
    return;
  }
  if (const auto rank = layout_.headerAt(input.position.y() - kRulerHeight + scrollY_)) {
    toggleRank(*rank);
    return;
  }
  if (input.position.x() >= axis().left()) {
    drag_ = Drag::kPending;
  }
}

void TimelineController::move(const PointerInput& input) {
  pointer_ = input.position;
  const QPointF delta = input.position - dragFrom_;
  if (drag_ == Drag::kPending && std::abs(delta.x()) >= kDragFrom) {
    drag_ = Drag::kMeasure;
  }
  if (drag_ == Drag::kMeasure) {
    const TimeAxis now = axis();
    const double a = now.toNs(std::clamp(dragFrom_.x(), now.left(), now.right()));
    const double b = now.toNs(std::clamp(input.position.x(), now.left(), now.right()));
    measured_ = TimeRange{std::min(a, b), std::max(a, b)};
  } else if (drag_ == Drag::kPan) {
    const TimeAxis from = TimelineScene::axisFor(size_.width(), dragRange_).panned(-delta.x());
    setScroll(dragScroll_ - delta.y());
    if (std::abs(delta.x()) >= 1) {
      show({from.startNs(), from.endNs()}, ViewState::RangeChange::kPan);
    }
  }
  updateHover();
}

void TimelineController::release(const PointerInput& input) {
  pointer_ = input.position;
  const Drag ended = std::exchange(drag_, Drag::kNone);
  if (ended == Drag::kPending) {
    measured_.reset();
    state_->select(spanAt(input.position));
  }
  updateHover();
}

void TimelineController::doubleClick(const PointerInput& input) {
  pointer_ = input.position;
  if (input.button != Qt::LeftButton) {
    return;
  }
  if (layout_.headerAt(input.position.y() - kRulerHeight + scrollY_)) {
    press(input);  // a quick second click folds back
    return;
  }
  if (const auto span = spanAt(input.position)) {
    state_->select(span);
    focus();
  }
}

void TimelineController::leave() {
  pointer_.reset();
  updateHover();
}

void TimelineController::wheel(const WheelInput& input) {
  pointer_ = input.position;
  const double steps = input.stepsY != 0 ? input.stepsY : -input.stepsX;
  const bool sideways = input.modifiers.testFlag(Qt::ShiftModifier) ||
                        std::abs(input.stepsX) > std::abs(input.stepsY);
  if (input.position.x() < axis().left() && !sideways) {
    setScroll(scrollY_ - steps * kScrollANotch);
    updateHover();
  } else if (sideways) {
    pan(-steps * kPanANotch);
  } else {
    zoom(std::pow(kZoomANotch, steps));
  }
}

Qt::CursorShape TimelineController::cursor() const {
  switch (drag_) {
    case Drag::kPan: return Qt::ClosedHandCursor;
    case Drag::kMeasure: return Qt::SizeHorCursor;
    default: break;
  }
  const bool header = pointer_ && pointer_->y() >= kRulerHeight &&
                      layout_.headerAt(pointer_->y() - kRulerHeight + scrollY_).has_value();
  return header ? Qt::PointingHandCursor : Qt::ArrowCursor;
}

}  // namespace lockstep::ui
