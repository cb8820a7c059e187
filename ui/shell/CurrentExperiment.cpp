#include "ui/shell/CurrentExperiment.h"

#include <QFileInfo>

#include "ui/panels/runs/RunLabel.h"
#include "ui/shell/Frame.h"
#include "ui/shell/Launcher.h"
#include "ui/shell/RunBar.h"
#include "ui/shell/RunController.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {

// Note [The experiment of the window]
//
// There is one: the draft in Setup. The toolbar's box shows it and chooses another, Run (F5) starts
// it as it stands, changes that are not saved included, and whatever else starts an experiment file
// opens it there first. So what is seen, what is chosen and what runs are never two things.
//
//   box: choose ─────────────┐                        ┌─▶ titleChanged ─▶ show: the box
//   start page, palette: run ┴─▶ SetupPanel::open ────┤
//   F5: runShown ────────────────▶ SetupPanel::runSoon ┴─▶ runRequested ─▶ start: Launcher
//
// What is not saved is asked for before another experiment takes its place; where the user keeps
// it, the box goes back to it and nothing is started.
CurrentExperiment::CurrentExperiment(Frame& frame, RunBar& bar, Launcher& launcher,
                                     Settings& settings, QObject* parent)
    : QObject(parent), frame_(frame), bar_(bar), launcher_(launcher), settings_(settings) {
  connect(frame.panels.setup, &SetupPanel::runRequested, this, &CurrentExperiment::start);
  connect(frame.panels.setup, &SetupPanel::titleChanged, this, &CurrentExperiment::show);
  connect(&bar, &RunBar::experimentChosen, this, &CurrentExperiment::choose);
}

void CurrentExperiment::begin(const QString& path) {
  if (!path.isEmpty()) {
    frame_.panels.setup->open(path);
  }
  show();
}

void CurrentExperiment::choose(const QString& path) {
  frame_.docks.bring(frame_.panels.setup);
  frame_.panels.setup->open(path);
  show();  // also a draft that stays
}

void CurrentExperiment::show() {
  const SetupDraft& draft = frame_.panels.setup->draft();
  bar_.showExperiment(draft.path(), draft.title(), draft.isDirty());
}

void CurrentExperiment::runShown() {
  SetupPanel* setup = frame_.panels.setup;
  if (setup->draft().mistakes().empty()) {
    setup->runSoon();
    return;
  }
  frame_.docks.bring(setup);
  frame_.messages->show(
      QStringLiteral("setup"), MessageBar::Kind::kError,
      tr("%1 cannot run: %2").arg(setup->draft().title(), setup->reasonAgainstRun()));
}

void CurrentExperiment::run(const QString& path) {
  const QString file = QFileInfo(path).absoluteFilePath();
  if (frame_.panels.setup->open(file)) {
    start(file);
  }
}

void CurrentExperiment::editCopy(const QString& run) {
  const auto info = repeatable(run);
  if (!info.ok()) {
    frame_.messages->show(QStringLiteral("setup"), MessageBar::Kind::kError,
                          QString::fromStdString(info.error().message()));
    return;
  }
  if (frame_.panels.setup->editCopy(info.value().experimentToml,
                                    shownName(run.toStdString(), info.value().name))) {
    frame_.docks.bring(frame_.panels.setup);
  }
}

void CurrentExperiment::start(const QString& path) {
  settings_.setExperiment(path);
  launcher_.start(path);
}

}  // namespace lockstep::ui
