#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QTimer>

#include "engine/diagnosis/Finding.h"
#include "engine/diagnosis/Verdict.h"
#include "ui/model/RunDiagnoser.h"
#include "ui/model/RunModel.h"

class QToolButton;

namespace lockstep::ui {

class FindingsLine;
class FindingsList;
class VerdictCard;

/// What the open run is and suffers from, one run at a time: a card in a few lines, or, folded, a
/// line of it; and the list of all findings that opens below either. Asks for a diagnosis while one
/// of them is in sight. [ui-thread]
class Findings : public QObject {
  Q_OBJECT

 public:
  /// `window` owns this and the list. Line, card and the button that folds the card are whose they
  /// are put into.
  explicit Findings(QWidget* window);

  [[nodiscard]] FindingsLine* line() const { return line_; }
  [[nodiscard]] VerdictCard* card() const { return card_; }
  [[nodiscard]] QToolButton* foldButton() const { return fold_; }
  [[nodiscard]] FindingsList* list() const { return list_; }

  /// Neither is owned; null: no run is open, and of the one before nothing is said any more.
  void setRun(RunModel* model, RunDiagnoser* diagnoser);
  /// Why no setting can be applied now; empty: it can.
  void blockApply(const QString& reason);
  /// Opens the list, or closes it.
  void toggle();
  /// The card is folded to the line, or stands in front of the views.
  void setFolded(bool folded);
  [[nodiscard]] bool isFolded() const { return folded_; }

 signals:
  /// Where the finding can be seen is asked for.
  void showRequested(const lockstep::diagnosis::Finding& finding);
  /// Its settings are to be tried.
  void applyRequested(const lockstep::diagnosis::Finding& finding);
  /// Where what a remark says can be seen is asked for.
  void remarkRequested(const lockstep::diagnosis::Remark& remark);
  /// The list of problems is asked for.
  void problemsRequested();
  void foldedChanged(bool folded);

 private:
  void want();
  void take();
  void tell();
  void showParts();
  void follow(const QString& link);
  /// Where the line or the card is drawn on the screen.
  [[nodiscard]] QRect place() const;

  FindingsLine* line_;
  VerdictCard* card_;
  QToolButton* fold_;
  FindingsList* list_;
  QTimer soon_;  // runs while the run has grown and is not told of
  bool folded_ = false;
  QString subject_;  // of the open run
  QPointer<RunModel> model_;
  QPointer<RunDiagnoser> diagnoser_;
};

}  // namespace lockstep::ui
