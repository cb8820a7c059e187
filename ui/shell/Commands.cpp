#include "ui/shell/Commands.h"

#include <QCoreApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "engine/base/Check.h"
#include "ui/panels/KeyTips.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/Icons.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/Programs.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"

namespace lockstep::ui {
namespace {

QString commandText(const char* text) {
  return QCoreApplication::translate("Commands", text);
}

QAction* make(QWidget* parent, const QString& name, const QString& text,
              const QList<QKeySequence>& keys = {}) {
  auto* action = new QAction(text, parent);
  action->setObjectName(name);
  action->setShortcuts(keys);
  setTip(action, plainText(action));
  parent->addAction(action);
  return action;
}

// By the built-in key: those of the user come later (KeyBindings).
QAction* withKey(const QList<QAction*>& actions, const QKeySequence& key) {
  for (QAction* action : actions) {
    if (action->shortcuts().contains(key)) {
      return action;
    }
  }
  LOCKSTEP_CHECK(false, "the timeline has no action with the key {}", key.toString().toStdString());
}

}  // namespace

Commands::Commands(QWidget* parent, const Stages& stages, const QList<QAction*>& listOfRuns)
    : themes(new QActionGroup(parent)),
      layouts(new QActionGroup(parent)),
      scales(new QActionGroup(parent)),
      ofRuns(listOfRuns) {
  const auto command = [parent](const char* name, const char* text,
                                const QList<QKeySequence>& keys = {}) {
    return make(parent, name, commandText(text), keys);
  };
  open = command("open", "&Open a run…", {QKeySequence::Open});
  reopen = command("reopen", "Open the &last run again", {Qt::CTRL | Qt::SHIFT | Qt::Key_O});
  importFiles = command("importFiles", "&Import traces…", {Qt::CTRL | Qt::Key_I});
  importFolder =
      command("importFolder", "Import a &folder of traces…", {Qt::CTRL | Qt::SHIFT | Qt::Key_I});
  exportRun = command("exportRun", "&Export…", {Qt::CTRL | Qt::Key_E});
  exportPicture = command("exportPicture", "Export &picture…", {Qt::CTRL | Qt::SHIFT | Qt::Key_E});
  exportReport = command("exportReport", "Export &report…");
  savePicture = command("savePicture", "&Save a picture of this view");
  saveTable = command("saveTable", "Save the &table in sight as CSV");
  quit = command("quit", "&Quit", {Qt::CTRL | Qt::Key_Q});
  run = command("run", "&Run", {QKeySequence(Qt::Key_F5)});
  record = command("record", "Record a Py&Torch job…", {Qt::CTRL | Qt::Key_R});
  stop = command("stop", "&Stop", {Qt::SHIFT | Qt::Key_F5});
  repeat = command("repeat", "Re&peat", {Qt::CTRL | Qt::Key_F5});
  runAgain = command("runAgain", "Run again &with…", {Qt::CTRL | Qt::SHIFT | Qt::Key_F5});
  editCopy = command("editCopy", "&Edit a copy");
  undo = command("undo", "&Undo change of view", {QKeySequence::Undo});
  redo = command("redo", "&Redo change of view",
                 {Qt::CTRL | Qt::Key_Y, Qt::CTRL | Qt::SHIFT | Qt::Key_Z});
  copyJson = command("copyJson", "&Copy selection as JSON", {Qt::CTRL | Qt::SHIFT | Qt::Key_C});
  find = command("find", "&Find on the timeline, or filter the panel", {QKeySequence::Find});
  setTip(find, commandText("A panel that has the focus and a filter is filtered; from elsewhere "
                           "the timeline's search opens"));
  startPage = command("startPage", "&Start page", {Qt::ALT | Qt::Key_Home});
  findings = command("findings", "&Findings", {QKeySequence(Qt::Key_F8)});
  setTip(findings, commandText("What the run suffers from, what that costs and what to do"));
  lookFor = command("lookFor", "What to loo&k for", {QKeySequence(Qt::Key_F7)});
  lookFor->setIconText(commandText("Look for"));  // what stands in the status bar
  verdict = command("verdict", "&Verdict in front of the views", {Qt::SHIFT | Qt::Key_F8});
  verdict->setCheckable(true);
  setTip(verdict, commandText("What the run is and how it did; else folded to a line"));
  fit = command("fit", "&Fit whole run", {Qt::SHIFT | Qt::Key_F});
  resetLayout = command("resetLayout", "&Reset this layout");
  restoreSession = command("restoreSession", "Open the last run at the &start");
  palette =
      command("palette", "&Commands…", {Qt::CTRL | Qt::Key_K, Qt::CTRL | Qt::SHIFT | Qt::Key_P});
  help = command("help", "H&elp…", {QKeySequence(Qt::Key_F1)});
  setTip(help, commandText("Keys, views and terms, to be searched; over a term, what it means"));
  glossary = command("glossary", "&Glossary…", {Qt::SHIFT | Qt::Key_F1});
  setTip(glossary, commandText("What the terms mean, with formula and unit"));
  keys = command("keys", "&Keys and mouse", {QKeySequence(Qt::Key_Question)});
  changeKeys = command("changeKeys", "C&hange keys…");
  tour = command("tour", "&Tour of the studio");
  about = command("about", "&About Lockstep");
  const QStringList names = stages.names();
  for (const QString& name : names) {
    auto* action = make(parent, QStringLiteral("view.") + name, stages.titleOf(name),
                        {QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + views.size()))});
    action->setData(name);
    views.append(action);
    const auto own = stages.view(name)->viewActions();
    for (QAction* one : own) {
      if (one->objectName().isEmpty()) {  // what the settings know its keys by
        one->setObjectName(name + '.' + KeyBindings::idOf(one));
      }
    }
    if (!own.isEmpty()) {
      ofViews.push_back({stages.titleOf(name), own});
    }
  }
  // Of the timeline, but so often needed that the toolbar has them too.
  const QList<QAction*> ofTimeline = stages.view(QStringLiteral("timeline"))->viewActions();
  follow = withKey(ofTimeline, QKeySequence(Qt::Key_L));
  previousIteration = withKey(ofTimeline, QKeySequence(Qt::Key_PageUp));
  nextIteration = withKey(ofTimeline, QKeySequence(Qt::Key_PageDown));
  run->setIcon(icon(Glyph::kRun));
  stop->setIcon(icon(Glyph::kStop));
  repeat->setIcon(icon(Glyph::kRepeat));
  follow->setIcon(icon(Glyph::kFollow));
  follow->setIconText(commandText("Follow"));  // what stands on the toolbar
  setTip(follow, commandText("Follow the live run"));
  follow->setCheckable(true);
  previousIteration->setIcon(icon(Glyph::kPrevious));
  nextIteration->setIcon(icon(Glyph::kNext));
  fit->setIcon(icon(Glyph::kFit));
  fit->setIconText(commandText("Fit"));
  open->setIcon(icon(Glyph::kOpen));
  exportPicture->setIcon(icon(Glyph::kPicture));
  // What is shown and what was recorded are there together.
  for (QAction* other : {exportRun, exportReport, savePicture}) {
    QObject::connect(exportPicture, &QAction::enabledChanged, other, &QAction::setEnabled);
  }
  setTip(exportReport,
         commandText("Write what there is to say of this run into one page for any browser"));
  setTip(savePicture, commandText("Write it beside the run at once, under a name of its own"));
  setTip(saveTable, commandText("Write the table that has the focus, or of this view, beside the "
                                "run at once"));
  quit->setMenuRole(QAction::QuitRole);

  const auto theme = [&](const QString& text, ThemeChoice choice) {
    auto* action = themes->addAction(text);
    action->setCheckable(true);
    action->setData(static_cast<int>(choice));
  };
  theme(commandText("&System"), ThemeChoice::kSystem);
  theme(commandText("&Light"), ThemeChoice::kLight);
  theme(commandText("&Dark"), ThemeChoice::kDark);

  const auto layout = [&](const char* name, const QString& text, Qt::Key key) {
    auto* action = make(parent, QStringLiteral("layout.") + name, text,
                        {QKeySequence(Qt::CTRL | Qt::SHIFT | key)});
    action->setCheckable(true);
    action->setData(QString(name));
    layouts->addAction(action);
  };
  layout("live", commandText("&Live"), Qt::Key_L);
  layout("analyse", commandText("&Analyse"), Qt::Key_A);
  layout("compare", commandText("&Compare"), Qt::Key_D);
  for (const int percent : {100, 125, 150, 175, 200, 250, 300}) {
    auto* action = scales->addAction(commandText("%1 %").arg(percent));
    action->setCheckable(true);
    action->setData(percent);
  }
  restoreSession->setCheckable(true);
}

