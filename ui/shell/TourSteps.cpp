#include "ui/shell/TourSteps.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenuBar>
#include <QTabBar>
#include <memory>
#include <utility>

#include "ui/panels/KeyTips.h"
#include "ui/panels/findings/Findings.h"
#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/VerdictCard.h"
#include "ui/shell/Commands.h"
#include "ui/shell/Frame.h"

namespace lockstep::ui {
namespace {

QString tourText(const char* text) {
  return QCoreApplication::translate("Tour", text);
}

/// A text that names the key of a command, which the user may have changed or taken away.
QString namingKey(const QString& text, const QString& without, const QAction* command) {
  const QString key = keyText(command);
  return key.isEmpty() ? without : text.arg(key);
}

}  // namespace

std::vector<TourStep> tourSteps(const Frame& frame, const Commands& commands, bool runIsOpen,
                                std::function<void()> runDemo) {
  const auto view = [&frame](const char* name) {
    return [&frame, name] { frame.pages->showView(QLatin1String(name)); };
  };
  const auto dock = [](QWidget* panel) {
    return [panel]() -> QWidget* { return Docks::of(panel); };
  };
  std::vector<TourStep> steps;
  std::function<void()> first = view("live");
  if (!runIsOpen) {
    steps.push_back(
        {tourText("Begin with the demo"),
         tourText("Two processes train a small network on this machine, in about 20 s. Next "
                  "starts them, and the tour goes on over their run."),
         [&frame] { return frame.start->findChild<QWidget*>("runFirst"); },
         [&frame] { frame.pages->turnTo(Pages::Page::kStart); }});
    // Back and Next again do not start it again.
    first = [show = first, run = std::move(runDemo), started = std::make_shared<bool>(false)] {
      if (!std::exchange(*started, true)) {
        run();
      }
      show();
    };
  }
  steps.push_back(
      {tourText("Each tab answers a question"),
       tourText("Live: how does it do? Timeline: what did each rank do when? Buckets: what is "
                "sent together? Overlap: what does communication cost, and why? The others: are "
                "the replicas equal, what does a hook take, which run is faster, which rank is "
                "unlike the rest, and what if."),
       [&frame] { return frame.stages->findChild<QTabBar*>("stageTabs"); }, first});
  steps.push_back(
      {tourText("Timeline: who did what when"),
       tourText("World shows each collective once, with the arrival of every rank; below, each "
                "rank has lanes for its steps, its gradients and buckets, and its "
                "communication. The wheel zooms at the pointer; a click on a bar says what it "
                "is."),
       [&frame]() -> QWidget* { return frame.views.timeline; }, view("timeline")});
  steps.push_back(
      {tourText("What the run suffers from"),
       tourText("The worst finding, in words. A click lists all of them, with what each costs a "
                "step, what to do about it, and where to see it."),
       [&frame]() -> QWidget* {
         if (frame.findings->isFolded()) {
           return frame.findings->line();
         }
         return frame.findings->card();
       },
       view("timeline")});
  steps.push_back(
      {tourText("Overlap: what is hidden, what is not"),
       tourText("Which bucket costs which rank most, and whom it waits for. Behind the second tab "
                "a bar a step: computing, communication that hides behind it, and what is "
                "exposed, with why."),
       [&frame]() -> QWidget* { return frame.views.overlap; }, view("overlap")});
  steps.push_back(
      {tourText("Change something"),
       tourText("The experiment as a form: another bucket cap, a hook, a slow rank. Run starts "
                "it beside the run that is open."),
       dock(frame.panels.setup), [&frame] { frame.docks.bring(frame.panels.setup); }});
  steps.push_back(
      {tourText("All runs, and what differs"),
       tourText("Choose two and compare them: which figures differ, whether that is more than "
                "chance, and why."),
       dock(frame.panels.runs), [&frame] { frame.docks.bring(frame.panels.runs); }});
  steps.push_back(
      {tourText("A word that you do not know"),
       namingKey(
           tourText(
               "Point at it, at a figure, a column or a bar, and press %1: the glossary says what "
               "it "
               "means, by which formula and in which unit. Help searches keys, views and terms."),
           tourText(
               "Help > Glossary says what each means, by which formula and in which unit; Help "
               "searches keys, views and terms."),
           commands.help),
       [&frame]() -> QWidget* { return frame.window.menuBar(); }});
  return steps;
}

}  // namespace lockstep::ui
