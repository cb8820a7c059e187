#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>
#include <vector>

class QLabel;

namespace lockstep::ui {

class RunSession;
class TimelineView;

/// The figures at the right of the status bar: state of the run, events a second, dropped
/// events, what recording costs the ranks, how well the hosts' clocks are known, how late events
/// reach the screen. In a narrow window those that matter least are left out. [ui-thread]
class StatusReadout : public QWidget {
  Q_OBJECT

 public:
  explicit StatusReadout(const TimelineView* timeline, QWidget* parent = nullptr);

  /// Not owned; null when no run is open.
  void setSession(RunSession* session);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 signals:
  /// The count of dropped events was clicked.
  void dropsClicked();

 protected:
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void setTexts();
  void showFitting();
  [[nodiscard]] int widthOf(const std::vector<QLabel*>& labels) const;

  const TimelineView* timeline_;
  RunSession* session_ = nullptr;
  QLabel* state_ = nullptr;
  QLabel* rate_ = nullptr;
  QLabel* drops_ = nullptr;
  QLabel* overhead_ = nullptr;
  QLabel* clock_ = nullptr;
  QLabel* latency_ = nullptr;
  std::vector<QLabel*> said_;  // those that have something to say, what matters most in front
  QTimer timer_;
  QElapsedTimer sinceCount_;
  quint64 lastCount_ = 0;
};

}  // namespace lockstep::ui
