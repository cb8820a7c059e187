#pragma once

#include <QAbstractButton>

#include "ui/panels/findings/FindingWords.h"

namespace lockstep::ui {

/// What the run suffers from first, in a line beside the tabs of the views: as many words as there
/// is room for, and how many more findings there are. It takes what room is left and never asks for
/// more; a press shows all. [ui-thread]
class FindingsLine : public QAbstractButton {
  Q_OBJECT

 public:
  explicit FindingsLine(QWidget* parent = nullptr);

  void setHeadline(const FindingsHeadline& headline);
  /// What can be read of it as wide as it is now.
  [[nodiscard]] QString shownText() const;
  /// The part that is drawn and can be pressed.
  [[nodiscard]] QRect pill() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 signals:
  /// It is in sight.
  void painted();

 protected:
  [[nodiscard]] bool hitButton(const QPoint& at) const override { return pill().contains(at); }
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  [[nodiscard]] QString countText() const;
  [[nodiscard]] QFont countFont() const;
  /// The width of all but the words.
  [[nodiscard]] int widthAround() const;

  FindingsHeadline headline_;
  bool pointed_ = false;  // the pointer is over the pill
};

/// Draws the mark of a tone into a square: each has a shape of its own, so that colour is not all
/// that tells them apart.
void drawMark(QPainter& painter, FindingTone tone, const QRectF& square);

}  // namespace lockstep::ui
