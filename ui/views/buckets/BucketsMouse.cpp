#include <algorithm>
#include <cmath>

#include "ui/stage/Steps.h"
#include "ui/views/buckets/BucketsController.h"

// What the mouse does on the stage.
namespace lockstep::ui {
namespace {

constexpr double kWheelRows = 60;  // px a notch

}  // namespace

void BucketsController::press(const PointerInput& input) {
  if (story_ == nullptr) {
    return;
  }
  dragFrom_ = input.position;
  const BucketsHit hit = layout().hit(input.position, against_);
  if (pans(input)) {
    drag_ = Drag::kPan;
  } else if (input.button == Qt::LeftButton && hit.kind == BucketsHit::Kind::kAxis) {
    drag_ = Drag::kReplay;
    replayAt(input.position.x());
  } else if (input.button == Qt::LeftButton) {
    click(hit);
  }
}

void BucketsController::move(const PointerInput& input) {
  if (story_ == nullptr) {
    return;
  }
  pointer_ = input.position;
  if (drag_ == Drag::kReplay) {
    replayAt(input.position.x());
  } else if (drag_ == Drag::kPan) {
    // By the way since the last move: pan() clamps, and a hand that turns back moves at once.
    pan(dragFrom_.x() - input.position.x());
    dragFrom_ = input.position;
  }
  hovered_ = layout().hit(input.position, against_);
}

void BucketsController::release(const PointerInput&) {
  drag_ = Drag::kNone;
}

// Zooms to the time of the bucket under the pointer; beside one, back to the whole.
void BucketsController::doubleClick(const PointerInput& input) {
  if (story_ == nullptr || !story_->measured()) {
    return;
  }
  const BucketsHit hit = layout().hit(input.position, against_);
  zoomed_.reset();
  if (hit.kind != BucketsHit::Kind::kTimes) {
    return;
  }
  double startNs = story_->range.endNs;
  double endNs = story_->range.startNs;
  for (const auto& times : story_->lives[static_cast<std::size_t>(hit.bucket)].ranks) {
    if (times.firstGradientTicks) {
      startNs = std::min(startNs, story_->ns(*times.firstGradientTicks));
    }
    // To the end of what is known: of a bucket that was never in flight to its launch.
    for (const auto& end : {times.launchedTicks, times.endedTicks}) {
      endNs = end ? std::max(endNs, story_->ns(*end)) : endNs;
    }
  }
  if (endNs > startNs) {
    zoomed_ = TimeRange{startNs, endNs}.widened(0.1);
  }
}

void BucketsController::leave() {
  pointer_.reset();
  hovered_ = {};
}

// Over the times the wheel zooms, with Shift it moves sideways; elsewhere it scrolls.
void BucketsController::wheel(const WheelInput& input) {
  if (story_ == nullptr) {
    return;
  }
  const BucketsLayout now = layout();
  const bool overTimes = story_->measured() && input.position.x() >= now.timesColumn().left();
  const bool sideways = (input.modifiers & Qt::ShiftModifier) != 0 || input.stepsX != 0;
  if (overTimes && sideways) {
    pan((input.stepsX != 0 ? input.stepsX : -input.stepsY) * kWheelRows);
  } else if (overTimes) {
    zoom(std::pow(kZoomANotch, input.stepsY), input.position.x());
  } else if (now.orderArea().contains(input.position)) {
    orderScroll_ -= input.stepsY * kWheelRows;
  } else {
    rowScroll_ -= input.stepsY * kWheelRows;
  }
  clampScroll();
  hovered_ = layout().hit(input.position, against_);
}

Qt::CursorShape BucketsController::cursor() const {
  using Kind = BucketsHit::Kind;
  const bool nothing = hovered_.kind == Kind::kNothing || hovered_.kind == Kind::kOrder;
  return drag_ == Drag::kPan            ? Qt::ClosedHandCursor
         : hovered_.kind == Kind::kAxis ? Qt::SplitHCursor
         : nothing                      ? Qt::ArrowCursor
                                        : Qt::PointingHandCursor;
}

void BucketsController::replayAt(double x) {
  const double ns = layout().axis().toNs(x);
  if (!story_->range.empty()) {
    setReplayPart((ns - story_->range.startNs) / story_->range.lengthNs());
  }
}

void BucketsController::click(const BucketsHit& hit) {
  using Kind = BucketsHit::Kind;
  if (hit.kind == Kind::kParameter || hit.kind == Kind::kDot) {
    selectParameter(static_cast<std::uint32_t>(hit.parameter),
                    hit.kind == Kind::kDot ? hit.rank : -1);
  } else if (hit.kind == Kind::kBucket || hit.kind == Kind::kFold) {
    selectBucket(hit.bucket);
  } else if (hit.kind == Kind::kTimes) {
    selectTimes(hit);
  } else if (state_ != nullptr) {
    state_->clearSelection();
  }
}

// What was going on at that moment: the collective, else what the bucket last was.
void BucketsController::selectTimes(const BucketsHit& hit) {
  const auto& times =
      story_->lives[static_cast<std::size_t>(hit.bucket)].ranks[static_cast<std::size_t>(hit.rank)];
  const std::uint64_t ticks = story_->ticksAt(hit.ns);
  const auto past = [ticks](const auto& at) { return at && *at <= ticks; };
  std::int64_t span = times.collectiveSpan;
  // Before it was ready the mark of that, and before its launch that of the launch: what came next.
  if (times.copyOutSpan >= 0 && past(times.copyOutTicks)) {
    span = times.copyOutSpan;
  } else if (times.readySpan >= 0 && !past(times.readyTicks)) {
    span = times.readySpan;
  } else if (times.launchedSpan >= 0 && !past(times.launchedTicks)) {
    span = times.launchedSpan;
  }
  // No collective was recorded, as where capture keeps buckets alone.
  if (span < 0) {
    span = times.launchedSpan >= 0 ? times.launchedSpan : times.readySpan;
  }
  if (span >= 0) {
    selectSpan(times.rank, span);
  }
}

}  // namespace lockstep::ui
