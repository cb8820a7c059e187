#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

class QLabel;

namespace lockstep::ui {

class RunSession;
class TimelineView;

/// The figures at the right of the status bar: state of the run, events a second, dropped
/// events, what recording costs the ranks, how well the hosts' clocks are known, how late events
/// reach the screen, and what draws. [ui-thread]
class StatusReadout : public QWidget {
  Q_OBJECT

 public:
  explicit StatusReadout(const TimelineView* timeline, QWidget* parent = nullptr);

  /// Not owned; null when no run is open.
  void setSession(RunSession* session);

 signals:
  /// The count of dropped events was clicked.
  void dropsClicked();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();

  const TimelineView* timeline_;
  RunSession* session_ = nullptr;
  QLabel* state_ = nullptr;
  QLabel* rate_ = nullptr;
  QLabel* drops_ = nullptr;
  QLabel* overhead_ = nullptr;
  QLabel* clock_ = nullptr;
  QLabel* latency_ = nullptr;
  QTimer timer_;
  QElapsedTimer sinceCount_;
  quint64 lastCount_ = 0;
};

}  // namespace lockstep::ui
