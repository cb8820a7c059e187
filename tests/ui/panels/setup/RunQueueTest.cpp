#include "ui/panels/setup/RunQueue.h"

#include <gtest/gtest.h>

#include <QAbstractItemView>
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
