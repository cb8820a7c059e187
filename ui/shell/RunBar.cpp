#include "ui/shell/RunBar.h"

#include <QComboBox>
#include <QMenu>
#include <QSignalBlocker>
#include <QToolButton>

#include "ui/panels/Labels.h"
#include "ui/shell/Commands.h"
#include "ui/shell/IterationBox.h"

namespace lockstep::ui {

RunBar::RunBar(const Commands& commands, const std::vector<ExperimentEntry>& experiments)
    : QToolBar(tr("Run")),
      experiments_(named(new QComboBox, "experimentBox", tr("Experiment"),
                         tr("The experiment that Setup shows and Run starts"))),
      iteration_(new IterationBox(commands.previousIteration, commands.nextIteration)) {
  setObjectName("runToolBar");
  setMovable(false);
  setIconSize({16, 16});
  setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  experiments_->setMinimumContentsLength(16);
  experiments_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  for (const ExperimentEntry& entry : experiments) {
    const bool plain = entry.group.isEmpty() || entry.group == QStringLiteral("first_steps");
    names_ << (plain ? entry.name : entry.group + '/' + entry.name);
    experiments_->addItem(names_.back(), entry.path);
    experiments_->setItemData(experiments_->count() - 1,
                              entry.mistake.isEmpty() ? entry.shows : entry.mistake,
                              Qt::ToolTipRole);
  }
  connect(experiments_, &QComboBox::activated, this, [this](int row) {
    if (row < names_.size()) {  // the last one may be what Setup shows already
      emit experimentChosen(experiments_->itemData(row).toString());
    }
  });
  addWidget(experiments_);
  addSeparator();
  addActions({commands.run, commands.stop, commands.repeat});
  auto* again = named(new QMenu(this), "repeatMenu");
  again->addActions({commands.runAgain, commands.editCopy});
  auto* repeat = qobject_cast<QToolButton*>(widgetForAction(commands.repeat));
  repeat->setMenu(again);
  repeat->setPopupMode(QToolButton::MenuButtonPopup);
  addSeparator();
  addAction(commands.follow);
  addSeparator();
  addWidget(iteration_);
  addSeparator();
  addAction(commands.fit);
}

void RunBar::showExperiment(const QString& path, const QString& title, bool dirty) {
  const QSignalBlocker quiet(experiments_);
  for (int row = 0; row < names_.size(); ++row) {
    experiments_->setItemText(row, names_[row]);
  }
  while (experiments_->count() > names_.size()) {
    experiments_->removeItem(experiments_->count() - 1);  // what Setup showed before
  }
  int row = path.isEmpty() ? -1 : experiments_->findData(path);
  if (row < 0) {
    experiments_->addItem(title, path);
    row = experiments_->count() - 1;
    experiments_->setItemData(row, path.isEmpty() ? tr("Not saved yet") : path, Qt::ToolTipRole);
  }
  if (dirty) {
    experiments_->setItemText(row, experiments_->itemText(row) + QStringLiteral(" •"));
  }
  experiments_->setCurrentIndex(row);
}

}  // namespace lockstep::ui
