#include <QTimer>
#include <algorithm>

#include "ui/views/buckets/BucketsToolbar.h"
#include "ui/views/buckets/BucketsView.h"

// The keys of the stage and what they do: replay, iterations, buckets, time.
namespace lockstep::ui {
namespace {

constexpr double kReplaySeconds = 6;  // of a whole iteration
constexpr double kPanPixels = 80;

}  // namespace

void BucketsView::makeActions() {
  BucketsToolbar::Commands shown;
  shown.play =
      makeAction(tr("Play or pause the replay"), {Qt::Key_Space}, [this] { togglePlay(); });
  shown.forward =
      makeAction(tr("Next event of the replay"), {Qt::Key_Right}, [this] { stepReplay(1); });
  shown.back =
      makeAction(tr("Previous event of the replay"), {Qt::Key_Left}, [this] { stepReplay(-1); });
  makeAction(tr("Start of the replay"), {Qt::Key_Home}, [this] { setReplayPart(0); });
  makeAction(tr("End of the replay"), {Qt::Key_End}, [this] { setReplayPart(1); });
  makeAction(tr("Next bucket"), {Qt::Key_Down}, [this] { controller_.selectNeighbour(1); });
  makeAction(tr("Previous bucket"), {Qt::Key_Up}, [this] { controller_.selectNeighbour(-1); });
  shown.layout = makeAction(tr("Buckets before or after the rebuild"), {Qt::Key_R},
                            [this] { showLayout(controller_.story()->layout.layout == 0); });
  shown.against =
      makeAction(tr("Order of the buckets or of the registration"), {Qt::Key_O}, [this] {
        setAgainst(controller_.against() == OrderAgainst::kBuckets ? OrderAgainst::kRegistration
                                                                   : OrderAgainst::kBuckets);
      });
  toolbar_->setCommands(shown);
  makeAction(tr("Previous iteration"), {Qt::Key_PageUp}, [this] { moveIteration(-1); });
  makeAction(tr("Next iteration"), {Qt::Key_PageDown}, [this] { moveIteration(1); });
  makeZoomActions([this](double factor) { controller_.zoom(factor); },
                  [this](double part) { controller_.pan(std::copysign(kPanPixels, part)); });
  makeAction(tr("The whole iteration"), {Qt::Key_F}, [this] { controller_.fit(); });
  makeAction(tr("End the replay, or clear the selection"), {Qt::Key_Escape}, [this] {
    if (controller_.replayNs()) {
      playTimer_->stop();
      controller_.showEnd();
    } else if (state_ != nullptr) {
      state_->clearSelection();
    }
  });
}

bool BucketsView::isPlaying() const {
  return playTimer_->isActive();
}

void BucketsView::togglePlay() {
  if (playTimer_->isActive()) {
    playTimer_->stop();
  } else if (controller_.ready() && controller_.story()->measured()) {
    // At the end already: playing begins anew.
    if (!controller_.replayNs()) {
      controller_.showStart();
    }
    sinceFrame_.start();
    playTimer_->start();
  }
  changed();
}

void BucketsView::playOn() {
  // By the time that passed, so that the replay lasts as long on a slow machine.
  const double part = static_cast<double>(sinceFrame_.restart()) / (kReplaySeconds * 1000);
  if (!controller_.advance(part)) {
    playTimer_->stop();
  }
  changed();
}

void BucketsView::setReplayPart(double part) {
  controller_.setReplayPart(part);
  changed();
}

void BucketsView::stepReplay(int direction) {
  playTimer_->stop();
  controller_.stepMoment(direction);
  changed();
}

void BucketsView::setAgainst(OrderAgainst against) {
  controller_.setAgainst(against);
  toolbar_->setAgainst(against);
  changed();
}

void BucketsView::showLayout(bool rebuilt) {
  if (model_ == nullptr || !controller_.ready()) {
    return;
  }
  const BucketStory& story = *controller_.story();
  const bool now = story.layout.layout > 0;
  const auto rebuildStep = model_->rebuildStep();
  if (story.preview) {
    previewRebuilt_ = rebuilt;
    takeStory(stories_->preview(rebuilt));
  } else if (now != rebuilt && rebuildStep) {
    if (rebuilt) {
      // Back to where the user came from, if he came by this switch.
      goToStep(returnStep_.value_or(typicalStep(*model_).value_or(*rebuildStep)));
    } else {
      returnStep_ = story.step;
      // The last iteration with the initial buckets.
      goToStep(std::max(*rebuildStep - 1, model_->firstStep().value_or(0)));
    }
  }
}

// All views move: they show one iteration.
void BucketsView::goToStep(std::uint32_t step) {
  if (state_ == nullptr) {
    return;
  }
  state_->setFollowLive(false);
  if (const auto span = model_->stepOfAll(step)) {
    state_->setRange(TimeRange{span->startNs, span->endNs}.widened(0.04));
  }
  state_->setIteration(step);
}

void BucketsView::moveIteration(int direction) {
  const BucketStory& story = *controller_.story();
  const std::uint32_t first = model_->firstStep().value_or(0);
  // Also beyond what all have ended, as far as the story shown is.
  const std::uint32_t last = std::max(lastFinishedStep().value_or(story.step), story.step);
  if (direction < 0 && story.step > first) {
    goToStep(story.step - 1);
  } else if (direction > 0 && story.step < last) {
    goToStep(story.step + 1);
  }
}

}  // namespace lockstep::ui