QMenu* Commands::fillMenus(QMainWindow& window, const QList<QAction*>& docks) const {
  QMenu* file = window.menuBar()->addMenu(commandText("&File"));
  file->addAction(open);
  QMenu* recent = file->addMenu(commandText("Recent &runs"));
  file->addAction(reopen);
  file->addSeparator();
  file->addActions({importFiles, importFolder});
  file->addSeparator();
  file->addActions({exportRun, exportPicture, exportReport});
  file->addActions({savePicture, saveTable});
  file->addSeparator();
  file->addAction(quit);

  QMenu* edit = window.menuBar()->addMenu(commandText("&Edit"));
  edit->addActions({undo, redo});
  edit->addSeparator();
  edit->addActions({copyJson, find});

  QMenu* runs = window.menuBar()->addMenu(commandText("&Run"));
  runs->addActions({run, record, stop, repeat, runAgain, editCopy});
  runs->addSeparator();
  runs->addActions(ofRuns);

  QMenu* look = window.menuBar()->addMenu(commandText("&View"));
  look->addAction(startPage);
  look->addActions(views);
  look->addActions({findings, verdict, lookFor});
  look->addSeparator();
  QMenu* layout = look->addMenu(commandText("&Layout"));
  layout->addActions(layouts->actions());
  layout->addSeparator();
  layout->addAction(resetLayout);
  QMenu* panels = look->addMenu(commandText("&Panels"));
  panels->addActions(docks);
  look->addSeparator();
  QMenu* theme = look->addMenu(commandText("T&heme"));
  theme->addActions(themes->actions());
  QMenu* scale = look->addMenu(commandText("&Scale"));
  scale->addActions(scales->actions());
  look->addSeparator();
  look->addAction(restoreSession);

  QMenu* go = window.menuBar()->addMenu(commandText("&Go"));
  go->addActions({palette, fit});
  for (const KeySheet::Group& group : ofViews) {
    go->addMenu(group.title)->addActions(group.actions);
  }

  QMenu* menu = window.menuBar()->addMenu(commandText("&Help"));
  menu->addActions({help, glossary, keys, tour});
  menu->addSeparator();
  menu->addActions({changeKeys, about});
  return recent;
}

