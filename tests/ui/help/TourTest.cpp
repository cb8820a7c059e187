#include "ui/help/Tour.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFrame>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <cstdlib>

namespace lockstep::ui {
namespace {

class TourTest : public testing::Test {
 protected:
  TourTest() : button_(new QPushButton("Run", &window_)), tour_(&window_) {
    window_.resize(1024, 640);
    button_->setGeometry(40, 60, 120, 30);
    window_.show();
  }

  std::vector<TourStep> steps() {
    return {{"One", "The button.", [this] { return button_; }},
            {"Two", "It is not there.", [] { return static_cast<QWidget*>(nullptr); }},
            {"Three", "The button again.", [this] { return button_; }, [this] { ++brought_; }}};
  }
  void press(int key) {
    QKeyEvent event(QEvent::KeyPress, key, Qt::NoModifier);
    QApplication::sendEvent(&tour_, &event);
  }
  QRect bubble() { return tour_.findChild<QFrame*>()->geometry(); }

  QWidget window_;
  QPushButton* button_;
  Tour tour_;
  int brought_ = 0;
};

TEST_F(TourTest, PointsAtAWidgetAndSaysBesideItWhatItIs) {
  tour_.start(steps());
  EXPECT_EQ(tour_.step(), 0);
  EXPECT_EQ(tour_.size(), window_.size());
  EXPECT_TRUE(tour_.hole().contains(button_->geometry()));
  EXPECT_FALSE(bubble().intersects(tour_.hole()));
  EXPECT_TRUE(tour_.rect().contains(bubble()));
  EXPECT_EQ(tour_.findChild<QLabel*>("tourTitle")->text(), "One");
  EXPECT_EQ(tour_.findChild<QLabel*>("tourCount")->text(), "1 of 3");
  EXPECT_FALSE(tour_.findChild<QPushButton*>("tourBack")->isEnabled());
}

TEST_F(TourTest, GoesOnAndBackByButtonsAndKeysAndEndsAfterTheLastStep) {
  QSignalSpy ended(&tour_, &Tour::ended);
  tour_.start(steps());
  tour_.findChild<QPushButton*>("tourNext")->click();
  EXPECT_EQ(tour_.step(), 1);
  press(Qt::Key_Right);
  EXPECT_EQ(tour_.step(), 2);
  EXPECT_EQ(brought_, 1) << "a step brings into sight what it is about";
  EXPECT_EQ(tour_.findChild<QPushButton*>("tourNext")->text(), "Done");
  press(Qt::Key_Left);
  EXPECT_EQ(tour_.step(), 1);
  press(Qt::Key_Return);
  press(Qt::Key_Return);
  EXPECT_EQ(tour_.step(), -1);
  EXPECT_FALSE(tour_.isVisible());
  EXPECT_EQ(ended.count(), 1);
}

TEST_F(TourTest, EscapeAndSkipEndItAnywhere) {
  QSignalSpy ended(&tour_, &Tour::ended);
  tour_.start(steps());
  press(Qt::Key_Escape);
  EXPECT_FALSE(tour_.isVisible());
  tour_.start(steps());
  EXPECT_EQ(tour_.step(), 0);
  tour_.findChild<QPushButton*>("tourSkip")->click();
  EXPECT_FALSE(tour_.isVisible());
  EXPECT_EQ(ended.count(), 2);
}

TEST_F(TourTest, AWidgetThatIsNotInSightIsToldOfInTheMiddle) {
  tour_.start(steps());
  tour_.next();
  EXPECT_TRUE(tour_.hole().isEmpty());
  EXPECT_TRUE(tour_.rect().contains(bubble()));
  EXPECT_LE(std::abs(bubble().center().x() - tour_.rect().center().x()), 1);
  button_->hide();
  tour_.next();
  EXPECT_TRUE(tour_.hole().isEmpty()) << "hidden is not there, either";
}

TEST_F(TourTest, FollowsTheWindowAndTheWidget) {
  tour_.start(steps());
  window_.resize(500, 360);
  QApplication::processEvents();
  EXPECT_EQ(tour_.size(), window_.size());
  EXPECT_TRUE(tour_.rect().contains(bubble()));
  button_->move(300, 200);
  const auto follows = [this] { return tour_.hole().contains(button_->geometry()); };
  QElapsedTimer waited;
  waited.start();
  while (!follows() && waited.elapsed() < 5000) {
    QApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
  }
  EXPECT_TRUE(follows());
}

TEST_F(TourTest, StandsOverAWidgetThatFillsTheWindow) {
  button_->setGeometry(window_.rect());
  tour_.start(steps());
  EXPECT_TRUE(tour_.rect().contains(bubble()));
}

TEST_F(TourTest, WithoutStepsDoesNothing) {
  tour_.start({});
  EXPECT_FALSE(tour_.isVisible());
  tour_.end();
}

}  // namespace
}  // namespace lockstep::ui
