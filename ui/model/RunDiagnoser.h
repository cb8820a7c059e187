#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <memory>

#include "engine/diagnosis/Diagnose.h"
#include "ui/model/BackgroundJob.h"

class QTimer;

namespace lockstep::ui {

class RunAnalyser;
class RunModel;
struct AnalysedRun;

/// Says what a run suffers from, by what a RunAnalyser made of it, on a thread of the pool: once
/// when a run that has ended is analysed; of a live one every two seconds, more seldom when it takes
/// long, and only as long as somebody has asked since the last time. [ui-thread]
class RunDiagnoser : public QObject {
  Q_OBJECT

 public:
  /// Both outlive this.
  RunDiagnoser(RunModel& model, RunAnalyser& analyser, QObject* parent = nullptr);
  ~RunDiagnoser() override;

  /// What was found last; null before the first time.
  [[nodiscard]] const std::shared_ptr<const diagnosis::Diagnosis>& latest() const {
    return latest_;
  }

  /// Says that somebody shows it. Cheap.
  void want();

 signals:
  /// `latest` is new.
  void ready();

 private:
  void consider();
  void begin(std::shared_ptr<const AnalysedRun> run);

  RunModel& model_;
  RunAnalyser& analyser_;
  BackgroundJob job_{this};
  std::shared_ptr<diagnosis::GrowingEvidence> growing_;  // of a live run; its job alone uses it
  std::shared_ptr<const diagnosis::Diagnosis> latest_;
  std::shared_ptr<const AnalysedRun> source_;  // of the latest, or of the one under way
  QTimer* timer_;
  QElapsedTimer sinceBegin_;
  qint64 tookMs_ = 0;
  bool wanted_ = false;
  bool sourceEnded_ = false;  // the run had ended when source_ was looked at
};

}  // namespace lockstep::ui
