#include "ui/shell/Docks.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QLayout>
#include <QMainWindow>
#include <QScreen>
#include <QStringList>
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "ui/shell/Panels.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {
namespace {

const QString kLive = QStringLiteral("live");
const QString kAnalyse = QStringLiteral("analyse");
const QStringList kLayouts{kLive, kAnalyse, QStringLiteral("compare")};

constexpr int kWholeScreen = 1440;    // px of width: on a screen of so many the window has it all
constexpr int kNoRoomForDocks = 800;  // on one of fewer, panels come when they are asked for

}  // namespace

Docks::Docks(QMainWindow& window, const Panels& panels, Settings& settings)
    : window_(window), panels_(panels), settings_(settings) {
  window.setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowTabbedDocks |
                        QMainWindow::AllowNestedDocks);
  window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  const auto tr = [](const char* text) { return QCoreApplication::translate("Docks", text); };
  // Each over the one before at once: side by side they would make the window wider than a small
  // screen.
  QDockWidget* runs = add("runsDock", tr("Runs"), panels.runs, Qt::LeftDockWidgetArea);
  QDockWidget* setup = add("setupDock", tr("Setup"), panels.setup, Qt::LeftDockWidgetArea, runs);
  add("hooksDock", tr("Hooks"), panels.hooks, Qt::LeftDockWidgetArea, setup);
  runs->raise();
  add("inspectorDock", tr("Inspector"), panels.inspector, Qt::RightDockWidgetArea);
  QDockWidget* log = add("logDock", tr("Log"), panels.log, Qt::BottomDockWidgetArea);
  QDockWidget* problems =
      add("problemsDock", tr("Problems"), panels.problems, Qt::BottomDockWidgetArea, log);
  QDockWidget* statistics = add("statisticsDock", tr("Statistics"), panels.statistics,
                                Qt::BottomDockWidgetArea, problems);
  add("eventsDock", tr("Events"), panels.events, Qt::BottomDockWidgetArea, statistics);
  log->raise();
}

QDockWidget* Docks::add(const char* name, const QString& title, QWidget* panel,
                        Qt::DockWidgetArea area, QDockWidget* over) {
  auto* dock = new QDockWidget(title, &window_);
  dock->setObjectName(QLatin1String(name));
  dock->setWidget(panel);
  window_.addDockWidget(area, dock);
  if (over != nullptr) {
    window_.tabifyDockWidget(over, dock);
  }
  all_.append(dock);
  return dock;
}

QDockWidget* Docks::of(const QWidget* panel) {
  return qobject_cast<QDockWidget*>(panel->parentWidget());
}

QList<QDockWidget*> Docks::below() const {
  return {of(panels_.log), of(panels_.problems), of(panels_.statistics), of(panels_.events)};
}

void Docks::bring(const QWidget* panel) const {
  of(panel)->show();
  of(panel)->raise();
}

// Note [Arrangements of docks]
//
// An arrangement is what QMainWindow::saveState returns. Three kinds are kept apart:
//
//   usual_      all docks in their first places and sizes, made once when the window comes up
//   settings    one a layout, as the user left it; none: the usual one, with the docks on the left
//   withRun_    the present one, while the start page hides what speaks of an open run
//
// What the start page leaves is nobody's arrangement and is never kept: while it is in sight,
// withRun_ is what keep() writes down, and setLayout() brings that back before anything is saved.
void Docks::restore() {
  const QSize screen = window_.screen()->availableSize();
  const bool whole = screen.width() <= kWholeScreen;
  window_.resize(whole ? screen : (screen * 0.88).boundedTo(QSize(2240, 1320)));
  if (whole) {
    // A window manager then takes what its title bar needs from this size and adds it to no other.
    window_.setWindowState(Qt::WindowMaximized);
  }
  const int runs = std::clamp(window_.width() * 3 / 14, 300, 440);  // with its figures in sight
  const int inspector = std::clamp(window_.width() / 6, 230, 380);
  window_.resizeDocks({of(panels_.runs), of(panels_.inspector)}, {runs, inspector}, Qt::Horizontal);
  window_.resizeDocks({of(panels_.log)}, {std::clamp(window_.height() / 6, 130, 260)},
                      Qt::Vertical);
  usual_ = window_.saveState();
  window_.restoreGeometry(settings_.geometry());
  layout_ = settings_.layout();
  if (!kLayouts.contains(layout_)) {
    layout_ = kAnalyse;
  }
  arrange();
  // Nothing is selected yet, and with the first selection it opens by itself.
  if (settings_.inspectorOpens()) {
    of(panels_.inspector)->hide();
  }
  // All docks side by side may have needed more; now that those are closed which have no room, less
  // is enough.
  window_.layout()->activate();
  window_.resize(window_.size().boundedTo(screen));
}

void Docks::keep() {
  settings_.setGeometry(window_.saveGeometry());
  settings_.setDocks(layout_, runInSight_ ? window_.saveState() : withRun_);
}

void Docks::setLayout(const QString& name) {
  setRunInSight(true);
  settings_.setDocks(layout_, window_.saveState());
  layout_ = name;
  settings_.setLayout(name);
  arrange();
}

void Docks::resetLayout() {
  settings_.setDocks(layout_, {});
  // Arranged with all docks, and hidden anew from there: withRun_ is then the new arrangement.
  const bool inSight = std::exchange(runInSight_, true);
  arrange();
  setRunInSight(inSight);
}

void Docks::arrange() {
  const QByteArray kept = settings_.docks(layout_);
  if (!kept.isEmpty() && window_.restoreState(kept)) {
    return;
  }
  window_.restoreState(usual_);
  // The room is the picture's, until something is selected or asked for.
  of(panels_.inspector)->hide();
  for (QDockWidget* dock : below()) {
    dock->hide();
  }
  const bool room = window_.screen()->availableSize().width() >= kNoRoomForDocks;
  of(panels_.log)->setVisible(layout_ == kLive && room);
  if (!room) {
    for (const QWidget* panel :
         std::initializer_list<const QWidget*>{panels_.runs, panels_.setup, panels_.hooks}) {
      of(panel)->hide();
    }
  }
}

void Docks::setRunInSight(bool inSight) {
  if (inSight == runInSight_) {
    return;
  }
  runInSight_ = inSight;
  if (inSight) {
    window_.restoreState(withRun_);
    return;
  }
  withRun_ = window_.saveState();
  of(panels_.inspector)->hide();
  for (QDockWidget* dock : below()) {
    dock->hide();
  }
  // Why a run could not be started stands there, too.
  of(panels_.problems)->setVisible(panels_.problems->count() > 0);
}

}  // namespace lockstep::ui
