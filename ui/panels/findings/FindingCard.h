#pragma once

#include <QWidget>

#include "ui/panels/findings/FindingWords.h"

class QLabel;
class QPushButton;

namespace lockstep::ui {

/// Draws the ground of a card: a band and a wash in the colour of what it says, and its mark beside
/// the first line. Within these margins its words stand.
void drawCard(QPainter& painter, const QWidget& card, FindingTone tone);
QMargins cardMargins();

/// One finding: what it is and what it costs, what was found, what to do, where; and the buttons
/// that do it and lead there. [ui-thread]
class FindingCard : public QWidget {
  Q_OBJECT

 public:
  explicit FindingCard(QWidget* parent = nullptr);

  void setFinding(const diagnosis::Finding& finding, double stepMs);
  /// In place of a finding: that there is none.
  void setNothing(FindingTone tone, const QString& sentence);
  /// Why its settings cannot be applied now; empty: they can.
  void blockApply(const QString& reason);

  [[nodiscard]] QPushButton* applyButton() const { return apply_; }
  [[nodiscard]] QPushButton* showButton() const { return show_; }

 signals:
  void applyRequested();
  void showRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  FindingTone tone_ = FindingTone::kUnknown;
  QLabel* title_;
  QLabel* saving_;
  QLabel* sentence_;
  QLabel* interval_;
  QLabel* remedy_;
  QLabel* place_;
  QLabel* settings_;
  QPushButton* apply_;
  QPushButton* show_;
  QString blocked_;
  QString applyTip_;
};

}  // namespace lockstep::ui
