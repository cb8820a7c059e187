#pragma once

#include <QRect>
#include <QString>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <vector>

class QFrame;
class QLabel;
class QPushButton;

namespace lockstep::ui {

/// One thing that a tour points at.
struct TourStep {
  QString title;
  QString text;
  std::function<QWidget*()> target;   ///< null, or not in sight: it is told in the middle
  std::function<void()> before = {};  ///< brings it into sight
};

/// A tour through a window: dims it but for the widget that a step is about, and says beside that
/// what it is. Next, Back and Skip; arrows and Enter; Esc ends. It follows the widget when the
/// window is resized, and when it comes into being later. [ui-thread]
class Tour : public QWidget {
  Q_OBJECT

 public:
  explicit Tour(QWidget* window);

  /// Begins with the first of some steps.
  void start(std::vector<TourStep> steps);
  void next();
  void back();
  void end();

  /// The step, from 0; -1: the tour does not run.
  [[nodiscard]] int step() const { return step_; }
  /// What is not dimmed; empty: the widget is not in sight.
  [[nodiscard]] QRect hole() const { return hole_; }

 signals:
  void ended();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  void showStep(int step);
  void follow();
  void place();
  [[nodiscard]] QRect target() const;

  std::vector<TourStep> steps_;
  int step_ = -1;
  QRect hole_;
  QFrame* bubble_;
  QLabel* title_;
  QLabel* text_;
  QLabel* count_;
  QPushButton* back_;
  QPushButton* next_;
  QPushButton* skip_;
  QTimer look_;
};

}  // namespace lockstep::ui
