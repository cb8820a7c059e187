#include "ui/views/buckets/BucketsController.h"

#include <algorithm>
#include <utility>

#include "ui/model/SpanFacts.h"
#include "ui/views/buckets/StepSpans.h"

namespace lockstep::ui {

void BucketsController::setRun(const RunModel* model, ViewState* state) {
  model_ = model;
  state_ = state;
  story_.reset();
  zoomed_.reset();
  replayNs_.reset();
  rowScroll_ = 0;
  orderScroll_ = 0;
  leave();
}

void BucketsController::setStory(std::shared_ptr<const BucketStory> story) {
  // The same iteration, made anew as it grows, keeps its zoom and the moment of its replay.
  const bool sameStep = story_ != nullptr && story != nullptr && story_->step == story->step &&
                        story_->preview == story->preview;
  if (!sameStep) {
    replayNs_.reset();
    zoomed_.reset();
  }
  story_ = std::move(story);
  // What was under the pointer is another thing now: looked up anew below.
  hovered_ = {};
  clampScroll();
  if (story_ != nullptr && pointer_) {
    hovered_ = layout().hit(*pointer_, against_);
  }
}

void BucketsController::setSize(QSizeF size) {
  if (size != size_) {
    size_ = size;
    clampScroll();
  }
}

TimeRange BucketsController::shown() const {
  return zoomed_.value_or(story_ == nullptr ? TimeRange{0, 1} : wholeTime(*story_));
}

BucketsLayout BucketsController::layout() const {
  return BucketsLayout(*story_, size_, shown(), rowScroll_, orderScroll_);
}

void BucketsController::clampScroll() {
  if (story_ != nullptr) {
    const BucketsLayout now = layout();
    rowScroll_ = std::clamp(rowScroll_, 0.0, now.maximumRowScroll());
    orderScroll_ = std::clamp(orderScroll_, 0.0, now.maximumOrderScroll());
  }
}

BucketsFrame BucketsController::frame() const {
  BucketsFrame frame;
  frame.size = size_;
  frame.shown = shown();
  frame.rowScroll = rowScroll_;
  frame.orderScroll = orderScroll_;
  frame.against = against_;
  frame.replayNs = replayNs_;
  frame.hovered = hovered_;
  // No card while something is dragged.
  frame.pointer = drag_ == Drag::kNone ? pointer_ : std::nullopt;
  frame.selectedParameter = selectedParameter();
  frame.selectedBucket = selectedBucket();
  if (state_ != nullptr && state_->selection()) {
    frame.selectedRank = state_->selection()->rank();
  }
  return frame;
}

// --- replay ---

// Note [The replay]
//
// A replay is one number: a time on the story's axis, replayNs_, or none where all is over. What is
// shown at it is found by comparing with the recorded times, and nothing is kept from one frame to
// the next, so going back costs no more than going on. Three things move it: the slider by a part
// of the whole, playing by the time that passed, and the arrows from one recorded moment to the
// next.
void BucketsController::setReplayPart(double part) {
  if (story_ == nullptr || !story_->measured()) {
    return;
  }
  // The end is no moment: without a replay all is over.
  if (part >= 1) {
    replayNs_.reset();
  } else {
    replayNs_ = story_->range.startNs + std::max(0.0, part) * story_->range.lengthNs();
  }
}

double BucketsController::replayPart() const {
  if (story_ == nullptr || !replayNs_ || story_->range.empty()) {
    return 1;
  }
  return std::clamp((*replayNs_ - story_->range.startNs) / story_->range.lengthNs(), 0.0, 1.0);
}

bool BucketsController::advance(double part) {
  setReplayPart(replayPart() + part);
  return replayNs_.has_value();
}

const analysis::ReplayMoment* BucketsController::stepMoment(int direction) {
  if (story_ == nullptr || !story_->measured()) {
    return nullptr;
  }
  const auto& moments = story_->moments;
  // At the end every moment is in the past, so the last one comes before it.
  const std::uint64_t now = replayNs_ ? story_->ticksAt(*replayNs_) : UINT64_MAX;
  const analysis::ReplayMoment* to = nullptr;
  if (direction > 0) {
    const auto at = std::ranges::upper_bound(moments, now, {}, &analysis::ReplayMoment::ticks);
    to = at == moments.end() ? nullptr : &*at;
  } else {
    const auto at = std::ranges::lower_bound(moments, now, {}, &analysis::ReplayMoment::ticks);
    to = at == moments.begin() ? nullptr : &*(at - 1);
  }
  if (to != nullptr) {
    replayNs_ = story_->ns(to->ticks);
  } else if (direction > 0) {
    // Beyond the last moment the replay is over.
    replayNs_.reset();
  }
  return to;
}

// --- time ---

void BucketsController::zoom(double factor, std::optional<double> x) {
  if (story_ == nullptr || !story_->measured()) {
    return;
  }
  const TimeAxis axis = layout().axis();
  const TimeRange whole = wholeTime(*story_);
  const TimeAxis next = axis.zoomed(factor, x.value_or(axis.left() + axis.width() / 2))
                            .clamped(whole.startNs, whole.endNs);
  // Zoomed out to the whole: then it follows the story again as that grows.
  if (next.lengthNs() >= whole.lengthNs()) {
    zoomed_.reset();
  } else {
    zoomed_ = TimeRange{next.startNs(), next.endNs()};
  }
}

void BucketsController::pan(double pixels) {
  if (story_ == nullptr || !zoomed_) {
    return;
  }
  const TimeRange whole = wholeTime(*story_);
  const TimeAxis next = layout().axis().panned(pixels).clamped(whole.startNs, whole.endNs);
  zoomed_ = TimeRange{next.startNs(), next.endNs()};
}

// --- selection ---

int BucketsController::selectedParameter() const {
  if (story_ == nullptr || state_ == nullptr || !state_->selection()) {
    return -1;
  }
  const auto parameter = parameterOf(*state_->selection());
  return parameter && *parameter < story_->bucketOf.size() ? static_cast<int>(*parameter) : -1;
}

int BucketsController::selectedBucket() const {
  if (story_ == nullptr || state_ == nullptr || !state_->selection()) {
    return -1;
  }
  // A bucket's number means another bucket before the rebuild.
  const Span& span = *state_->selection();
  const trace::BucketsMessage* layout = model_ == nullptr ? nullptr : model_->layoutAt(span.step);
  const bool sameLayout = layout == nullptr || layout->layout == story_->layout.layout;
  if (span.hasBucket() && sameLayout) {
    return span.bucket < story_->layout.buckets.size() ? span.bucket : -1;
  }
  // A selected parameter stands for its bucket, whichever layout its span was of.
  const int parameter = selectedParameter();
  if (parameter < 0 || story_->bucketOf[static_cast<std::size_t>(parameter)] == trace::kNoBucket) {
    return -1;
  }
  return story_->bucketOf[static_cast<std::size_t>(parameter)];
}

void BucketsController::selectSpan(int rank, std::int64_t spanId) {
  if (model_ == nullptr || state_ == nullptr) {
    return;
  }
  if (const auto span = findInStep(*model_, rank, story_->step, spanId)) {
    state_->select(*span);
  }
}

void BucketsController::selectParameter(std::uint32_t parameter, int rank) {
  if (story_ == nullptr) {
    return;
  }
  for (int r = 0; r < story_->rankCount(); ++r) {
    // On the first rank that had it ready, or the one that was asked for.
    const analysis::ReadyGradient* gradient = story_->readyOn(r, parameter);
    if (gradient != nullptr && (rank < 0 || rank == r)) {
      selectSpan(story_->orders[static_cast<std::size_t>(r)].rank, gradient->spanId);
      return;
    }
  }
}

void BucketsController::selectBucket(int bucket) {
  if (story_ == nullptr || bucket < 0 || bucket >= static_cast<int>(story_->lives.size())) {
    return;
  }
  rowScroll_ = layout().scrollTo(bucket);
  for (const analysis::BucketTimes& times : story_->lives[static_cast<std::size_t>(bucket)].ranks) {
    // The collective says most; what never was in flight was at least launched or ready.
    for (const std::int64_t span : {times.collectiveSpan, times.launchedSpan, times.readySpan}) {
      if (span >= 0) {
        selectSpan(times.rank, span);
        return;
      }
    }
  }
}

void BucketsController::selectNeighbour(int direction) {
  if (story_ == nullptr) {
    return;
  }
  const int now = selectedBucket();
  const int last = static_cast<int>(story_->lives.size()) - 1;
  const int start = direction > 0 ? 0 : last;
  selectBucket(now < 0 ? start : std::clamp(now + direction, 0, std::max(0, last)));
}

}  // namespace lockstep::ui
