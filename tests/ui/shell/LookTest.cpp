#include <QApplication>
#include <QDockWidget>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QTabBar>
#include <QTreeWidget>
#include <cmath>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/shell/CommandPalette.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/Stages.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// How the window looks and is found one's way in.
class LookTest : public tests::MainWindowFixture {
 protected:
  void type(const char* text) {
    for (const char* letter = text; *letter != '\0'; ++letter) {
      input_.key(static_cast<xcb_keysym_t>(*letter));
    }
  }
  QAction* action(const char* name) { return find<QAction>(name); }
  void openFinished() {
    if (run_.isEmpty()) {
      run_ = finishedRun();
    }
    window().openRun(run_);
    ASSERT_TRUE(waitForState(RunState::kFinished));
  }

  QString run_;
};

TEST(CommandMatch, WantsAllLettersInTheirOrderWhateverTheirCase) {
  EXPECT_GT(ui::matchScore("tml", "View: Timeline"), 0);
  EXPECT_GT(ui::matchScore("TIME", "View: Timeline"), 0);
  EXPECT_EQ(ui::matchScore("lmt", "View: Timeline"), 0);
  EXPECT_GT(ui::matchScore("", "anything"), 0);
}

TEST(CommandMatch, PrefersLettersThatBeginWordsAndStandTogether) {
  EXPECT_GT(ui::matchScore("run", "Runs: Run"), ui::matchScore("run", "Restart until done"));
  EXPECT_GT(ui::matchScore("or", "Open run: demo"), ui::matchScore("or", "for"));
  EXPECT_GT(ui::matchScore("log", "Panels: Log"), ui::matchScore("log", "Run hooks/post_local_sgd"))
      << "the first letters that fit are not always the best";
  EXPECT_GT(ui::matchScore("log", "Log"), ui::matchScore("log", "Logarithm"));
}

TEST_F(LookTest, CommandPaletteRunsWhatIsTypedAndSaysWhatCannotBeDoneNow) {
  openFinished();
  const auto slowest = window().session()->slowestStep();
  ASSERT_TRUE(slowest.has_value());
  input_.key('k', {tests::kKeyControl});
  ui::CommandPalette* palette = nullptr;
  ASSERT_TRUE(waitUntil([&] {
    palette = window().findChild<ui::CommandPalette*>();
    return palette != nullptr && palette->isVisible();
  }));
  auto* list = palette->findChild<QListView*>();
  type("runs stop");
  ASSERT_TRUE(waitUntil([&] {
    return list->model()->index(0, 0).data().toString() == "Runs: Stop";
  })) << list->model()->index(0, 0).data().toString().toStdString();
  EXPECT_FALSE(list->model()->flags(list->model()->index(0, 0)).testFlag(Qt::ItemIsEnabled));
  input_.key('a', {tests::kKeyControl});
  type("slowest");
  ASSERT_TRUE(waitUntil([&] {
    return list->model()->index(0, 0).data().toString().endsWith("the slowest");
  }));
  tests::keep(input_.screenshot(), "palette");
  input_.key(tests::kKeyReturn);
  EXPECT_TRUE(waitUntil([&] {
    return !palette->isVisible() && window().session()->state()->iteration() == slowest;
  }));
}

TEST_F(LookTest, KeyThatTheUserGivesACommandWorksAtOnceAndInTheNextSession) {
  openFinished();
  action("changeKeys")->trigger();
  auto* editor = window().findChild<ui::KeyEditor*>();
  ASSERT_NE(editor, nullptr);
  ASSERT_TRUE(waitUntil([&] { return editor->isActiveWindow(); }));
  auto* tree = editor->findChild<QTreeWidget*>();
  const auto found = tree->findItems("Start page", Qt::MatchExactly | Qt::MatchRecursive);
  ASSERT_EQ(found.size(), 1);
  tree->scrollToItem(found.front());
  tree->setCurrentItem(found.front());
  auto* edit = editor->findChild<QKeySequenceEdit*>();
  auto* said = editor->findChild<QLabel*>("keySaid");
  const auto press = [&](const char* button) {
    for (auto* one : editor->findChildren<QPushButton*>()) {
      if (one->text() == button) click(one);
    }
  };
  const auto pressKey = [&](char key) {
    click(edit);
    ASSERT_TRUE(waitUntil([&] { return edit->isAncestorOf(QApplication::focusWidget()) ||
                                       edit->hasFocus(); }));
    input_.key(static_cast<xcb_keysym_t>(key), {tests::kKeyControl});
    ASSERT_TRUE(waitUntil([&] { return !edit->keySequence().isEmpty(); }));
  };
  pressKey('k');
  press("Assign");
  EXPECT_TRUE(waitUntil([&] { return said->text().contains("belongs to \"Commands\""); }))
      << said->text().toStdString();
  editor->findChild<QKeySequenceEdit*>()->clear();
  pressKey('j');
  press("Assign");
  ASSERT_TRUE(waitUntil([&] { return found.front()->text(1) == "Ctrl+J"; }));
  tests::keep(input_.screenshot(), "keys");
  EXPECT_EQ(action("startPage")->shortcut(), QKeySequence("Ctrl+J"));
  closeWindow();
  EXPECT_EQ(action("startPage")->shortcut(), QKeySequence("Ctrl+J"));
  ui::Settings().forgetKeys("startPage");
}

