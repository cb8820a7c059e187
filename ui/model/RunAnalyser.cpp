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

AnalysedCourse courseOf(const analysis::RunAnalysis& of) {
  AnalysedCourse course;
  // What the analysis measures by: no warm-up, and no iteration of which a part is missing.
  for (const analysis::StepTimes& step : of.steps) {
    if (step.rank == of.exposedRank && step.step >= of.warmUp.firstMeasured && !step.incomplete &&
        step.overlapPercent) {
      course.overlapPercent.push_back({step.endTicks, *step.overlapPercent});
      course.exposedMs.push_back({step.endTicks, step.exposedMs});
    }
  }
  for (const analysis::CollectiveTimes& collective : of.collectives) {
    if (!collective.complete || collective.step < of.warmUp.firstMeasured) {
      continue;
    }
    // The whole time that ranks spent in this collective before its last one came.
    TickedValue waited;
    for (const analysis::Arrival& arrival : collective.arrivals) {
      waited.value += arrival.waitingMs;
      waited.ticks = std::max(waited.ticks, arrival.endTicks);
    }
    course.waitsMs.push_back(waited);
    if (collective.lastRank && collective.lastRank == of.lateRank) {
      course.lateWaitsMs.push_back(waited);
    }
  }
  for (auto* values :
       {&course.overlapPercent, &course.exposedMs, &course.waitsMs, &course.lateWaitsMs}) {
    std::sort(values->begin(), values->end(),
              [](const TickedValue& a, const TickedValue& b) { return a.ticks < b.ticks; });
  }
  return course;
}

std::shared_ptr<const AnalysedRun> analysedRun(analysis::RunData data) {
  auto result = std::make_shared<AnalysedRun>();
  result->data = std::move(data);
  result->analysis = analysis::analyse(result->data);
  result->course = courseOf(result->analysis);
  return result;
}

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
      this, [data = model_.snapshot()]() mutable { return analysedRun(std::move(data)); },
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
