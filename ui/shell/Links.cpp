#include "ui/shell/Links.h"

#include <QDockWidget>
#include <QGuiApplication>
#include <QMainWindow>
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "engine/experiment/Schema.h"
#include "engine/plugin/VerifiedHooks.h"
#include "ui/shell/CurrentRun.h"
#include "ui/shell/FindingPlace.h"
#include "ui/shell/Frame.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

const QString kTimelineView = QStringLiteral("timeline");

/// From a view to another, or to a dock.
void linkViews(Frame& frame) {
  const Views& views = frame.views;
  const auto leadsTo = [pages = frame.pages](const QString& view) {
    return [pages, view] { pages->showView(view); };
  };
  for (const RunView* view : views.all()) {
    QObject::connect(view, &RunView::timelineRequested, frame.pages, leadsTo(kTimelineView));
  }
  QObject::connect(views.live, &LiveView::overlapRequested, frame.pages,
                   leadsTo(QStringLiteral("overlap")));
  QObject::connect(views.live, &LiveView::bucketsRequested, frame.pages,
                   leadsTo(QStringLiteral("buckets")));
  QObject::connect(views.buckets, &BucketsView::whatIfRequested, frame.pages,
                   leadsTo(QStringLiteral("whatif")));
  // What the command line verified meanwhile comes with the next look at the runs.
  const auto offerVerified = [whatIf = views.whatIf] {
    whatIf->setVerifiedHooks(plugin::verifiedHooks());
  };
  QObject::connect(frame.panels.hooks, &HookManagerPanel::verified, views.whatIf, offerVerified);
  QObject::connect(frame.panels.runs, &RunsPanel::refreshed, views.whatIf, offerVerified);
  QObject::connect(views.hooks, &HooksView::loadHookRequested, frame.panels.hooks, [&frame] {
    frame.docks.bring(frame.panels.hooks);
    frame.panels.hooks->chooseLibrary();
  });
}

/// Between the events, the inspector, the statistics and the timeline.
void linkSpans(Frame& frame) {
  const Panels& panels = frame.panels;
  TimelineView* timeline = frame.views.timeline;
  const auto list = [&frame](const QString& query) {
    frame.docks.bring(frame.panels.events);
    frame.panels.events->setFilter(query);
  };
  QObject::connect(panels.events, &EventsPanel::timelineRequested, frame.pages,
                   [pages = frame.pages] { pages->showView(kTimelineView); });
  QObject::connect(panels.events, &EventsPanel::chosen, timeline, &TimelineView::reveal);
  QObject::connect(panels.inspector, &InspectorPanel::chosen, timeline, &TimelineView::reveal);
  QObject::connect(timeline, &TimelineView::findAllRequested, panels.events, list);
  QObject::connect(panels.inspector, &InspectorPanel::findAllRequested, panels.events, list);
  QObject::connect(panels.statistics, &StatisticsPanel::eventsRequested, panels.events, list);
  QObject::connect(panels.statistics, &StatisticsPanel::findRequested, timeline,
                   [pages = frame.pages, timeline](const QString& query) {
                     pages->showView(kTimelineView);
                     timeline->find(query);
                   });
}

/// From problems to iterations, and from figures to problems.
void linkProblems(Frame& frame, CurrentRun& run) {
  ProblemsPanel* problems = frame.panels.problems;
  QObject::connect(problems, &ProblemsPanel::showRequested, &run,
                   [&frame, &run](int rank, quint32 step) {
                     frame.pages->showView(kTimelineView);
                     run.showStep(step, rank);
                   });
  QObject::connect(problems, &ProblemsPanel::changed, problems, [problems] {
    const std::size_t count = problems->count();
    Docks::of(problems)->setWindowTitle(count == 0 ? ProblemsPanel::tr("Problems")
                                                   : ProblemsPanel::tr("Problems (%1)").arg(count));
  });
  QObject::connect(frame.status, &StatusReadout::dropsClicked, problems,
                   [&frame, problems] { frame.docks.bring(problems); });
}

/// Shows a place: the view, the iteration, and in it the span.
void showPlace(Frame& frame, CurrentRun& run, const QString& view, const diagnosis::Place& place) {
  RunSession& session = *run.session();
  frame.pages->showView(view);
  if (place.step) {
    run.showStep(*place.step, place.rank.value_or(-1));
  }
  if (const auto span = spanAt(*session.model(), place)) {
    session.state()->select(*span);
    // A timeline that was never in sight has no layout yet, and shows the iteration as it is.
    if (view == kTimelineView) {
      frame.views.timeline->reveal(*span);
    }
  }
}

/// From a finding, or a part of the verdict, to where it is seen.
void linkFindings(Frame& frame, CurrentRun& run) {
  QObject::connect(frame.findings, &Findings::showRequested, &run,
                   [&frame, &run](const diagnosis::Finding& finding) {
                     if (run.session() == nullptr) {
                       return;
                     }
                     showPlace(frame, run, viewOf(finding), finding.place);
                     if (const auto slowest = run.session()->slowestStep();
                         !finding.place.step && slowest) {
                       run.showStep(*slowest, finding.place.rank.value_or(-1));
                     }
                     if (finding.rule == "calls_differ") {
                       frame.views.divergence->showTab(DivergenceView::kCalls);
                     }
                   });
  QObject::connect(frame.findings, &Findings::remarkRequested, &run,
                   [&frame, &run](const diagnosis::Remark& remark) {
                     if (run.session() != nullptr) {
                       showPlace(frame, run, viewOf(remark), remark.place);
                     }
                   });
  QObject::connect(frame.findings, &Findings::problemsRequested, &run,
                   [&frame] { frame.docks.bring(frame.panels.problems); });
}

