#pragma once

#include <QDialog>
#include <memory>
#include <vector>

#include "engine/diagnosis/Diagnose.h"

class QLabel;
class QScrollArea;
class QVBoxLayout;

namespace lockstep::ui {

class FindingCard;

/// All findings of the run over the window, in the order of what they cost, until a key, a click
/// elsewhere or one of its own buttons closes it. [ui-thread]
class FindingsList : public QDialog {
  Q_OBJECT

 public:
  explicit FindingsList(QWidget* parent = nullptr);

  /// Null: nothing is known yet. What is pressed at the moment stays until the next time.
  void setDiagnosis(std::shared_ptr<const diagnosis::Diagnosis> found);
  /// Why no setting can be applied now; empty: it can.
  void blockApply(const QString& reason);
  /// Opens below a part of the window, of which `from` is the place on the screen.
  void openBelow(const QRect& from);
  /// That part has moved, or what is listed is higher or lower than before.
  void moveBelow(const QRect& from);

 signals:
  void showRequested(const lockstep::diagnosis::Finding& finding);
  void applyRequested(const lockstep::diagnosis::Finding& finding);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void fillCards();
  FindingCard* card(std::size_t number);

  std::shared_ptr<const diagnosis::Diagnosis> found_;
  QString blocked_;
  QLabel* summary_;
  QScrollArea* scroll_;
  QWidget* content_;
  QVBoxLayout* column_;
  std::vector<FindingCard*> cards_;
};

}  // namespace lockstep::ui
