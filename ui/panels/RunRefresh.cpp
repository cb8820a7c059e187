#include "ui/panels/RunRefresh.h"

#include <QEvent>
#include <QTimer>
#include <QWidget>
#include <algorithm>

#include "ui/model/Follow.h"

namespace lockstep::ui {
namespace {

constexpr int kTypingMs = 150;
constexpr qint64 kLiveMs = 500;
constexpr qint64 kLoadingMs = 50;  // of a run that is being read
constexpr qint64 kLongestMs = 60'000;

// A dock behind another's tab is visible to Qt: it stands outside the window.
bool inSight(const QWidget& panel) {
  return panel.isVisible() && !panel.visibleRegion().isEmpty();
}

}  // namespace

// Note [When a panel works]
//
// To work something out of a long run takes seconds. A panel must not do that while nobody looks,
// nor keep a core busy while the run grows. Two flags and two timers say how things stand:
//
//   stale_    what is shown is not what there is
//   working_  `due` was emitted and `worked` has not come
//   later_    a rest after work; asks when it is over
//   typed_    a pause in typing; asks when it is over
//
//   opened, loaded, filter, end ─▶ ask ─ in sight ─▶ due … worked(ms)
//                                   └─ out of sight ─▶ stale_, until it is shown
//   the run grew ─▶ stale_, and in sight with nothing under way ─▶ later_ ─▶ ask
//
// After work of t ms the rest is restPerWork * t, at least 500 ms: with 9, a growing run costs a
// tenth of a core at most. While a file is being opened the rest is t alone, since that ends soon
// and the user is waiting for it. No rest is longer than a minute.
RunRefresh::RunRefresh(QWidget& panel, int restPerWork)
    : QObject(&panel),
      panel_(panel),
      restPerWork_(restPerWork),
      typed_(new QTimer(this)),
      later_(new QTimer(this)) {
  typed_->setSingleShot(true);
  typed_->setInterval(kTypingMs);
  later_->setSingleShot(true);
  connect(typed_, &QTimer::timeout, this, &RunRefresh::ask);
  connect(later_, &QTimer::timeout, this, &RunRefresh::ask);
  panel.installEventFilter(this);
}

void RunRefresh::setRun(RunModel* model, ViewState* state) {
  follow(model_, model, this);
  follow(state_, state, this);
  if (model_ != nullptr && state_ != nullptr) {
    wasLive_ = model_->isLive();
    connect(model_, &RunModel::changed, this, [this] {
      // `changed` comes for new metrics and log lines too; only spans make work.
      if (model_->spanCount() != spans_ || model_->isLive() != wasLive_) {
        modelChanged();
      }
    });
    connect(model_, &RunModel::infoChanged, this, &RunRefresh::modelChanged);
    connect(model_, &RunModel::loaded, this, &RunRefresh::ask);
    connect(state_, &ViewState::filterChanged, this, &RunRefresh::ask);
  }
  working_ = false;  // what was at work was for the run before, and may have been left
  ask();
}

void RunRefresh::ask() {
  // Whoever asks at once takes the place of what was waiting to ask.
  typed_->stop();
  later_->stop();
  stale_ = !inSight(panel_);
  if (!stale_) {
    spans_ = model_ != nullptr ? model_->spanCount() : 0;
    working_ = true;
    emit due();
  }
}

void RunRefresh::askWhenTyped() {
  stale_ = true;
  typed_->start();
}

void RunRefresh::worked(qint64 tookMs) {
  working_ = false;
  tookMs_ = tookMs;
  if (stale_ && model_ != nullptr) {
    modelChanged();
  }
}

void RunRefresh::modelChanged() {
  stale_ = true;
  const bool ended = wasLive_ && !model_->isLive();
  wasLive_ = model_->isLive();
  if (!inSight(panel_)) {
    return;
  }
  if (ended) {
    ask();  // what came late has found its place
  } else if (!working_ && !later_->isActive() && !typed_->isActive()) {
    const qint64 rest =
        wasLive_ ? std::max(kLiveMs, restPerWork_ * tookMs_) : std::max(kLoadingMs, tookMs_);
    later_->start(static_cast<int>(std::min(rest, kLongestMs)));
  }
}

bool RunRefresh::eventFilter(QObject* watched, QEvent* event) {
  const bool asked = working_ || later_->isActive() || typed_->isActive();
  if (event->type() == QEvent::Show && stale_) {
    ask();
  } else if (event->type() == QEvent::Paint && stale_ && !asked) {
    later_->start(0);  // its tab was chosen, which no other event tells
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace lockstep::ui
