#include "ui/shell/Pages.h"

#include "ui/panels/EmptyState.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"

namespace lockstep::ui {

Pages::Pages(StartPage* start, Stages* stages, QWidget* parent)
    : QStackedWidget(parent),
      start_(start),
      stages_(stages),
      comingUp_(new EmptyState(QString(), QString())) {  // the step strip above has the button
  comingUp_->setObjectName("comingUp");
  addWidget(start_);
  addWidget(stages_);
  addWidget(comingUp_);
  setCurrentIndex(static_cast<int>(page_));
}

void Pages::turnTo(Page page) {
  if (page == page_) {
    return;
  }
  if (page == Page::kStart || page_ == Page::kStart) {
    emit runInSight(page != Page::kStart);
  }
  page_ = page;
  setCurrentIndex(static_cast<int>(page));
  if (page == Page::kStart) {
    start_->focusFirst();
  } else if (page == Page::kViews) {
    stages_->currentView()->setFocus(Qt::OtherFocusReason);
  }
}

void Pages::showView(const QString& name) {
  stages_->setCurrent(name);
  turnTo(comesUp_ ? Page::kComingUp : Page::kViews);
}

void Pages::beginComingUp(const QString& sentence) {
  comesUp_ = true;
  comingUp_->setSentence(sentence);
  turnTo(Page::kComingUp);
}

}  // namespace lockstep::ui