/// The runs that boxes offer beside the open one: a box of thousands helps nobody.
QStringList latestOf(const std::vector<RunEntry>& entries, const QString& open) {
  constexpr std::size_t kOffered = 100;
  std::vector<const RunEntry*> latest;
  for (const RunEntry& entry : entries) {
    if (entry.path != open) {
      latest.push_back(&entry);
    }
  }
  if (latest.size() > kOffered) {
    std::ranges::nth_element(latest, latest.begin() + kOffered, std::greater(), &RunEntry::started);
    latest.resize(kOffered);
    std::ranges::sort(latest, {}, &RunEntry::path);
  }
  QStringList paths;
  for (const RunEntry* entry : latest) {
    paths << entry->path;
  }
  return paths;
}

/// Between the list of runs and the comparison.
void linkRuns(Frame& frame, CurrentRun& run) {
  RunsPanel* runs = frame.panels.runs;
  const Views& views = frame.views;
  QObject::connect(runs, &RunsPanel::compareRequested, &run, &CurrentRun::openAll);
  QObject::connect(views.compare, &CompareView::comparedChanged, runs, &RunsPanel::setCompared);
  QObject::connect(runs, &RunsPanel::sightWanted, runs,
                   [&frame, runs] { frame.docks.bring(runs); });
  QObject::connect(runs, &RunsPanel::refreshed, &run, [runs, &views, &run] {
    const QString open = run.session() == nullptr ? QString() : run.session()->path();
    const QStringList others = latestOf(runs->runs().entries(), open);
    views.compare->setOtherRuns(others);
    views.hooks->setOtherRuns(others);
    views.whatIf->setOtherRuns(others);
  });
  QObject::connect(runs, &RunsPanel::refreshed, frame.start,
                   [runs, start = frame.start] { start->setRecentRuns(runs->runs().entries()); });
}

/// What was forecast of the open run stands where it is compared.
void linkForecasts(Frame& frame, CurrentRun& run) {
  const ForecastHistory& history = frame.views.whatIf->history();
  const auto show = [&history, &run, compare = frame.views.compare] {
    const PastForecast* own =
        run.session() == nullptr ? nullptr : history.of(run.session()->path());
    constexpr double kNsPerMs = 1e6;
    compare->setForecast(own == nullptr || !own->measured
                             ? std::nullopt
                             : std::optional(CompareView::Forecast{
                                   besideWords(*own),
                                   {own->stepNs.value / kNsPerMs, own->stepNs.low / kNsPerMs,
                                    own->stepNs.high / kNsPerMs}}));
  };
  QObject::connect(&history, &ForecastHistory::changed, frame.views.compare, show);
  QObject::connect(&run, &CurrentRun::changed, frame.views.compare, show);
}

/// Between the hooks and the setup form.
void linkSetup(Frame& frame) {
  SetupPanel* setup = frame.panels.setup;
  HookManagerPanel* hooks = frame.panels.hooks;
  // Who comes by the tab looks for a key; who is brought there, as by a problem, has one already.
  QObject::connect(&frame.window, &QMainWindow::tabifiedDockWidgetActivated, setup,
                   [setup](const QDockWidget* dock) {
                     if (dock == Docks::of(setup) && QGuiApplication::mouseButtons()) {
                       setup->find();
                     }
                   });
  QObject::connect(&setup->draft(), &SetupDraft::changed, hooks,
                   [setup, hooks] { hooks->setExperiment(setup->draft().path()); });
  QObject::connect(
      setup, &SetupPanel::titleChanged, setup, [setup](const QString& title, bool dirty) {
        Docks::of(setup)->setWindowTitle(
            (dirty ? SetupPanel::tr("Setup: %1 *") : SetupPanel::tr("Setup: %1")).arg(title));
      });
  QObject::connect(hooks, &HookManagerPanel::offeredChanged, setup, &SetupPanel::offerHooks);
  QObject::connect(
      hooks, &HookManagerPanel::useRequested, setup, [&frame, setup](const QString& hook) {
        setup->draft().setKey(*experiment::findField("hook.name"), '"' + hook.toStdString() + '"');
        frame.docks.bring(setup);
        setup->showKey(QStringLiteral("hook.name"));
      });
}

/// From whoever cannot do something to the list of problems.
void linkFailures(Frame& frame) {
  ProblemsPanel* problems = frame.panels.problems;
  const auto report = [problems](const QString& sentence) { problems->report(false, sentence); };
  QObject::connect(frame.views.hooks, &HooksView::failed, problems, report);
  QObject::connect(frame.views.timeline, &TimelineView::problem, problems, report);
  QObject::connect(frame.views.whatIf, &WhatIfView::failed, problems, report);
  QObject::connect(frame.panels.events, &EventsPanel::failed, problems, report);
  QObject::connect(frame.panels.runs, &RunsPanel::failed, problems, report);
  QObject::connect(frame.panels.setup, &SetupPanel::failed, problems,
                   [report, messages = frame.messages](const QString& sentence) {
                     report(sentence);
                     messages->show(QStringLiteral("setup"), MessageBar::Kind::kError, sentence);
                   });
  QObject::connect(
      frame.panels.setup, &SetupPanel::saved, frame.panels.setup,
      [&frame](const QString& path) { frame.say(SetupPanel::tr("Saved %1").arg(path)); });
}

}  // namespace

// All in one place, since no part knows another: a panel says by a signal what it wants, a view
// likewise, and only the window knows who can give it.
void linkParts(Frame& frame, CurrentRun& run) {
  linkViews(frame);
  linkSpans(frame);
  linkProblems(frame, run);
  linkFindings(frame, run);
  linkRuns(frame, run);
  linkForecasts(frame, run);
  linkSetup(frame);
  linkFailures(frame);
}

}  // namespace lockstep::ui
