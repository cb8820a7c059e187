#include "ui/shell/Commands.h"

#include <QCoreApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "engine/base/Check.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/Icons.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Commands", text); }

QAction* make(QWidget* parent, const QString& name, const QString& text,
              const QList<QKeySequence>& keys = {}) {
  auto* action = new QAction(text, parent);
  action->setObjectName(name);
  action->setShortcuts(keys);
  QString tip = text;
  tip.remove('&').remove(QStringLiteral("…"));
  if (!keys.isEmpty()) {
    tip += QStringLiteral(" (%1)").arg(keys.front().toString(QKeySequence::NativeText));
  }
  action->setToolTip(tip);
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

Commands::Commands(QWidget* parent, const TimelineView& view)
    : open(make(parent, "open", tr("&Open a run…"), {QKeySequence::Open})),
      reopen(make(parent, "reopen", tr("Open the &last run again"),
                  {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O)})),
      exportPicture(make(parent, "exportPicture", tr("&Export picture…"),
                         {QKeySequence(Qt::CTRL | Qt::Key_E)})),
      quit(make(parent, "quit", tr("&Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)})),
      run(make(parent, "run", tr("&Run"), {QKeySequence(Qt::Key_F5)})),
      stop(make(parent, "stop", tr("&Stop"), {QKeySequence(Qt::SHIFT | Qt::Key_F5)})),
      repeat(make(parent, "repeat", tr("Re&peat"), {QKeySequence(Qt::CTRL | Qt::Key_F5)})),
      undo(make(parent, "undo", tr("&Undo change of view"), {QKeySequence::Undo})),
      redo(make(parent, "redo", tr("&Redo change of view"),
                {QKeySequence(Qt::CTRL | Qt::Key_Y), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z)})),
      copyJson(make(parent, "copyJson", tr("&Copy selection as JSON"),
                    {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)})),
      startPage(make(parent, "startPage", tr("&Start page"), {QKeySequence(Qt::ALT | Qt::Key_Home)})),
      timeline(make(parent, "timeline", tr("&Timeline"), {QKeySequence(Qt::CTRL | Qt::Key_2)})),
      fit(make(parent, "fit", tr("&Fit whole run"), {QKeySequence(Qt::SHIFT | Qt::Key_F)})),
      themes(new QActionGroup(parent)),
      keys(make(parent, "keys", tr("&Keys and mouse"),
                {QKeySequence(Qt::Key_F1), QKeySequence(Qt::Key_Question)})),
      about(make(parent, "about", tr("&About Lockstep"))),
      ofTimeline(view.viewActions()) {
  follow = withKey(ofTimeline, QKeySequence(Qt::Key_L));
  previousIteration = withKey(ofTimeline, QKeySequence(Qt::Key_PageUp));
  nextIteration = withKey(ofTimeline, QKeySequence(Qt::Key_PageDown));
  run->setIcon(icon(Glyph::kRun));
  stop->setIcon(icon(Glyph::kStop));
  repeat->setIcon(icon(Glyph::kRepeat));
  follow->setIcon(icon(Glyph::kFollow));
  follow->setIconText(tr("Follow"));  // what stands on the toolbar
  follow->setToolTip(tr("Follow the live run (L)"));
  follow->setCheckable(true);
  previousIteration->setIcon(icon(Glyph::kPrevious));
  nextIteration->setIcon(icon(Glyph::kNext));
  fit->setIcon(icon(Glyph::kFit));
  fit->setIconText(tr("Fit"));
  open->setIcon(icon(Glyph::kOpen));
  exportPicture->setIcon(icon(Glyph::kPicture));
  quit->setMenuRole(QAction::QuitRole);

  const auto theme = [&](const QString& text, ThemeChoice choice) {
    auto* action = themes->addAction(text);
    action->setCheckable(true);
    action->setData(static_cast<int>(choice));
  };
  theme(tr("&System"), ThemeChoice::kSystem);
  theme(tr("&Light"), ThemeChoice::kLight);
  theme(tr("&Dark"), ThemeChoice::kDark);
}

QMenu* Commands::fillMenus(QMainWindow& window, const QList<QAction*>& docks) const {
  QMenu* file = window.menuBar()->addMenu(tr("&File"));
  file->addAction(open);
  QMenu* recent = file->addMenu(tr("Recent &runs"));
  file->addAction(reopen);
  file->addSeparator();
  file->addAction(exportPicture);
  file->addSeparator();
  file->addAction(quit);

  QMenu* edit = window.menuBar()->addMenu(tr("&Edit"));
  edit->addActions({undo, redo});
  edit->addSeparator();
  edit->addAction(copyJson);

  QMenu* runs = window.menuBar()->addMenu(tr("&Run"));
  runs->addActions({run, stop, repeat});

  QMenu* look = window.menuBar()->addMenu(tr("&View"));
  look->addActions({startPage, timeline});
  look->addSeparator();
  look->addActions(docks);
  look->addSeparator();
  QMenu* theme = look->addMenu(tr("T&heme"));
  theme->addActions(themes->actions());

  QMenu* go = window.menuBar()->addMenu(tr("&Timeline"));
  go->addAction(fit);
  go->addActions(ofTimeline);

  QMenu* help = window.menuBar()->addMenu(tr("&Help"));
  help->addActions({keys, about});
  return recent;
}

std::vector<KeySheet::Group> Commands::groups() const {
  QList<QAction*> inTimeline{fit};
  inTimeline.append(ofTimeline);
  return {{tr("Runs"), {run, stop, repeat}},
          {tr("Files"), {open, reopen, exportPicture, quit}},
          {tr("View"), {startPage, timeline, undo, redo, copyJson}},
          {tr("Help"), {keys}},
          {tr("Timeline"), inTimeline}};
}

}  // namespace lockstep::ui
