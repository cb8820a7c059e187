#include <QApplication>
#include <QDockWidget>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <algorithm>

#include "tests/ui/panels/hooks/MadeUpHooks.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/panels/setup/SetupPanel.h"

namespace lockstep {
namespace {

using namespace tests;
using ui::HookRow;
using State = HookRow::State;

// The row of a hook in a table of found hooks; -1 as long as it is not there.
int rowOf(const QTableView* table, const QString& hook) {
  for (int row = 0; row < table->model()->rowCount(); ++row) {
    if (table->model()->index(row, ui::FoundColumn::kName).data().toString() == hook) {
      return row;
    }
  }
  return -1;
}

// The manager with made-up libraries, by pointer alone.
class HookManagerXTest : public testing::Test {
 protected:
  void open() {
    panel_ = std::make_unique<ui::HookManagerPanel>(hooks_.options());
    panel_->resize(900, 600);
    panel_->QWidget::show();
    panel_->activateWindow();
    ASSERT_TRUE(waitUntil([this] { return panel_->isActiveWindow() && !panel_->isBusy(); }));
  }
  State stateOf(const char* hook) {
    const auto index = panel_->hooks().find(QString::fromLatin1(hook));
    return index ? panel_->hooks().row(*index).state : State::kRefused;
  }
  void choose(const char* hook) {
    QTableView* table = panel_->view();
    table->scrollTo(table->model()->index(rowOf(table, hook), 0));
    const QPoint at = middleOf(table->viewport(), [=] {
      return table->visualRect(table->model()->index(rowOf(table, hook), 0));
    });
    input_.click(at.x(), at.y());
    ASSERT_TRUE(waitUntil([=] { return table->currentIndex().row() == rowOf(table, hook); }));
  }
  void press(const char* name) {
    auto* button = panel_->findChild<QPushButton*>(QLatin1String(name));
    ASSERT_TRUE(waitUntil([=] { return button->isEnabled(); })) << name;
    const QPoint at = middleOf(button);
    input_.click(at.x(), at.y());
  }

  ui::test::MadeUpHooks hooks_;
  XTestClient input_;
  std::unique_ptr<ui::HookManagerPanel> panel_;
};

TEST_F(HookManagerXTest, ReloadFindsVerifyMeasuresAndDisableTakesAway) {
  hooks_.add("mine");
  hooks_.setVerdict(ui::test::verdictJson("mine", true));
  open();
  hooks_.add("late");
  hooks_.addRefused("user/broken.so", "no function lockstep_hooks");
  press("hookReload");
  ASSERT_TRUE(waitUntil([this] {
    return rowOf(panel_->view(), "broken") >= 0 && rowOf(panel_->view(), "late") >= 0;
  }));
  const auto error = [&] {
    const int row = rowOf(panel_->view(), "broken");
    return panel_->view()->model()->index(row, ui::FoundColumn::kError).data().toString();
  };
  EXPECT_TRUE(error().contains("no function lockstep_hooks")) << error().toStdString();
  choose("mine");
  press("hookVerify");
  ASSERT_TRUE(waitUntil([this] { return stateOf("mine") == State::kVerified; }));
  EXPECT_EQ(panel_->findChild<QTableView*>("hookVerdict")->model()->rowCount(), 1);
  press("hookDisable");
  ASSERT_TRUE(waitUntil([this] { return stateOf("mine") == State::kDisabled; }));
  EXPECT_FALSE(panel_->hooks().offered().contains("mine"));
  keep(input_.screenshot(), "hook-manager");
  press("hookDisable");  // says Enable now
  EXPECT_TRUE(waitUntil([this] { return panel_->hooks().offered().contains("mine"); }));
}

// The manager in the window, with the plugins that are built beside it.
class HooksDockXTest : public ViewsFixture {};

TEST_P(HooksDockXTest, AHookThatIsUsedStandsInTheSetupForm) {
  openDemo();
  showStage("timeline");
  QTabBar* tabs = nullptr;
  int tab = -1;
  ASSERT_TRUE(waitUntil([&] {
    for (auto* bar : window().findChildren<QTabBar*>()) {
      for (int i = 0; bar->isVisible() && bar->parent() == &window() && i < bar->count(); ++i) {
        if (bar->tabText(i) == "Hooks") {
          tabs = bar;
          tab = i;
        }
      }
    }
    return tabs != nullptr;
  }));
  clickTab(tabs, tab);
  auto* table = find<QTableView>("hooksFound");
  ASSERT_TRUE(waitUntil([&] { return table->isVisible() && rowOf(table, "topk") >= 0; }));
  table->scrollTo(table->model()->index(rowOf(table, "topk"), ui::FoundColumn::kName));
  clickCell(table, rowOf(table, "topk"), ui::FoundColumn::kName);
  auto* use = find<QPushButton>("hookUse");
  ASSERT_TRUE(waitUntil([&] { return use->isEnabled(); }));
  click(use);
  auto* setup = window().findChild<ui::SetupPanel*>();
  ASSERT_TRUE(waitUntil([&] {
    return setup->draft().parsed().experiment.hook.name == "topk" &&
           !setup->visibleRegion().isEmpty();
  }));
}

LOCKSTEP_ON_BOTH_PAINTERS(HooksDockXTest);

}  // namespace
}  // namespace lockstep
