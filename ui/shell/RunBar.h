#pragma once

#include <QString>
#include <QStringList>
#include <QToolBar>
#include <vector>

#include "ui/shell/ExperimentCatalog.h"

class QComboBox;

namespace lockstep::ui {

struct Commands;
class IterationBox;

/// The toolbar: the experiment that Setup shows and Run starts, and what steers the open run.
/// [ui-thread]
class RunBar : public QToolBar {
  Q_OBJECT

 public:
  RunBar(const Commands& commands, const std::vector<ExperimentEntry>& experiments);

  [[nodiscard]] IterationBox& iteration() { return *iteration_; }
  /// Shows which experiment stands in Setup: one of the list by its path, or another by its title,
  /// with a mark where it has changes that are not saved.
  void showExperiment(const QString& path, const QString& title, bool dirty);

 signals:
  /// An experiment of the list was chosen; the box shows it before Setup does.
  void experimentChosen(const QString& path);

 private:
  QComboBox* experiments_;
  QStringList names_;  // of those in the list
  IterationBox* iteration_;
};

}  // namespace lockstep::ui
