#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <memory>

#include "engine/analysis/GrowingAnalysis.h"
#include "ui/model/AnalysedRun.h"

class QTimer;

namespace lockstep::ui {

class RunModel;

/// Analyses one run on a thread of the pool, for all views that need it: once when the run is
/// loaded and once more when it has ended; while it is live every two seconds, more seldom when it
/// takes long, and only as long as somebody has asked since the last time. Of a live run each
/// analysis costs what came since the last one (GrowingAnalysis.h). [ui-thread]
class RunAnalyser : public QObject {
  Q_OBJECT

 public:
  /// `model` outlives this. A model that is fed by hand, without a file, is never analysed.
  explicit RunAnalyser(RunModel& model, QObject* parent = nullptr);
  ~RunAnalyser() override;

  /// The latest analysis; null before the first.
  [[nodiscard]] std::shared_ptr<const AnalysedRun> latest() const { return latest_; }

  /// Whether it is of all that the model holds.
  [[nodiscard]] bool isCurrent() const { return latest_ != nullptr && !stale_ && !running_; }

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
  std::shared_ptr<analysis::GrowingAnalysis> growing_ =
      std::make_shared<analysis::GrowingAnalysis>();  // of the analysis under way, while one is
  std::shared_ptr<const AnalysedRun> latest_;
  QTimer* timer_;
  QElapsedTimer sinceBegin_;
  qint64 tookMs_ = 0;
  bool wanted_ = false;
  bool stale_ = true;  // the model holds what `latest_` does not
  bool running_ = false;
};

}  // namespace lockstep::ui
