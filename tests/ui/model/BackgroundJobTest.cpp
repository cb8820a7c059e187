#include "ui/model/BackgroundJob.h"

#include <gtest/gtest.h>

#include <QThread>
#include <QThreadPool>
#include <memory>
#include <vector>

namespace lockstep::ui {
namespace {

class BackgroundJobTest : public testing::Test {
 protected:
  // Lets what was started end, and its answer come.
  static void settle() {
    backgroundPool().waitForDone();
    QCoreApplication::processEvents();
  }

  std::unique_ptr<QObject> owner_ = std::make_unique<QObject>();
  std::vector<int> taken_;
};

TEST_F(BackgroundJobTest, WorksOnAnotherThreadAndAnswersOnTheOwners) {
  QThread* worked = nullptr;
  QThread* took = nullptr;
  inBackground(
      owner_.get(), [] { return QThread::currentThread(); },
      [&](QThread* on) {
        worked = on;
        took = QThread::currentThread();
      });
  settle();
  EXPECT_NE(worked, nullptr);
  EXPECT_NE(worked, QThread::currentThread());
  EXPECT_EQ(took, QThread::currentThread());
}

TEST_F(BackgroundJobTest, NobodyIsToldWhenTheOwnerIsGone) {
  inBackground(
      owner_.get(), [] { return 1; }, [&](int value) { taken_.push_back(value); });
  owner_.reset();
  settle();
  EXPECT_TRUE(taken_.empty());
}

TEST_F(BackgroundJobTest, OnlyTheLatestStartCounts) {
  BackgroundJob job(owner_.get());
  for (int value = 1; value <= 3; ++value) {
    job.start([value] { return value; }, [&](int made) { taken_.push_back(made); });
  }
  EXPECT_TRUE(job.busy());
  settle();
  EXPECT_EQ(taken_, std::vector<int>{3});
  EXPECT_FALSE(job.busy());
}

TEST_F(BackgroundJobTest, WhatIsDroppedIsToldToNobody) {
  BackgroundJob job(owner_.get());
  job.start([] { return 1; }, [&](int made) { taken_.push_back(made); });
  job.drop();
  EXPECT_FALSE(job.busy());
  settle();
  EXPECT_TRUE(taken_.empty());
}

TEST_F(BackgroundJobTest, AnAnswerMayStartTheNext) {
  BackgroundJob job(owner_.get());
  job.start([] { return 1; },
            [&](int first) {
              taken_.push_back(first);
              job.start([] { return 2; }, [&](int second) { taken_.push_back(second); });
            });
  settle();
  EXPECT_TRUE(job.busy());
  settle();
  EXPECT_EQ(taken_, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace lockstep::ui
