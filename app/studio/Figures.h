#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <atomic>
#include <cstdint>
#include <thread>

#include "ui/model/FileOfLatest.h"
#include "ui/views/timeline/LatencyHistogram.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::studio {

/// What the studio measures of itself while it follows a live run on its timeline (`--figures`):
/// how long after an event the frame that shows it was painted, and how long input would have
/// waited for the GUI thread. Written as JSON each second while the run is live, by a thread of the
/// pool, and once after its end or that of the studio; then all measuring stops, so that an idle
/// studio is as idle as without it.
///
///   {"run": FILE, "state": "running", "spans": N, "renderer": TEXT, "measured_s": S,
///    "event_to_pixel_ms": {"count": N, "p50": X, "p95": X, "max": X},
///    "gui_wait_ms": {"count": N, "p50": X, "p99": X, "max": X, "over_16_percent": X}}
///
/// A file that cannot be written is named on stderr and ends the measuring, too. Percentiles are
/// upper bounds, at most 19 % above. `gui_wait_ms` is from each of 250 equidistant moments a second
/// to when the GUI thread took an event posted then; moments within a long wait count each. It
/// begins when what the file held at first is loaded. [ui-thread]
class Figures : public QObject {
 public:
  /// `timeline` outlives this.
  Figures(const ui::TimelineView& timeline, const QString& path);
  ~Figures() override;

 protected:
  bool event(QEvent* event) override;

 private:
  void look();
  void startBeating();
  void stopBeating();
  void addWait(double ms);
  void write(const ui::RunModel& model);

  const ui::TimelineView& timeline_;
  ui::FileOfLatest file_;
  QTimer timer_;
  QElapsedTimer measured_;
  ui::LatencyHistogram waits_;
  std::uint64_t longWaits_ = 0;
  std::uint64_t writtenSpans_ = 0;
  std::thread heart_;
  std::atomic<bool> beating_{false};
  std::atomic<bool> pending_{false};
};

}  // namespace lockstep::studio
