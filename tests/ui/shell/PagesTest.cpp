#include "ui/shell/Pages.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <algorithm>

#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"

namespace lockstep::ui {
namespace {

class PlainView : public RunView {
 protected:
  void runChanged() override {}
  void paintCanvas(DisplayList& /*list*/, QSizeF /*size*/) override {}
};

bool labelReads(const QWidget& page, const QString& text) {
  const auto labels = page.findChildren<QLabel*>();
  return std::ranges::any_of(labels, [&](const QLabel* label) { return label->text() == text; });
}

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

TEST(StartPageTest, AnExperimentWithAMistakeIsOfferedFirstWithTheMistakeAndNotToBeRun) {
  StartPage page;
  const auto* run = page.findChild<QPushButton*>("runFirst");
  ExperimentEntry experiment{"/tmp/own.toml", "", "own", "Two ranks learn digits."};
  page.setFirst(experiment);
  EXPECT_TRUE(run->isEnabled());
  EXPECT_TRUE(labelReads(page, "Two ranks learn digits."));
  experiment.mistake = "/tmp/own.toml:13:14: data.batch_size: must be an integer from 1, not -1";
  page.setFirst(experiment);
  EXPECT_FALSE(run->isEnabled());
  EXPECT_TRUE(labelReads(page, experiment.mistake));
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
