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
  QString tip = text;
  setTip(action, tip.remove('&').remove(QStringLiteral("…")));
  parent->addAction(action);
  return action;
}

QAction* withKey(const QList<QAction*>& actions, const QKeySequence& key) {
  for (QAction* action : actions) {
    if (action->shortcuts().contains(key)) {
      return action;
    }
  }
  LOCKSTEP_CHECK(false, "the timeline has no action with the key {}", key.toString().toStdString());
}

}  // namespace

Commands::Commands(QWidget* parent, const Stages& stages)
    : open(make(parent, "open", commandText("&Open a run…"), {QKeySequence::Open})),
      reopen(make(parent, "reopen", commandText("Open the &last run again"),
                  {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O)})),
      importFiles(make(parent, "importFiles", commandText("&Import traces…"),
                       {QKeySequence(Qt::CTRL | Qt::Key_I)})),
      importFolder(make(parent, "importFolder", commandText("Import a &folder of traces…"),
                        {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_I)})),
      exportRun(
          make(parent, "exportRun", commandText("&Export…"), {QKeySequence(Qt::CTRL | Qt::Key_E)})),
      exportPicture(make(parent, "exportPicture", commandText("Export &picture…"),
                         {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E)})),
      quit(make(parent, "quit", commandText("&Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)})),
      run(make(parent, "run", commandText("&Run"), {QKeySequence(Qt::Key_F5)})),
      record(make(parent, "record", commandText("Record a Py&Torch job…"),
                  {QKeySequence(Qt::CTRL | Qt::Key_R)})),
      stop(make(parent, "stop", commandText("&Stop"), {QKeySequence(Qt::SHIFT | Qt::Key_F5)})),
      repeat(make(parent, "repeat", commandText("Re&peat"), {QKeySequence(Qt::CTRL | Qt::Key_F5)})),
      undo(make(parent, "undo", commandText("&Undo change of view"), {QKeySequence::Undo})),
      redo(make(
          parent, "redo", commandText("&Redo change of view"),
          {QKeySequence(Qt::CTRL | Qt::Key_Y), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z)})),
      copyJson(make(parent, "copyJson", commandText("&Copy selection as JSON"),
                    {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)})),
      startPage(make(parent, "startPage", commandText("&Start page"),
                     {QKeySequence(Qt::ALT | Qt::Key_Home)})),
      fit(make(parent, "fit", commandText("&Fit whole run"),
               {QKeySequence(Qt::SHIFT | Qt::Key_F)})),
      themes(new QActionGroup(parent)),
      layouts(new QActionGroup(parent)),
      resetLayout(make(parent, "resetLayout", commandText("&Reset this layout"))),
      scales(new QActionGroup(parent)),
      restoreSession(
          make(parent, "restoreSession", commandText("Open the last run at the &start"))),
      palette(make(
          parent, "palette", commandText("&Commands…"),
          {QKeySequence(Qt::CTRL | Qt::Key_K), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P)})),
      keys(make(parent, "keys", commandText("&Keys and mouse"),
                {QKeySequence(Qt::Key_F1), QKeySequence(Qt::Key_Question)})),
      changeKeys(make(parent, "changeKeys", commandText("C&hange keys…"))),
      about(make(parent, "about", commandText("&About Lockstep"))) {
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
  QObject::connect(exportPicture, &QAction::enabledChanged, exportRun, &QAction::setEnabled);
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
  file->addActions({exportRun, exportPicture});
  file->addSeparator();
  file->addAction(quit);

  QMenu* edit = window.menuBar()->addMenu(commandText("&Edit"));
  edit->addActions({undo, redo});
  edit->addSeparator();
  edit->addAction(copyJson);

  QMenu* runs = window.menuBar()->addMenu(commandText("&Run"));
  runs->addActions({run, record, stop, repeat});

  QMenu* look = window.menuBar()->addMenu(commandText("&View"));
  look->addAction(startPage);
  look->addActions(views);
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

  QMenu* help = window.menuBar()->addMenu(commandText("&Help"));
  help->addActions({keys, changeKeys, about});
  return recent;
}

std::vector<KeySheet::Group> Commands::groups() const {
  QList<QAction*> look{startPage};
  look.append(views);
  look.append(layouts->actions());
  look.append({resetLayout, fit, undo, redo, copyJson});
  std::vector<KeySheet::Group> all{{commandText("Runs"), {run, record, stop, repeat}},
                                   {commandText("Files"), {open, reopen, importFiles, importFolder, exportRun, exportPicture, quit}},
                                   {commandText("View"), look},
                                   {commandText("Help"), {palette, keys, changeKeys, about}}};
  all.insert(all.end(), ofViews.begin(), ofViews.end());
  return all;
}

}  // namespace lockstep::ui
