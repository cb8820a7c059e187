#include "ui/panels/RunRefresh.h"

#include <QEvent>
#include <QTimer>
#include <QWidget>
#include <algorithm>

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
  if (model_ != nullptr) {
    model_->disconnect(this);
  }
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  model_ = model;
  state_ = state;
  if (model_ != nullptr && state_ != nullptr) {
    wasLive_ = model_->isLive();
    connect(model_, &RunModel::changed, this, [this] {
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