TEST_F(LookTest, EachLayoutKeepsItsOwnArrangementOfPanels) {
  openFinished();
  auto* inspector = find<QDockWidget>("inspectorDock");
  auto* log = find<QDockWidget>("logDock");
  EXPECT_FALSE(inspector->isVisible() || log->isVisible()) << "nobody asked for them";
  action("layout.live")->trigger();
  EXPECT_TRUE(waitUntil([&] { return log->isVisible() && !inspector->isVisible(); }));
  inspector->show();
  action("layout.compare")->trigger();
  EXPECT_TRUE(waitUntil([&] { return !inspector->isVisible() && !log->isVisible(); }));
  action("layout.live")->trigger();
  EXPECT_TRUE(waitUntil([&] { return inspector->isVisible(); })) << "as it was left";
  action("resetLayout")->trigger();
  EXPECT_TRUE(waitUntil([&] { return !inspector->isVisible() && log->isVisible(); }));
  closeWindow();
  openFinished();
  EXPECT_TRUE(find<QDockWidget>("logDock")->isVisible()) << "the layout was live";
}

TEST_F(LookTest, PanelsFloatCloseAndComeBack) {
  openFinished();
  auto* inspector = find<QDockWidget>("inspectorDock");
  inspector->show();
  inspector->setFloating(true);
  EXPECT_TRUE(waitUntil([&] { return inspector->isWindow() && inspector->isVisible(); }));
  inspector->close();
  EXPECT_TRUE(waitUntil([&] { return !inspector->isVisible(); }));
  inspector->toggleViewAction()->trigger();
  EXPECT_TRUE(waitUntil([&] { return inspector->isVisible(); }));
  inspector->setFloating(false);
  EXPECT_TRUE(waitUntil([&] { return !inspector->isWindow(); }));
  EXPECT_EQ(window().dockWidgetArea(inspector), Qt::RightDockWidgetArea);
}

TEST_F(LookTest, LastRunAndItsVisibleRangeComeBackAtTheNextStart) {
  openFinished();
  const auto step = window().session()->model()->step(0, 12);
  ASSERT_TRUE(step.has_value());
  ASSERT_TRUE(window().session()->showStep(12));
  const ui::TimeRange range = window().session()->state()->range();
  closeWindow();
  window().restoreSession();
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_TRUE(waitUntil([&] {
    const ui::TimeRange now = window().session()->state()->range();
    return std::abs(now.startNs - range.startNs) < 1 && std::abs(now.endNs - range.endNs) < 1;
  }));
  action("restoreSession")->trigger();
  closeWindow();
  window().restoreSession();
  EXPECT_EQ(window().session(), nullptr) << "the user did not want it";
  window().restoreSession(true);
  EXPECT_NE(window().session(), nullptr) << "another scale keeps what is open all the same";
}

TEST_F(LookTest, StagesAreReachedByTheirTabsAndKeys) {
  openFinished();
  auto* stages = find<ui::Stages>("stages");
  auto* tabs = find<QTabBar>("stageTabs");
  ASSERT_EQ(tabs->count(), stages->names().size());
  for (int i = 0; i < tabs->count(); ++i) {
    const QPoint at = tests::middleOf(tabs, [&] { return tabs->tabRect(i); });
    input_.click(at.x(), at.y());
    EXPECT_TRUE(waitUntil([&] { return stages->current() == stages->names()[i]; }));
    EXPECT_TRUE(waitUntil([&] { return stages->currentView()->isVisible(); }));
  }
  for (int i = 0; i < tabs->count(); ++i) {
    input_.key(static_cast<xcb_keysym_t>('1' + i), {tests::kKeyControl});
    EXPECT_TRUE(waitUntil([&] { return stages->current() == stages->names()[i]; }))
        << stages->names()[i].toStdString();
  }
}

}  // namespace
}  // namespace lockstep
