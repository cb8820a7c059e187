#include <QApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QProcess>
#include <QStackedWidget>

#include "ui/model/Format.h"
#include "ui/shell/CommandPalette.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"

// How the window looks and is found one's way in: layouts, scale, keys, palette, last session.
namespace lockstep::ui {
namespace {

/// The view that a layout is for.
QString viewOf(const QString& layout) {
  return layout == QStringLiteral("analyse") ? QStringLiteral("timeline") : layout;
}

}  // namespace

void MainWindow::setLayout(const QString& name) {
  if (page_ == Page::kStart) {
    restoreState(viewDocks_);
  }
  settings_.setDocks(layout_, saveState());
  layout_ = name;
  settings_.setLayout(name);
  arrangeDocks();
  viewDocks_ = saveState();
  page_ = Page::kViews;  // its docks are in place
  pages_->setCurrentIndex(static_cast<int>(page_));
  showView(viewOf(name));
}

void MainWindow::arrangeDocks() {
  const QByteArray kept = settings_.docks(layout_);
  if (!kept.isEmpty() && restoreState(kept)) {
    return;
  }
  restoreState(usualDocks_);
  const bool analyse = layout_ == QStringLiteral("analyse");
  inspectorDock_->setVisible(analyse);
  const bool log = layout_ != QStringLiteral("compare");
  logDock_->setVisible(log);
  problemsDock_->setVisible(log);
  statisticsDock_->setVisible(analyse);
  eventsDock_->setVisible(analyse);
}

void MainWindow::resetLayout() {
  settings_.setDocks(layout_, {});
  arrangeDocks();
  viewDocks_ = saveState();
  if (page_ == Page::kStart) {
    page_ = Page::kViews;
    showPage(Page::kStart);
  }
}

void MainWindow::setScale(int percent) {
  settings_.setScale(percent);
  const MessageBar::Button again{tr("Start again now"), [this] {
                                   if (!close()) {
                                     return;  // unsaved changes
                                   }
                                   QProcess next;
                                   auto environment = QProcessEnvironment::systemEnvironment();
                                   environment.remove(QStringLiteral("QT_SCALE_FACTOR"));
                                   next.setProcessEnvironment(environment);
                                   next.setProgram(QApplication::applicationFilePath());
                                   next.setArguments(QApplication::arguments().mid(1));
                                   next.startDetached();
                                 }};
  messages_->show(QStringLiteral("scale"), MessageBar::Kind::kInfo,
                  tr("Everything is drawn at %1 % from the next start on; runs go on meanwhile.")
                      .arg(percent),
                  {again});
}

void MainWindow::showPalette() {
  std::vector<CommandPalette::Entry> entries;
  for (const KeySheet::Group& group : bindings_->groups()) {
    for (QAction* action : group.actions) {
      const bool unavailable = !action->isEnabled();
      entries.push_back({group.title + QStringLiteral(": ") + plainText(action),
                         QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText),
                         [action] { action->trigger(); },
                         unavailable ? tr("not now") : QString()});
    }
  }
  for (const QActionGroup* choices : {commands_->themes, commands_->scales}) {
    for (QAction* action : choices->actions()) {
      entries.push_back({(choices == commands_->themes ? tr("Theme: %1") : tr("Scale: %1"))
                             .arg(plainText(action)),
                         QString(), [action] { action->trigger(); }, QString()});
    }
  }
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    entries.push_back({tr("Panel: %1").arg(dock->windowTitle()), QString(),
                       [dock] {
                         dock->show();
                         dock->raise();
                       },
                       QString()});
  }
  for (const ExperimentEntry& entry : experiments_) {
    entries.push_back({tr("Run experiment: %1").arg(entry.name), entry.group,
                       [this, path = entry.path] { runExperiment(path); },
                       programs_.building             ? tr("lockstep is still being built")
                       : programs_.lockstep.isEmpty() ? tr("no lockstep program")
                                                      : entry.mistake});
  }
  for (const QString& path : settings_.recentRuns()) {
    if (QFileInfo::exists(path)) {
      entries.push_back({tr("Open run: %1").arg(QFileInfo(path).completeBaseName()), QString(),
                         [this, path] { openRun(path); }, QString()});
    }
  }
  if (session_) {
    const auto go = [&](const QString& text, std::optional<std::uint32_t> step) {
      if (step) {
        entries.push_back({text.arg(*step), QString(),
                           [this, step = *step] {
                             if (session_) session_->showStep(step);
                           },
                           QString()});
      }
    };
    go(tr("Iteration %1: the slowest"), session_->slowestStep());
    go(tr("Iteration %1: the last"), session_->lastStep());
    go(tr("Iteration %1: the first with rebuilt buckets"), session_->model()->rebuildStep());
  }
  if (palette_ == nullptr) {
    palette_ = new CommandPalette(this);
  }
  palette_->open(std::move(entries));
}

void MainWindow::showKeys() {
  // Made anew each time: keys may have changed.
  auto* sheet = new KeySheet(bindings_->groups(), this);
  sheet->setAttribute(Qt::WA_DeleteOnClose);
  sheet->show();
}

void MainWindow::changeKeys() {
  if (keyEditor_ == nullptr) {
    keyEditor_ = new KeyEditor(*bindings_, this);
  }
  keyEditor_->show();
  keyEditor_->raise();
  keyEditor_->activateWindow();
}

void MainWindow::keepSession() {
  Settings::LastSession last;
  if (session_ && page_ == Page::kViews) {
    const TimeRange range = session_->state()->range();
    last = {session_->path(), stages_->current(), range.startNs, range.endNs};
  }
  settings_.setLastSession(last);
}

void MainWindow::restoreSession() {
  const Settings::LastSession last = settings_.lastSession();
  if (!settings_.restoresSession() || last.run.isEmpty() || !QFileInfo::exists(last.run)) {
    return;
  }
  stages_->setCurrent(last.stage);
  openRun(last.run);
  // The timeline moves to its first look when the run is loaded: the kept range comes after that.
  connect(session_->model(), &RunModel::loaded, session_.get(), [this, last] {
    const TimeRange range{last.startNs, last.endNs};
    if (!range.empty() && !session_->model()->isLive()) {
      session_->state()->setRange(range, ViewState::RangeChange::kSilent);
    }
  });
}

}  // namespace lockstep::ui
