#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"

class QTimer;

namespace lockstep::ui {

class RunModel;

/// A value and when it was had, in host ticks.
struct TickedValue {
  std::uint64_t ticks = 0;
  double value = 0;
};

/// Figures of an analysis by time, without the warm-up.
struct AnalysedCourse {
  std::vector<TickedValue> overlapPercent;  ///< of RunAnalysis::exposedRank, here and below
  std::vector<TickedValue> exposedMs;
  std::vector<TickedValue> waitsMs;      ///< what a collective waited for its last rank, all ranks
  std::vector<TickedValue> lateWaitsMs;  ///< the same where that is RunAnalysis::lateRank
};
AnalysedCourse courseOf(const analysis::RunAnalysis& of);

/// A run's analysis and what it was made of; never changed once made, so any thread may read it.
struct AnalysedRun {
  analysis::RunData data;
  analysis::RunAnalysis analysis;
  AnalysedCourse course;  ///< courseOf(analysis): long runs take too long for the thread that draws
};

/// [any-thread]
std::shared_ptr<const AnalysedRun> analysedRun(analysis::RunData data);

/// Analyses one run on a thread of the pool, for all views that need it: once when the run is
/// loaded and once more when it has ended; while it is live every two seconds, more seldom when it
/// takes long, and only as long as somebody has asked since the last time. [ui-thread]
class RunAnalyser : public QObject {
  Q_OBJECT

 public:
  /// `model` outlives this. A model that is fed by hand, without a file, is never analysed.
  explicit RunAnalyser(RunModel& model, QObject* parent = nullptr);
  ~RunAnalyser() override;

  /// The latest analysis; null before the first.
  [[nodiscard]] std::shared_ptr<const AnalysedRun> latest() const { return latest_; }

  /// Says that somebody shows the analysis: views call it when they paint. Cheap.
  void want();

 signals:
  /// `latest` is new.
  void ready();

 private:
  void modelMoved();
  void consider();
  void begin();
  void take(std::shared_ptr<const AnalysedRun> result);

  RunModel& model_;
  std::shared_ptr<const AnalysedRun> latest_;
  QTimer* timer_;
  QElapsedTimer sinceBegin_;
  qint64 tookMs_ = 0;
  bool wanted_ = false;
  bool stale_ = true;  // the model holds what `latest_` does not
  bool running_ = false;
};

}  // namespace lockstep::ui
