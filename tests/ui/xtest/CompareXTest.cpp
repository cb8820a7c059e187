#include <QComboBox>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <cmath>

#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/compare/TwinTimelines.h"

namespace lockstep {
namespace {

using namespace tests;
using trace::EventKind;
using ui::TwinPane;

// Two runs in the window, by pointer and keyboard.
class CompareXTest : public ViewsFixture {
 protected:
  ui::CompareView& compare() { return view<ui::CompareView>(); }
  TwinPane& paneA() { return *compare().timelines()->paneA(); }
  TwinPane& paneB() { return *compare().timelines()->paneB(); }
  void write(const char* name, const ui::test::DemoOptions& options) {
    const base::Status written = ui::test::writeDemoRun(runPath(name), options);
    ASSERT_TRUE(written.ok());
  }
  // Opens A and chooses B among the recent runs.
  void compareTwo() {
    write("b.lockstep", {.seed = 2, .slowFactor = 1.6});
    openDemo();
    showStage("compare");
    ASSERT_TRUE(waitUntil([this] { return compare().recentRuns()->findText("b") > 0; }));
    compare().recentRuns()->setObjectName("recentRuns");
    chooseIn("recentRuns", "b");
    ASSERT_TRUE(compared());
  }
  bool compared() {
    return waitUntil([this] {
      return compare().runs().result() != nullptr && paneA().iteration() && paneB().iteration() &&
             paneA().canvas()->isVisible();
    });
  }
  // A place in the lanes of a pane, at a part of its width.
  Place inPane(TwinPane& pane, double part) {
    return [&pane, part] {
      return std::optional(
          QPointF(pane.axis().left() + part * pane.axis().width(), pane.canvas()->height() * 0.75));
    };
  }
  bool sameRange() {
    const ui::TimeRange a = paneA().relativeRange();
    const ui::TimeRange b = paneB().relativeRange();
    return std::abs(a.startNs - b.startNs) < 1 && std::abs(a.endNs - b.endNs) < 1;
  }
};

TEST_P(CompareXTest, TwoRunsPickedInTheRunsListAreSetAgainstEachOther) {
  write("a.lockstep", {});
  write("b.lockstep", {.seed = 2, .slowFactor = 1.6});
  window();
  auto* table = find<QTableView>("runsTable");
  ASSERT_TRUE(waitUntil([&] { return table->model()->rowCount() == 2 && table->isVisible(); }));
  clickCell(table, 0, ui::RunsTable::kName);
  ASSERT_TRUE(waitUntil([&] { return table->selectionModel()->selectedRows().size() == 1; }));
  clickCell(table, 1, ui::RunsTable::kName, {kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return table->selectionModel()->selectedRows().size() == 2; }));
  clickAt(
      table->viewport(),
      [&] {
        return std::optional(
            QPointF(table->visualRect(table->model()->index(1, ui::RunsTable::kName)).center()));
      },
      kRightButton);
  chooseFromMenu("Compare");
  ASSERT_TRUE(waitUntil([this] { return stage() == "compare"; }));
  ASSERT_TRUE(compared());
  EXPECT_GT(compare().metricsTable()->model()->rowCount(), 8);
  EXPECT_GT(compare().whyTable()->model()->rowCount(), 2);
  keep(input_.screenshot(), QString("compare-") + GetParam());
}

TEST_P(CompareXTest, ZoomingAndMovingOneTimelineDoesSoWithTheOther) {
  compareTwo();
  ASSERT_TRUE(waitUntil([this] { return sameRange(); }));
  const double length = paneA().relativeRange().lengthNs();
  wheelAt(paneA().canvas(), inPane(paneA(), 0.4), 1,
          [&] { return paneA().relativeRange().lengthNs() < length * 0.6; });
  EXPECT_TRUE(waitUntil([this] { return sameRange(); }));
  const double startNs = paneB().relativeRange().startNs;
  dragAt(paneB().canvas(), inPane(paneB(), 0.5), {-80, 0}, kMiddleButton);
  ASSERT_TRUE(waitUntil([&] { return paneB().relativeRange().startNs > startNs; }));
  EXPECT_TRUE(waitUntil([this] { return sameRange(); }));
  clickAt(paneA().canvas(), inPane(paneA(), 0.02));  // takes the keys
  ASSERT_TRUE(waitUntil([this] { return paneA().hasFocus() || paneA().canvas()->hasFocus(); }));
  const double zoomed = paneA().relativeRange().lengthNs();
  press('s');
  ASSERT_TRUE(waitUntil([&] { return paneA().relativeRange().lengthNs() > zoomed * 1.2; }));
  EXPECT_TRUE(waitUntil([this] { return sameRange(); }));
}

TEST_P(CompareXTest, AReasonLeadsToItsBucketInBothTimelines) {
  compareTwo();
  QAbstractItemModel* why = compare().whyTable()->model();
  int row = 0;
  while (
      row < why->rowCount() &&
      !why->index(row, ui::WhyRows::kSentence).data().toString().contains("transfer of bucket 1")) {
    ++row;
  }
  ASSERT_LT(row, why->rowCount());
  compare().whyTable()->scrollTo(why->index(row, 0));
  clickCell(compare().whyTable(), row, 0);
  for (TwinPane* pane : {&paneA(), &paneB()}) {
    ASSERT_TRUE(waitUntil([&] { return pane->state().selection().has_value(); }));
    EXPECT_EQ(pane->state().selection()->bucket, 1);
    EXPECT_EQ(pane->state().selection()->step, *pane->iteration());
  }
}

TEST_P(CompareXTest, TheDistributionOfAnotherPhaseIsChosenInItsBox) {
  compareTwo();
  QTabBar* pictures = nullptr;
  for (auto* tabs : compare().findChildren<QTabWidget*>()) {
    if (tabs->indexOf(compare().distribution()) >= 0) pictures = tabs->tabBar();
  }
  ASSERT_NE(pictures, nullptr);
  clickTab(pictures, 1);
  ui::DistributionPanel* panel = compare().distribution();
  ASSERT_TRUE(waitUntil([&] { return panel->canvas()->isVisible(); }));
  const auto figures = [&] {
    QStringList all;
    for (int column = 0; column < panel->table()->model()->columnCount(); ++column) {
      all << panel->table()->model()->index(0, column).data().toString();
    }
    return all;
  };
  const QStringList ofStep = figures();
  panel->kinds()->setObjectName("distributionKinds");
  chooseIn("distributionKinds", panel->kinds()->itemText(1));
  EXPECT_TRUE(waitUntil([&] { return figures() != ofStep; }));
  const Screenshot before = input_.screenshot();
  point(panel->canvas(), [&] { return std::optional(QPointF(panel->canvas()->rect().center())); });
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 50; })) << "what lies there";
}

TEST_P(CompareXTest, TheIterationsAreChosenAndTheOtherRunTakenAway) {
  compareTwo();
  QSpinBox* box = compare().timelines()->iterationBoxB();
  const std::uint32_t before = *paneB().iteration();
  click(box);
  ASSERT_TRUE(waitUntil([&] { return box->hasFocus(); }));
  press(kKeyUp);
  ASSERT_TRUE(waitUntil([&] { return paneB().iteration() == before + 1; }));
  EXPECT_TRUE(waitUntil([this] { return sameRange(); }));
  QTabBar* others = compare().otherTabs();
  const QWidget* cross = others->tabButton(0, QTabBar::RightSide);
  ASSERT_NE(cross, nullptr);
  click(cross);
  EXPECT_TRUE(waitUntil([this] { return compare().runs().count() == 0; }));
}

LOCKSTEP_ON_BOTH_PAINTERS(CompareXTest);

}  // namespace
}  // namespace lockstep
