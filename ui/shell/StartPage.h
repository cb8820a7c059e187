#pragma once

#include <QWidget>
#include <vector>

#include "ui/panels/runs/RunEntry.h"
#include "ui/shell/ExperimentCatalog.h"
#include "ui/shell/Programs.h"

class QBoxLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {

/// What stands on the stage while no run is open: the demo one key away, experiments, recent
/// runs, and whether this machine can run them. [ui-thread]
class StartPage : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(QWidget* parent = nullptr);

  /// The experiment that the first card starts; an empty path disables it.
  void setFirst(const ExperimentEntry& experiment);
  void setExperiments(const std::vector<ExperimentEntry>& experiments);
  void setRecentRuns(const std::vector<RunEntry>& runs);
  /// Says which of the programs are here, how many cores there are and what draws the timeline.
  void setMachine(const Programs& programs, const QString& renderer);

  /// Why no job can be recorded; empty when one can.
  void blockRecording(const QString& reason);

  /// Offers the tour of the studio above everything else, or does so no longer.
  void offerTour(bool offer);

  /// Puts the keyboard on the first card's button: Enter runs it.
  void focusFirst();

 signals:
  void runRequested(const QString& experimentPath);
  void openRequested(const QString& runPath);
  void runAgainRequested(const QString& runPath);
  void editCopyRequested(const QString& runPath);
  void chooseFileRequested();
  void recordRequested();
  void tourRequested();
  void tourDeclined();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void check(bool ok, const QString& text);
  QWidget* verbsOf(const RunEntry& run);

  QLabel* firstTitle_ = nullptr;
  QLabel* firstText_ = nullptr;
  QPushButton* first_ = nullptr;
  QPushButton* record_ = nullptr;
  QWidget* tour_ = nullptr;
  QString firstPath_;
  QBoxLayout* cards_ = nullptr;
  QBoxLayout* lists_ = nullptr;
  QVBoxLayout* experiments_ = nullptr;
  QVBoxLayout* recent_ = nullptr;
  QVBoxLayout* checks_ = nullptr;
  Programs programs_;
  QString renderer_;
};

}  // namespace lockstep::ui
