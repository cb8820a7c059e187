#pragma once

#include <QString>
#include <QToolBar>
#include <vector>

#include "ui/shell/ExperimentCatalog.h"

class QComboBox;

namespace lockstep::ui {

struct Commands;
class IterationBox;

/// The toolbar: the experiment that Run starts, and what steers the open run. [ui-thread]
class RunBar : public QToolBar {
  Q_OBJECT

 public:
  RunBar(const Commands& commands, const std::vector<ExperimentEntry>& experiments);

  [[nodiscard]] IterationBox& iteration() { return *iteration_; }
  /// The path of the chosen experiment; empty: there is none.
  [[nodiscard]] QString experiment() const;
  /// Another path than those of the experiments changes nothing.
  void choose(const QString& experiment);

 private:
  QComboBox* experiments_;
  IterationBox* iteration_;
};

}  // namespace lockstep::ui
