#include <QDockWidget>
#include <QStatusBar>

#include "engine/experiment/Schema.h"
#include "ui/panels/InspectorPanel.h"
#include "ui/panels/RunsPanel.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/panels/statistics/StatisticsPanel.h"
#include "ui/shell/MainWindow.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Stages.h"
#include "ui/views/buckets/BucketsView.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/divergence/DivergenceView.h"
#include "ui/views/hooks/HooksView.h"
#include "ui/views/live/LiveView.h"
#include "ui/views/overlap/OverlapView.h"
#include "ui/views/timeline/TimelineView.h"

// The stages, and what they ask of the window.
namespace lockstep::ui {

void MainWindow::buildViews() {
  live_ = new LiveView;
  buckets_ = new BucketsView;
  overlap_ = new OverlapView;
  divergence_ = new DivergenceView;
  hooksView_ = new HooksView;
  compare_ = new CompareView;
  stages_->add(QStringLiteral("live"), tr("Live"),
               tr("How the run is doing: speed, overlap, the late rank, loss"), live_);
  stages_->add(QStringLiteral("timeline"), tr("Timeline"),
               tr("What every rank did when, and how collectives overlap with the backward"),
               timeline_);
  stages_->add(QStringLiteral("buckets"), tr("Buckets"),
               tr("Which parameters share a bucket, and in which order gradients became ready"),
               buckets_);
  stages_->add(QStringLiteral("overlap"), tr("Overlap"),
               tr("How much communication hides behind computing, and why the rest does not"),
               overlap_);
  stages_->add(QStringLiteral("divergence"), tr("Divergence"),
               tr("Whether the replicas are equal, and where they first differ"), divergence_);
  stages_->add(QStringLiteral("hooks"), tr("Hooks"),
               tr("What the communication hook does with its time and its bytes"), hooksView_);
  stages_->add(QStringLiteral("compare"), tr("Compare"),
               tr("Two or more runs: what differs, by how much, and why"), compare_);
}

void MainWindow::wireViews() {
  const auto toTimeline = [this] { showView(QStringLiteral("timeline")); };
  for (RunView* view : std::initializer_list<RunView*>{live_, timeline_, buckets_, overlap_,
                                                       divergence_, hooksView_, compare_}) {
    connect(view, &RunView::demoRequested, this, &MainWindow::runDemo);
    connect(view, &RunView::openRequested, this, &MainWindow::chooseRunFile);
    connect(view, &RunView::timelineRequested, this, toTimeline);
  }
  connect(live_, &LiveView::overlapRequested, this,
          [this] { showView(QStringLiteral("overlap")); });
  connect(live_, &LiveView::bucketsRequested, this,
          [this] { showView(QStringLiteral("buckets")); });
  connect(hooksView_, &HooksView::loadHookRequested, this, [this] {
    hooksDock_->show();
    hooksDock_->raise();
    hookManager_->chooseLibrary();
  });
  const auto problem = [this](const QString& sentence) { reportProblem(false, sentence); };
  connect(hooksView_, &HooksView::failed, this, problem);
  connect(timeline_, &TimelineView::problem, this, problem);
  connect(timeline_, &TimelineView::exportRangeRequested, this,
          [this](TimeRange range) { exportPictureOf(range); });
  connect(runs_, &RunsPanel::compareRequested, this, [this](const QStringList& paths) {
    if (paths.isEmpty()) {
      return;
    }
    openRun(paths.front());
    compare_->clearOthers();
    for (const QString& path : paths.mid(1)) {
      compare_->addRun(path);
    }
    showView(QStringLiteral("compare"));
  });
  connect(runs_, &RunsPanel::refreshed, this, &MainWindow::refreshOtherRuns);

  connect(setup_, &SetupPanel::runRequested, this, &MainWindow::runExperiment);
  connect(setup_, &SetupPanel::failed, this, [this](const QString& sentence) {
    reportProblem(false, sentence);
    messages_->show(QStringLiteral("setup"), MessageBar::Kind::kError, sentence);
  });
  connect(setup_, &SetupPanel::saved, this, [this](const QString& path) {
    statusBar()->showMessage(tr("Saved %1").arg(path), 8000);
  });
  connect(setup_, &SetupPanel::titleChanged, this, [this](const QString& title, bool dirty) {
    setupDock_->setWindowTitle(dirty ? tr("Setup: %1 *").arg(title) : tr("Setup: %1").arg(title));
  });
  wireQueue();
  connect(&setup_->draft(), &SetupDraft::changed, this,
          [this] { hookManager_->setExperiment(setup_->draft().path()); });
  connect(hookManager_, &HookManagerPanel::offeredChanged, setup_, &SetupPanel::offerHooks);
  connect(hookManager_, &HookManagerPanel::useRequested, this, [this](const QString& hook) {
    setup_->draft().setKey(*experiment::findField("hook.name"), '"' + hook.toStdString() + '"');
    setupDock_->show();
    setupDock_->raise();
    setup_->showKey(QStringLiteral("hook.name"));
  });
}

void MainWindow::wireTables() {
  connect(events_, &EventsPanel::timelineRequested, this,
          [this] { showView(QStringLiteral("timeline")); });
  connect(events_, &EventsPanel::chosen, timeline_, &TimelineView::reveal);
  connect(inspector_, &InspectorPanel::chosen, timeline_, &TimelineView::reveal);
  connect(events_, &EventsPanel::failed, this,
          [this](const QString& sentence) { reportProblem(false, sentence); });
  connect(timeline_, &TimelineView::findAllRequested, this, &MainWindow::listEvents);
  connect(inspector_, &InspectorPanel::findAllRequested, this, &MainWindow::listEvents);
  connect(statistics_, &StatisticsPanel::eventsRequested, this, &MainWindow::listEvents);
  connect(statistics_, &StatisticsPanel::findRequested, this, [this](const QString& query) {
    showView(QStringLiteral("timeline"));
    timeline_->find(query);
  });
}

void MainWindow::listEvents(const QString& query) {
  eventsDock_->show();
  eventsDock_->raise();
  events_->setFilter(query);
}

void MainWindow::refreshOtherRuns() {
  QStringList others;
  for (const RunEntry& entry : runs_->runs().entries()) {
    if (!session_ || entry.path != session_->path()) {
      others.append(entry.path);
    }
  }
  compare_->setOtherRuns(others);
  hooksView_->setOtherRuns(others);
}

}  // namespace lockstep::ui
