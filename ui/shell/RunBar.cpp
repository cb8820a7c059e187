#include "ui/shell/RunBar.h"

#include <QComboBox>

#include "ui/panels/Labels.h"
#include "ui/shell/Commands.h"
#include "ui/shell/IterationBox.h"

namespace lockstep::ui {

RunBar::RunBar(const Commands& commands, const std::vector<ExperimentEntry>& experiments)
    : QToolBar(tr("Run")),
      experiments_(named(new QComboBox, "experimentBox", tr("Experiment"),
                         tr("The experiment that Run starts"))),
      iteration_(new IterationBox(commands.previousIteration, commands.nextIteration)) {
  setObjectName("runToolBar");
  setMovable(false);
  setIconSize({16, 16});
  setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  experiments_->setMinimumContentsLength(16);
  experiments_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  for (const ExperimentEntry& entry : experiments) {
    const bool plain = entry.group.isEmpty() || entry.group == QStringLiteral("first_steps");
    experiments_->addItem(plain ? entry.name : entry.group + '/' + entry.name, entry.path);
    experiments_->setItemData(experiments_->count() - 1,
                              entry.mistake.isEmpty() ? entry.shows : entry.mistake,
                              Qt::ToolTipRole);
  }
  addWidget(experiments_);
  addSeparator();
  addActions({commands.run, commands.stop, commands.repeat});
  addSeparator();
  addAction(commands.follow);
  addSeparator();
  addWidget(iteration_);
  addSeparator();
  addAction(commands.fit);
}

QString RunBar::experiment() const {
  return experiments_->currentData().toString();
}

void RunBar::choose(const QString& experiment) {
  if (const int row = experiments_->findData(experiment); row >= 0) {
    experiments_->setCurrentIndex(row);
  }
}

}  // namespace lockstep::ui
