#pragma once

#include <QWidget>

#include "ui/views/buckets/BucketsLayout.h"

class QAction;
class QComboBox;
class QSlider;
class QToolButton;

namespace lockstep::ui {

class ElidedLabel;

/// The controls above the stage: which layout, which order, the replay. Holds no state of its
/// own: the view tells what to show. [ui-thread]
class BucketsToolbar : public QWidget {
  Q_OBJECT

 public:
  /// Commands of the view whose keys the controls name.
  struct Commands {
    const QAction* layout = nullptr;
    const QAction* against = nullptr;
    const QAction* back = nullptr;
    const QAction* play = nullptr;
    const QAction* forward = nullptr;
  };

  explicit BucketsToolbar(QWidget* parent = nullptr);

  void setCommands(const Commands& commands);
  /// `rebuilt`: the layout shown; `both`: there is another one.
  void setLayouts(bool rebuilt, bool both);
  void setAgainst(OrderAgainst against);
  void setReplay(bool possible, double part, bool playing, const QString& text);

 signals:
  void layoutChosen(bool rebuilt);
  void againstChosen(OrderAgainst against);
  void replayMoved(double part);
  void playPressed();
  void stepPressed(int direction);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void drawIcons();
  void tellKeys();

  QToolButton* initial_;
  QToolButton* rebuilt_;
  QComboBox* against_;
  QToolButton* back_;
  QToolButton* play_;
  QToolButton* forward_;
  QSlider* slider_;
  ElidedLabel* text_;
  Commands commands_;
  bool both_ = true;
  bool playing_ = false;
};

}  // namespace lockstep::ui
