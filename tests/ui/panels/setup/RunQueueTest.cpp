#include "ui/panels/setup/RunQueue.h"

#include <gtest/gtest.h>

#include <QAbstractItemView>
#include <QLabel>
#include <QToolButton>

#include "tests/ui/shell/Screen.h"
#include "ui/panels/setup/RunQueueList.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;

class RunQueueTest : public testing::Test {
 protected:
  RunQueueTest() {
    QObject::connect(&queue_, &RunQueue::startRequested,
                     [this](const QString& file) { started_ << file; });
  }
  RunQueue queue_;
  QStringList started_;
};

TEST_F(RunQueueTest, StartsAtOnceWhenNothingRunsAndTheNextWhenARunHasEnded) {
  queue_.add("a.toml");
  queue_.add("b.toml");
  EXPECT_EQ(started_, QStringList{"a.toml"});
  EXPECT_EQ(queue_.files(), QStringList{"b.toml"});
  queue_.runEnded();
  EXPECT_TRUE(waitUntil([&] { return started_.size() == 2; }));
  EXPECT_EQ(started_.last(), "b.toml");
  EXPECT_TRUE(queue_.isRunning());
  queue_.runEnded();
  EXPECT_FALSE(queue_.isRunning());
}

TEST_F(RunQueueTest, WaitsForARunThatTheWindowStarted) {
  queue_.runStarted();
  queue_.add("a.toml");
  EXPECT_TRUE(started_.isEmpty());
  queue_.runEnded();
  EXPECT_TRUE(waitUntil([&] { return started_.size() == 1; }));
}

TEST_F(RunQueueTest, WaitsWithTheReasonWhereAFileCouldNotBeStarted) {
  RunQueueList list(queue_);
  list.show();
  auto* reason = list.findChild<QLabel*>("queueReason");
  auto* goOn = list.findChild<QToolButton*>("queueGoOn");
  EXPECT_FALSE(reason->isVisible());
  queue_.add("a.toml");
  queue_.add("b.toml");
  queue_.putBack("a.toml", "no lockstep program");
  EXPECT_EQ(queue_.files(), (QStringList{"a.toml", "b.toml"}));
  EXPECT_TRUE(reason->isVisible());
  EXPECT_TRUE(reason->text().contains("no lockstep program"));
  queue_.add("c.toml");
  EXPECT_EQ(started_, QStringList{"a.toml"});
  goOn->click();
  EXPECT_EQ(started_, (QStringList{"a.toml", "a.toml"}));
  EXPECT_FALSE(goOn->isVisible());
  queue_.putBack("a.toml", "no lockstep program");
  queue_.clear();
  EXPECT_TRUE(queue_.reasonToWait().isEmpty());
}

TEST_F(RunQueueTest, IsMovedAndTakenOut) {
  queue_.runStarted();
  for (const char* file : {"a", "b", "c"}) {
    queue_.add(file);
  }
  queue_.move(2, -1);
  EXPECT_EQ(queue_.files(), (QStringList{"a", "c", "b"}));
  queue_.move(0, 1);
  EXPECT_EQ(queue_.files(), (QStringList{"c", "a", "b"}));
  queue_.move(0, -1);
  queue_.move(2, 1);
  EXPECT_EQ(queue_.files(), (QStringList{"c", "a", "b"}));
  queue_.removeAt(1);
  queue_.removeAt(7);
  EXPECT_EQ(queue_.files(), (QStringList{"c", "b"}));
  queue_.clear();
  EXPECT_EQ(queue_.rowCount(), 0);
}

TEST_F(RunQueueTest, TheListMovesTheRowThatIsPicked) {
  queue_.runStarted();
  queue_.add("/x/first.toml");
  queue_.add("/x/second.toml");
  RunQueueList list(queue_);
  list.resize(320, 240);
  list.show();
  auto* view = list.findChild<QAbstractItemView*>("runQueue");
  const auto press = [&](const char* name) { list.findChild<QToolButton*>(name)->click(); };
  view->setCurrentIndex(queue_.index(1));
  EXPECT_EQ(queue_.index(1).data().toString(), "second");
  press("queueUp");
  EXPECT_EQ(queue_.files().first(), "/x/second.toml");
  EXPECT_FALSE(list.findChild<QToolButton*>("queueUp")->isEnabled());
  press("queueRemove");
  EXPECT_EQ(queue_.files(), QStringList{"/x/first.toml"});
}

}  // namespace
}  // namespace lockstep::ui
