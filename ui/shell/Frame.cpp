#include "ui/shell/Frame.h"

#include <QMainWindow>
#include <QStatusBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/VerdictCard.h"
#include "ui/shell/DockButtons.h"
#include "ui/shell/InspectorOpening.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {
namespace {

/// Puts what the middle is made of one below the other.
Pages* placed(QMainWindow& window, MessageBar* messages, StepStrip* strip, Pages* pages) {
  auto* centre = new QWidget;
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(messages);
  column->addWidget(strip);
  column->addWidget(pages, 1);
  window.setCentralWidget(centre);
  return pages;
}

}  // namespace

Frame::Frame(QMainWindow& window, Settings& settings, const Programs& programs, const QString& runs)
    : window(window),
      messages(new MessageBar),
      strip(new StepStrip),
      stages(new Stages),
      findings(new Findings(&window)),
      views(*stages),
      start(new StartPage),
      pages(placed(window, messages, strip, new Pages(start, stages))),
      status(new StatusReadout(views.timeline)),
      panels{
          .runs = new RunsPanel(runs),
          .setup = new SetupPanel({.rank = programs.rank,
                                   .hookscan = QString(),
                                   .drafts = runs + QStringLiteral("/drafts"),
                                   .shipped = shippedExperiments()}),
          .hooks = new HookManagerPanel({.lockstep = programs.lockstep, .folder = {}, .scan = {}}),
          .inspector = new InspectorPanel,
          .log = new LogPanel,
          .problems = new ProblemsPanel,
          .statistics = new StatisticsPanel,
          .events = new EventsPanel},
      docks(window, panels, settings),
      inspectorOpening(new InspectorOpening(Docks::of(panels.inspector), settings)) {
  stages->setCorner(findings->line(), findings->foldButton());
  stages->setFront(findings->card());
  findings->setFolded(settings.verdictIsFolded());
  QObject::connect(findings, &Findings::foldedChanged, &window,
                   [&settings](bool folded) { settings.setVerdictIsFolded(folded); });
  window.statusBar()->addPermanentWidget(new DockButtons(docks.below()));
  window.statusBar()->addPermanentWidget(status);
  window.statusBar()->setSizeGripEnabled(false);
  QObject::connect(pages, &Pages::runInSight, &window,
                   [this](bool inSight) { docks.setRunInSight(inSight); });
}

void Frame::say(const QString& words, int forMs) const {
  window.statusBar()->showMessage(words, forMs);
}

}  // namespace lockstep::ui
