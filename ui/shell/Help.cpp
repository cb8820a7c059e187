#include "ui/shell/Help.h"

#include <QAction>
#include <QApplication>
#include <QMainWindow>
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "ui/help/GlossaryTopics.h"
#include "ui/help/HelpDialog.h"
#include "ui/help/TermUnder.h"
#include "ui/help/Tour.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/shell/Commands.h"
#include "ui/shell/Frame.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/Settings.h"
#include "ui/shell/TourSteps.h"
#include "ui/shell/ViewTopics.h"

namespace lockstep::ui {

Help::Help(Frame& frame, const Commands& commands, const KeyBindings& keys, Settings& settings,
           std::function<bool()> runIsOpen, QObject* parent)
    : QObject(parent),
      frame_(frame),
      commands_(commands),
      keys_(keys),
      settings_(settings),
      runIsOpen_(std::move(runIsOpen)) {
  connect(commands.help, &QAction::triggered, this, &Help::openHere);
  connect(commands.glossary, &QAction::triggered, this, &Help::openGlossary);
  connect(commands.keys, &QAction::triggered, this, [this] { open(KeySheet::chapter(), {}); });
  connect(commands.tour, &QAction::triggered, this, &Help::startTour);
  // The list of findings is a window of its own, which the keys of the main window do not reach.
  frame.findings->list()->addActions({commands.help, commands.glossary});
  connect(frame.start, &StartPage::tourRequested, this, &Help::startTour);
  connect(frame.start, &StartPage::tourDeclined, this, &Help::forgetOffer);
  frame.start->offerTour(!settings.tourOffered());
}

// At what is under the pointer, else at the view in sight.
void Help::openHere() {
  if (const QString term = termUnderPointer(); !term.isEmpty()) {
    open(glossaryChapter(), term);
  } else if (frame_.pages->page() == Pages::Page::kViews) {
    open(viewsChapter(), frame_.stages->titleOf(frame_.stages->current()));
  } else {
    open({}, {});
  }
}

void Help::openGlossary() {
  open(glossaryChapter(), termUnderPointer());
}

void Help::open(const QString& chapter, const QString& title) {
  if (dialog_ == nullptr) {
    dialog_ = new HelpDialog(&frame_.window);
  }
  // Made anew each time: keys may have changed.
  std::vector<HelpTopic> topics = viewTopics(*frame_.stages);
  for (std::vector<HelpTopic> more : {KeySheet::topics(keys_.groups()), glossaryTopics()}) {
    std::move(more.begin(), more.end(), std::back_inserter(topics));
  }
  dialog_->setTopics(std::move(topics));
  // The list of findings would keep keys and pointer from it.
  if (QWidget* popup = QApplication::activePopupWidget(); popup != nullptr) {
    popup->close();
  }
  dialog_->openAt(chapter, title);
}

void Help::startTour() {
  forgetOffer();
  if (tour_ == nullptr) {
    tour_ = new Tour(&frame_.window);
  }
  if (tour_->step() < 0) {
    tour_->start(tourSteps(frame_, commands_, runIsOpen_(), [this] { emit demoRequested(); }));
  }
}

void Help::forgetOffer() {
  settings_.setTourOffered();
  frame_.start->offerTour(false);
}

}  // namespace lockstep::ui