void Commands::refresh(const Situation& now) const {
  const bool canStart = !now.programs.lockstep.isEmpty();
  const bool live = now.session != nullptr && now.session->model()->isLive();
  const bool open = now.session != nullptr && !now.session->model()->info().runId.empty();
  const auto kind = open ? now.session->model()->info().kind : trace::RunKind::kExperiment;
  const bool observed = kind == trace::RunKind::kObserved;
  // There is nothing to start of traces.
  const bool experiment = open && kind == trace::RunKind::kExperiment;
  const bool again = open && (observed || experiment);
  const QString missing = reasonAgainstStarting(now.programs);
  run->setEnabled(canStart);
  setTip(run, missing.isEmpty() ? commandText("Run the experiment as Setup shows it") : missing);
  stop->setEnabled(live || now.comesUp);
  follow->setEnabled(live);
  for (QAction* action : {record, importFiles, importFolder}) {
    action->setEnabled(canStart);
  }
  repeat->setEnabled(again && canStart);
  // Of a job nothing runs unasked: both would be the same.
  repeat->setText(observed ? commandText("Run a&gain with…") : commandText("Re&peat"));
  runAgain->setVisible(!observed);
  runAgain->setEnabled(experiment && canStart);
  setTip(runAgain, commandText("Run the experiment of this run with other settings, and compare"));
  editCopy->setEnabled(experiment);
  setTip(editCopy, experiment || !open
                       ? commandText("Open the experiment of this run in Setup, as a new one")
                       : commandText("This run has no experiment that could be edited"));
  setTip(repeat, !again && open ? commandText("This run has no command that could be run again")
                 : observed     ? commandText("Run the command of this job again")
                                : commandText("Run the experiment of this run again"));
  for (QAction* action : {exportPicture, findings, fit, previousIteration, nextIteration}) {
    action->setEnabled(open);
  }
  ViewState* state = now.session != nullptr ? now.session->state() : nullptr;
  copyJson->setEnabled(state != nullptr && state->selection().has_value());
  undo->setEnabled(state != nullptr && state->undoStack().canUndo());
  redo->setEnabled(state != nullptr && state->undoStack().canRedo());
  reopen->setEnabled(now.anyRecentRun);
}

std::vector<KeySheet::Group> Commands::groups() const {
  QList<QAction*> look{startPage};
  look.append(views);
  look.append(layouts->actions());
  look.append({findings, verdict, lookFor, resetLayout, fit, find, undo, redo, copyJson});
  std::vector<KeySheet::Group> all{
      {commandText("Runs"), {run, record, stop, repeat, runAgain, editCopy}},
      {commandText("Files"),
       {open, reopen, importFiles, importFolder, exportRun, exportPicture, exportReport,
        savePicture, saveTable, quit}},
      {commandText("View"), look},
      {commandText("Help"), {palette, help, glossary, keys, tour, changeKeys, about}}};
  all.push_back({commandText("List of runs"), ofRuns});
  all.insert(all.end(), ofViews.begin(), ofViews.end());
  return all;
}

}  // namespace lockstep::ui
