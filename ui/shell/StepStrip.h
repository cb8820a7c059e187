#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include "engine/trace/RunFile.h"
#include "ui/shell/StartupProgress.h"

class QPushButton;

namespace lockstep::ui {

/// Shows a run coming up: "Spawn ✓ Rendezvous ✓ Data ✓ Model ✓ Buckets ✓ Step 1", with the
/// slowest rank's time under each, and Cancel. [ui-thread]
class StepStrip : public QWidget {
  Q_OBJECT

 public:
  explicit StepStrip(QWidget* parent = nullptr);

  /// Shows the strip with nothing done yet.
  void begin(trace::RunKind kind = trace::RunKind::kExperiment);
  void setProgress(StartupProgress progress);
  void end();

  [[nodiscard]] const StartupProgress& progress() const { return progress_; }

 signals:
  void cancelRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  StartupProgress progress_;
  QElapsedTimer activeSince_;
  QTimer tick_;
  QPushButton* cancel_ = nullptr;
};

}  // namespace lockstep::ui
