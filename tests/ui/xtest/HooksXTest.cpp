#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include "engine/trace/Event.h"
#include "tests/ui/views/hooks/HookRunFile.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/views/hooks/HooksTable.h"
#include "ui/views/hooks/HooksView.h"

namespace lockstep {
namespace {

using namespace tests;
using analysis::HookPhase;
using trace::EventKind;
using ui::HookPick;

// The hooks view in the window, by pointer and keyboard.
class HooksXTest : public ViewsFixture {
 protected:
  ui::HooksView& hooks() { return view<ui::HooksView>(); }
  QString write(const char* name, const ui::test::HookRunOptions& options = {}) {
    const auto path = runPath(name);
    const base::Status written = ui::test::writeHookRun(path, options);
    EXPECT_TRUE(written.ok());
    return QString::fromStdString(path.string());
  }
  void openHookRun(const ui::test::HookRunOptions& options = {}) {
    openPath(write("topk.lockstep", options));
    showStage("hooks");
    ASSERT_TRUE(waitUntil([this] { return hooks().content() != nullptr; }));
  }
  Place bar(const HookPick& pick, std::size_t side = 0) {
    return [this, pick, side] { return hooks().positionOf(pick, side); };
  }
  QString phaseInTable() {
    const QModelIndex row = hooks().table()->currentIndex();
    return row.siblingAtColumn(ui::HooksTable::kPhase).data().toString();
  }
};

TEST_P(HooksXTest, AClickPicksAPhaseItsRowAndItsLongestEverywhere) {
  openHookRun();
  const Screenshot before = input_.screenshot();
  clickAt(hooks().canvas(), bar({0, HookPhase::kEncode}));
  ASSERT_TRUE(waitUntil([&] { return hooks().picked() == (HookPick{0, HookPhase::kEncode}); }));
  EXPECT_EQ(phaseInTable(), "encode");
  ASSERT_TRUE(waitUntil([&] { return selection().has_value(); }));
  EXPECT_EQ(selection()->kind, EventKind::kHookEncode);
  EXPECT_EQ(selection()->rank(), 1) << "5 ms there, 3 on rank 0";
  auto* title = find<QLabel>("inspectorTitle");
  EXPECT_TRUE(waitUntil([&] { return title->isVisible() && !title->text().isEmpty(); }));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 1000; }))
      << "the histogram of the phase";
  keep(input_.screenshot(), QString("hooks-") + GetParam());
}

TEST_P(HooksXTest, ArrowsWalkOverThePhasesAndARowOfTheTablePicksItsBar) {
  openHookRun();
  clickAt(hooks().canvas(), bar({0, HookPhase::kEncode}));
  ASSERT_TRUE(waitUntil([&] { return hooks().picked() == (HookPick{0, HookPhase::kEncode}); }));
  press(kKeyRight);
  ASSERT_TRUE(waitUntil([&] { return hooks().picked()->phase != HookPhase::kEncode; }));
  press(kKeyLeft);
  ASSERT_TRUE(waitUntil([&] { return hooks().picked()->phase == HookPhase::kEncode; }));
  QTableView* table = hooks().table();
  for (int row = 0; row < table->model()->rowCount(); ++row) {
    const QString phase = table->model()->index(row, ui::HooksTable::kPhase).data().toString();
    if (phase == "decode") {
      table->scrollTo(table->model()->index(row, ui::HooksTable::kPhase));
      clickCell(table, row, ui::HooksTable::kPhase);
    }
  }
  ASSERT_TRUE(waitUntil([&] { return hooks().picked() == (HookPick{0, HookPhase::kDecode}); }));
  EXPECT_EQ(selection()->kind, EventKind::kHookDecode);
}

TEST_P(HooksXTest, AnotherRunIsLaidOverTheOpenOneByTheBox) {
  write("dense.lockstep", {.hook = "allreduce", .transferMs = 8});
  openHookRun();
  auto* others = find<QComboBox>("hooksOther");
  ASSERT_TRUE(waitUntil([&] { return others->findText("dense") > 0; })) << "the runs list was read";
  chooseIn("hooksOther", "dense");
  ASSERT_TRUE(waitUntil([&] { return hooks().content()->compares(); }));
  EXPECT_FALSE(hooks().table()->isColumnHidden(ui::HooksTable::kRun));
  EXPECT_TRUE(hooks().positionOf({0, HookPhase::kTransfer}, 1).has_value());
  keep(input_.screenshot(), QString("hooks-two-") + GetParam());
  clickAt(hooks().canvas(), bar({0, HookPhase::kTransfer}, 1));
  ASSERT_TRUE(waitUntil([&] { return hooks().picked() == (HookPick{0, HookPhase::kTransfer}); }));
  chooseIn("hooksOther", others->itemText(0));
  EXPECT_TRUE(waitUntil([&] { return !hooks().content()->compares(); }));
}

TEST_P(HooksXTest, OneRankIsMeasuredAlone) {
  openHookRun();
  chooseIn("hooksRank", find<QComboBox>("hooksRank")->itemText(2));
  ASSERT_TRUE(waitUntil([&] { return hooks().content()->rank == 1; }));
  EXPECT_EQ(hooks().table()->model()->rowCount(), 4) << "rank 1 waits for nobody";
}

TEST_P(HooksXTest, TheDefaultAllreduceLeadsToTheHookManager) {
  openHookRun({.hook = "allreduce"});
  clickAt(hooks().canvas(), bar({0, HookPhase::kTransfer}));
  ASSERT_TRUE(waitUntil([&] { return hooks().picked() == (HookPick{0, HookPhase::kTransfer}); }));
  auto* dock = find<QDockWidget>("hooksDock");
  EXPECT_TRUE(dock->visibleRegion().isEmpty()) << "behind the runs";
  click(find<QWidget>("hooksLoad"));
  ASSERT_TRUE(waitUntil([&] {
    const auto* dialog = window().findChild<QWidget*>("loadHookDialog");
    return dialog != nullptr && dialog->isVisible();
  }));
  EXPECT_FALSE(dock->visibleRegion().isEmpty());
  for (auto* button :
       window().findChild<QWidget*>("loadHookDialog")->findChildren<QPushButton*>()) {
    if (button->text().contains("Cancel")) click(button);
  }
  EXPECT_TRUE(waitUntil([&] {
    const auto* dialog = window().findChild<QWidget*>("loadHookDialog");
    return dialog == nullptr || !dialog->isVisible();
  }));
}

LOCKSTEP_ON_BOTH_PAINTERS(HooksXTest);

}  // namespace
}  // namespace lockstep
