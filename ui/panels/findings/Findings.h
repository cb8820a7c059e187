#pragma once

#include <QObject>
#include <QPointer>

#include "engine/diagnosis/Finding.h"
#include "ui/model/RunDiagnoser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

class FindingsLine;
class FindingsList;

/// What the open run suffers from, one run at a time: a line, and the list of all that opens below
/// it. Asks for a diagnosis while the line is in sight. [ui-thread]
class Findings : public QObject {
  Q_OBJECT

 public:
  /// `window` owns this and the list. The line is whose it is put into.
  explicit Findings(QWidget* window);

  [[nodiscard]] FindingsLine* line() const { return line_; }
  [[nodiscard]] FindingsList* list() const { return list_; }

  /// Neither is owned; null: no run is open, and of the one before nothing is said any more.
  void setRun(RunModel* model, RunDiagnoser* diagnoser);
  /// Why no setting can be applied now; empty: it can.
  void blockApply(const QString& reason);
  /// Opens the list, or closes it.
  void toggle();

 signals:
  /// Where the finding can be seen is asked for.
  void showRequested(const lockstep::diagnosis::Finding& finding);
  /// Its settings are to be tried.
  void applyRequested(const lockstep::diagnosis::Finding& finding);

 private:
  void want();
  void take();
  /// Where the line is drawn on the screen.
  [[nodiscard]] QRect place() const;

  FindingsLine* line_;
  FindingsList* list_;
  QPointer<RunModel> model_;
  QPointer<RunDiagnoser> diagnoser_;
};

}  // namespace lockstep::ui
