#include "ui/panels/setup/RunAgainDialog.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTabBar>
#include <QToolButton>

#include "engine/experiment/Parse.h"
#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// The next run, begun from one that is there.
class RunAgainTest : public tests::MainWindowFixture {
 protected:
  void openFinished() {
    before_ = finishedRun();
    window().openRun(before_);
    ASSERT_TRUE(waitForState(RunState::kFinished));
  }
  ui::RunAgainDialog* dialog() {
    ui::RunAgainDialog* found = nullptr;
    waitUntil([&] {
      found = window().findChild<ui::RunAgainDialog*>();
      return found != nullptr && found->isActiveWindow();
    });
    return found;
  }
  bool anotherRuns() {
    return waitUntil(
        [&] { return window().session() != nullptr && window().session()->path() != before_; });
  }

  QString before_;
};

TEST_F(RunAgainTest, AnotherCapIsTypedRunAndCompared) {
  openFinished();
  find<QAction>("runAgain")->trigger();
  ASSERT_NE(dialog(), nullptr);
  input_.key('5');
  input_.key('0');
  input_.key(tests::kKeyReturn);
  ASSERT_TRUE(anotherRuns());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  const auto file = experiment::parseFile(folder_ / "runs" / "drafts" / "demo.toml");
  EXPECT_EQ(file.experiment.ddp.bucketCapMb, 50);
  clickMessage("Compare with demo");
  EXPECT_TRUE(waitUntil([&] { return find<ui::Stages>("stages")->current() == "compare"; }));
  const auto* compare = window().findChild<ui::CompareView*>();
  EXPECT_EQ(compare->otherTabs()->count(), 1);
  EXPECT_EQ(QString::fromStdString(compare->runs().model(0)->path().string()), before_)
      << "A is what was there before";
  EXPECT_EQ(compare->runs().model(1), window().session()->model());
  EXPECT_FALSE(find<ui::MessageBar>("messageBar")->shows("end")) << "the timelines have its room";
}

TEST_F(RunAgainTest, WhatWaitsInTheQueueIsComparedWithItsRunToo) {
  openFinished();
  setenv("FAKE_LOCKSTEP_STEPS", "200", 1);
  find<QAction>("repeat")->trigger();
  ASSERT_TRUE(anotherRuns());
  ASSERT_TRUE(waitForState(RunState::kRunning));
  setenv("FAKE_LOCKSTEP_STEPS", "20", 1);
  const QString first = window().session()->path();
  find<QAction>("runAgain")->trigger();
  ASSERT_NE(dialog(), nullptr);
  dialog()->accept();
  EXPECT_EQ(window().findChild<ui::SetupPanel*>()->queue().rowCount(), 1);
  ASSERT_TRUE(waitUntil([&] {
    return window().session() != nullptr && window().session()->path() != before_ &&
           window().session()->path() != first;
  }));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  clickMessage("Compare with demo");
  const auto* compare = window().findChild<ui::CompareView*>();
  EXPECT_EQ(QString::fromStdString(compare->runs().model(0)->path().string()), first);
}

TEST_F(RunAgainTest, ACopyOfItsExperimentIsEditedInSetup) {
  openFinished();
  find<QAction>("editCopy")->trigger();
  auto* setup = window().findChild<ui::SetupPanel*>();
  EXPECT_EQ(setup->draft().title(), "Copy of demo");
  EXPECT_TRUE(waitUntil([&] { return setup->isVisible(); }));
  EXPECT_EQ(find<QComboBox>("experimentBox")->currentText(), "Copy of demo");
}

TEST_F(RunAgainTest, BothStandBesideRepeatAndOnTheStartPage) {
  finishedRun();
  window();
  auto* menu = find<QMenu>("repeatMenu");
  EXPECT_EQ(menu->actions(),
            (QList<QAction*>{find<QAction>("runAgain"), find<QAction>("editCopy")}));
  QToolButton* more = nullptr;
  ASSERT_TRUE(waitUntil([&] {
    more = window().findChild<QToolButton*>("moreOfRun");
    return more != nullptr;
  }));
  ASSERT_EQ(more->menu()->actions().size(), 2);
  EXPECT_TRUE(more->menu()->actions()[1]->isEnabled());
  more->menu()->actions()[0]->trigger();
  ASSERT_NE(dialog(), nullptr);
  dialog()->reject();
}

TEST_F(RunAgainTest, WhatHoldsNoExperimentIsSaidSo) {
  const auto path = folder_ / "runs" / "traces.lockstep";
  trace::RunInfo info;
  info.name = "traces";
  info.kind = trace::RunKind::kImported;
  tests::writeRunThatSays(path, info);
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_FALSE(find<QAction>("editCopy")->isEnabled());
  EXPECT_EQ(find<QAction>("editCopy")->toolTip(),
            "This run has no experiment that could be edited");
}

}  // namespace
}  // namespace lockstep
