#include "ui/shell/Pages.h"

#include <gtest/gtest.h>

#include <QLabel>

#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"

namespace lockstep::ui {
namespace {

class PlainView : public RunView {
 protected:
  void runChanged() override {}
  void paintCanvas(DisplayList& /*list*/, QSizeF /*size*/) override {}
};

class PagesTest : public testing::Test {
 protected:
  PagesTest() : pages_(new StartPage, stages_) {
    stages_->add("one", "One", "", new PlainView);
    stages_->add("two", "Two", "", new PlainView);
    QObject::connect(&pages_, &Pages::runInSight, [this](bool inSight) { told_ << inSight; });
  }

  Stages* stages_ = new Stages;
  Pages pages_;
  QList<bool> told_;
};

TEST_F(PagesTest, TellWhenTheStartPageComesAndGoes) {
  pages_.turnTo(Pages::Page::kStart);
  pages_.turnTo(Pages::Page::kStart);
  pages_.showView("two");
  EXPECT_EQ(pages_.page(), Pages::Page::kViews);
  EXPECT_EQ(stages_->current(), "two");
  EXPECT_EQ(told_, (QList<bool>{false, true}));
}

TEST_F(PagesTest, AViewIsShownOnceTheRunHasComeUp) {
  pages_.beginComingUp("It comes up.");
  pages_.turnTo(Pages::Page::kStart);
  pages_.showView("two");
  EXPECT_EQ(pages_.page(), Pages::Page::kComingUp);
  EXPECT_EQ(pages_.findChild<QWidget*>("comingUp")->findChild<QLabel*>()->text(), "It comes up.");
  pages_.endComingUp();
  EXPECT_EQ(pages_.page(), Pages::Page::kComingUp) << "no page is turned by itself";
  pages_.showView("one");
  EXPECT_EQ(pages_.page(), Pages::Page::kViews);
}

}  // namespace
}  // namespace lockstep::ui
