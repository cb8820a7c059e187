#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/stage/Steps.h"
#include "ui/views/timeline/TimelineController.h"

// The mouse on a timeline: hover, click, measure, pan, zoom.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kSlack = 4;          // px beside a thin span that still hit it
constexpr double kScrollANotch = 60;  // px

}  // namespace

std::optional<Span> TimelineController::spanAt(QPointF position) const {
  const TimeAxis now = axis();
  if (position.y() < kRulerHeight || position.x() < now.left() || position.x() > now.right()) {
    return std::nullopt;
  }
  const double y = position.y() - kRulerHeight + scrollY_;
  if (const auto world = layout_.worldHit(y)) {
    const Meeting* meeting =
        meetingAt(*model_, *world, now.toNs(position.x()), now.nsPerPixel() * kSlack);
    if (meeting != nullptr) {
      for (const Span& span : model_->spansOf(*meeting)) {
        if (span.rank() == meeting->lateRank) {
          return span;
        }
      }
    }
    return std::nullopt;
  }
  const auto hit = layout_.hit(y);
  if (!hit || hit->row < 0) {
    return std::nullopt;
  }
  return model_->findSpan(hit->lane, hit->row, now.toNs(position.x()), now.nsPerPixel() * kSlack);
}

std::optional<TimelineLayout::CounterHit> TimelineController::counterAt(QPointF position) const {
  if (position.y() < kRulerHeight) {
    return std::nullopt;
  }
  return layout_.counterHit(position.y() - kRulerHeight + scrollY_);
}

std::optional<Mark> TimelineController::markAt(QPointF position) const {
  if (notes_ == nullptr || position.y() > kRulerHeight || position.x() < axis().left()) {
    return std::nullopt;
  }
  const TimeAxis now = axis();
  // What is drawn last lies on top.
  const std::vector<Mark>& marks = notes_->marks();
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    if (flagRect(*mark, now).adjusted(-3, -2, 3, 2).contains(position)) {
      return *mark;
    }
  }
  return std::nullopt;
}

void TimelineController::press(const PointerInput& input) {
  pointer_ = input.position;
  dragFrom_ = input.position;
  dragRange_ = state_->range();
  dragScroll_ = scrollY_;
  wasClick_ = true;
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
    filterDrag_ = input.modifiers.testFlag(Qt::ControlModifier);
  }
}

void TimelineController::move(const PointerInput& input) {
  pointer_ = input.position;
  const QPointF delta = input.position - dragFrom_;
  if (std::max(std::abs(delta.x()), std::abs(delta.y())) >= kDragFrom) {
    wasClick_ = false;
  }
  if (drag_ == Drag::kPending && std::abs(delta.x()) >= kDragFrom) {
    drag_ = filterDrag_ ? Drag::kFilter : Drag::kMeasure;
  }
  if (drag_ == Drag::kMeasure || drag_ == Drag::kFilter) {
    const TimeAxis now = axis();
    const double a = now.toNs(std::clamp(dragFrom_.x(), now.left(), now.right()));
    const double b = now.toNs(std::clamp(input.position.x(), now.left(), now.right()));
    (drag_ == Drag::kFilter ? filtering_ : measured_) = TimeRange{std::min(a, b), std::max(a, b)};
  } else if (drag_ == Drag::kPan) {
    const TimeAxis from = TimelineScene::axisFor(size_.width(), dragRange_).panned(-delta.x());
    if (!wasClick_) {
      setScroll(dragScroll_ - delta.y());
    }
    if (std::abs(delta.x()) >= 1 && !wasClick_) {
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
  } else if (ended == Drag::kFilter) {
    state_->setFilter(std::exchange(filtering_, std::nullopt));
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
  if (input.modifiers.testFlag(Qt::AltModifier)) {
    scaleRows(steps);  // Qt turns a wheel with Alt sideways
    updateHover();
    return;
  }
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
    case Drag::kMeasure:
    case Drag::kFilter: return Qt::SizeHorCursor;
    default: break;
  }
  const bool header = pointer_ && pointer_->y() >= kRulerHeight &&
                      layout_.headerAt(pointer_->y() - kRulerHeight + scrollY_).has_value();
  return header || (pointer_ && markAt(*pointer_)) ? Qt::PointingHandCursor : Qt::ArrowCursor;
}

}  // namespace lockstep::ui
