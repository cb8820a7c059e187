#include "ui/model/RunAnalyser.h"

#include <QTimer>
#include <algorithm>
#include <utility>

#include "ui/model/BackgroundJob.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kLiveIntervalMs = 2000;
constexpr qint64 kShareOfTime = 10;  // an analysis takes a tenth of one core at most

}  // namespace

RunAnalyser::RunAnalyser(RunModel& model, QObject* parent)
    : QObject(parent), model_(model), timer_(new QTimer(this)) {
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &RunAnalyser::consider);
  connect(&model_, &RunModel::changed, this, &RunAnalyser::modelMoved);
  connect(&model_, &RunModel::loaded, this, &RunAnalyser::modelMoved);
}

RunAnalyser::~RunAnalyser() = default;

void RunAnalyser::want() {
  wanted_ = true;
  consider();
}

void RunAnalyser::modelMoved() {
  stale_ = true;
  if (wanted_) {
    consider();
  }
}

void RunAnalyser::consider() {
  if (!wanted_ || !stale_ || running_ || timer_->isActive() || !model_.isLoaded() ||
      model_.path().empty()) {
    return;
  }
  // Ten times what the last analysis took, so that it never takes more than kShareOfTime of a core.
  const qint64 pause = std::max(kLiveIntervalMs, kShareOfTime * tookMs_);
  if (latest_ != nullptr && model_.isLive() && sinceBegin_.elapsed() < pause) {
    timer_->start(static_cast<int>(pause - sinceBegin_.elapsed()));
    return;
  }
  begin();
}

void RunAnalyser::begin() {
  running_ = true;
  // Before the snapshot: what comes after it makes the result stale again.
  stale_ = false;
  wanted_ = !model_.isLive();  // a run that has ended may still bring its last events
  sinceBegin_.start();
  inBackground(
      this,
      [growing = growing_, live = model_.isLive(), data = model_.snapshot(),
       ranks = placesOf(model_.ranks()), hosts = model_.hosts()]() mutable {
        auto analysed = std::make_shared<AnalysedRun>();
        analysed->analysis = growing->refresh(data, live);
        analysed->data = std::move(data);
        analysed->ranks = std::move(ranks);
        analysed->hosts = std::move(hosts);
        return std::shared_ptr<const AnalysedRun>(std::move(analysed));
      },
      [this](std::shared_ptr<const AnalysedRun> result) { take(std::move(result)); });
}

void RunAnalyser::take(std::shared_ptr<const AnalysedRun> result) {
  running_ = false;
  tookMs_ = sinceBegin_.elapsed();
  latest_ = std::move(result);
  emit ready();
  consider();
}

}  // namespace lockstep::ui
