#include "ui/model/RunDiagnoser.h"

#include <QTimer>
#include <algorithm>
#include <utility>

#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kDiagnosisMs = 2000;
constexpr qint64 kRestPerWork = 10;

/// A run that ended is analysed again when its last words come, which need not be anything new.
bool holdTheSame(const analysis::RunData& a, const analysis::RunData& b) {
  return a.spans.size() == b.spans.size() && a.layouts.size() == b.layouts.size() &&
         a.losses.size() == b.losses.size() && a.fingerprints.size() == b.fingerprints.size() &&
         a.gradients.size() == b.gradients.size();
}

}  // namespace

RunDiagnoser::RunDiagnoser(RunModel& model, RunAnalyser& analyser, QObject* parent)
    : QObject(parent), model_(model), analyser_(analyser), timer_(new QTimer(this)) {
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &RunDiagnoser::consider);
  connect(&analyser_, &RunAnalyser::ready, this, &RunDiagnoser::consider);
}

RunDiagnoser::~RunDiagnoser() = default;

void RunDiagnoser::want() {
  wanted_ = true;
  consider();
}

void RunDiagnoser::consider() {
  if (!wanted_ || job_.busy() || !model_.isLoaded()) {
    return;
  }
  const bool live = model_.isLive();
  if (live && sinceBegin_.isValid()) {
    if (timer_->isActive()) {
      return;
    }
    const qint64 pause = std::max(kDiagnosisMs, kRestPerWork * tookMs_);
    if (sinceBegin_.elapsed() < pause) {
      timer_->start(static_cast<int>(pause - sinceBegin_.elapsed()));
      return;
    }
  }
  // Of a run that has ended all counts, of a live one the latest look at it.
  auto run = analyser_.latest();
  if (run != nullptr && (live || analyser_.isCurrent()) &&
      (source_ == nullptr || sourceEnded_ == live || !holdTheSame(run->data, source_->data))) {
    begin(std::move(run));
  } else {
    analyser_.want();  // its `ready` leads here
  }
}

void RunDiagnoser::begin(std::shared_ptr<const AnalysedRun> run) {
  timer_->stop();
  sinceBegin_.start();
  source_ = std::move(run);
  sourceEnded_ = !model_.isLive();
  wanted_ = sourceEnded_;  // its last events may still come
  if (sourceEnded_) {
    growing_ = nullptr;
  } else if (growing_ == nullptr) {
    growing_ = std::make_shared<diagnosis::GrowingEvidence>();
  }
  job_.start(
      [recording = diagnosis::Recording{model_.info(), model_.ranks(), source_->data,
                                        source_->analysis, model_.hosts()},
       path = model_.path(), growing = growing_]() mutable {
        return std::make_shared<const diagnosis::Diagnosis>(
            growing == nullptr
                ? diagnosis::diagnose(diagnosis::evidenceOf(std::move(recording), path))
                : diagnosis::diagnose(growing->refresh(std::move(recording), path)));
      },
      [this](std::shared_ptr<const diagnosis::Diagnosis> found) {
        tookMs_ = sinceBegin_.elapsed();
        latest_ = std::move(found);
        emit ready();
        consider();
      });
}

}  // namespace lockstep::ui
