#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <cmath>

#include "engine/trace/Event.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/views/overlap/BucketTab.h"
#include "ui/views/overlap/OverlapView.h"

namespace lockstep {
namespace {

using namespace tests;
using trace::EventKind;

// Overlap in the window, by pointer and keyboard.
class OverlapXTest : public ViewsFixture {
 protected:
  ui::OverlapView& overlap() { return view<ui::OverlapView>(); }
  const ui::Canvas* canvas() { return overlap().canvas(); }
  void openAnalysed() {
    openDemo();
    showStage("overlap");
    clickTab(find<QTabWidget>("overlapPictures")->tabBar(), ui::OverlapView::kIterations);
    ASSERT_TRUE(waitUntil([this] { return overlap().content() != nullptr; }));
  }
  ui::BucketTab& buckets() { return *overlap().buckets(); }
  Place cell(std::size_t row, int bucket) {
    return [this, row, bucket] {
      return std::optional(buckets().scene().rectOf({row, bucket}).center());
    };
  }
  // The causes stand beside the charts, where there is room for them, also beside the inspector.
  void makeRoom() {
    click(find<QWidget>("runsDock")->findChild<QWidget*>("qt_dockwidget_closebutton"));
    find<QWidget>("setupDock")->close();
    find<QWidget>("hooksDock")->close();
    ASSERT_TRUE(waitUntil([this] { return overlap().scene().positionOfReason(0).has_value(); }));
  }
  Place bar(int rank, std::uint32_t step) {
    return [this, rank, step] { return overlap().scene().positionOf({rank, step}); };
  }
  bool selected(int rank, std::uint32_t step) {
    return waitUntil([this, rank, step] {
      return selection() && selection()->rank() == rank && selection()->step == step;
    });
  }
  QTabBar* tabs() { return find<QTabWidget>("overlapTables")->tabBar(); }
  QString title() {
    ui::DisplayList list;
    overlap().scene().draw(list);
    for (const QString& text : list.texts()) {
      if (text.startsWith("Why")) return text;
    }
    return {};
  }
};

TEST_P(OverlapXTest, AClickOnABarSelectsItsIterationAndADoubleClickShowsItInTheTimeline) {
  openAnalysed();
  const Screenshot before = input_.screenshot();
  point(canvas(), bar(1, 30));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 1000; })) << "a card, on screen";
  clickAt(canvas(), bar(1, 30));
  ASSERT_TRUE(selected(1, 30));
  EXPECT_EQ(overlap().stepsTable()->currentIndex().siblingAtColumn(1).data().toString(), "30");
  keep(input_.screenshot(), QString("overlap-") + GetParam());
  doubleClickAt(canvas(), bar(0, 12));
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  ASSERT_TRUE(selected(0, 12));
  const auto step = model().step(0, 12);
  EXPECT_LT(state().range().startNs, step->startNs);
  EXPECT_GT(state().range().endNs, step->endNs);
  EXPECT_LT(state().range().lengthNs(), 1.5 * (step->endNs - step->startNs));
}

TEST_P(OverlapXTest, ArrowsGoOverIterationsAndRanksAndReturnToTheTimeline) {
  openAnalysed();
  clickAt(canvas(), bar(0, 20));
  ASSERT_TRUE(selected(0, 20));
  press(kKeyRight);
  ASSERT_TRUE(selected(0, 21));
  press(kKeyDown);
  ASSERT_TRUE(selected(1, 21));
  press(kKeyLeft);
  ASSERT_TRUE(selected(1, 20));
  press(kKeyUp);
  ASSERT_TRUE(selected(0, 20));
  press(kKeyReturn);
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  showStage("overlap");
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([this] { return !selection(); }));
}

TEST_P(OverlapXTest, ACauseLeadsToItsWorstCollectiveInThePictureAndInTheTable) {
  openAnalysed();
  ASSERT_FALSE(overlap().content()->reasons.empty());
  makeRoom();
  const analysis::TailItem worst = overlap().content()->reasons[0].worst;
  clickAt(canvas(), [this] { return overlap().scene().positionOfReason(0); });
  ASSERT_TRUE(selected(worst.rank, worst.step));
  EXPECT_EQ(selection()->kind, EventKind::kCollective);
  EXPECT_EQ(selection()->bucket, worst.bucket);
  press(kKeyEscape);
  ASSERT_TRUE(waitUntil([this] { return !selection(); }));
  clickTab(tabs(), 1);
  clickCell(overlap().causesTable(), 0, 0);
  ASSERT_TRUE(waitUntil([this] { return selection().has_value(); }));
  EXPECT_EQ(selection()->kind, EventKind::kCollective);
}

TEST_P(OverlapXTest, ARowOfTheTableSelectsAndADoubleClickOnItShowsTheTimeline) {
  openAnalysed();
  QTableView* table = overlap().stepsTable();
  clickCell(table, 2, 1);
  const auto number = [&](int row) {
    return table->model()->index(row, 1).data().toString().toUInt();
  };
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->step == number(2); }));
  press(kKeyDown);
  ASSERT_TRUE(waitUntil([&] { return selection()->step == number(3); }));
  const QPoint to = middleOf(table->viewport(), [=] {
    return table->visualRect(table->model()->index(1, 1)) & table->viewport()->rect();
  });
  doubleClick(to);
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  EXPECT_EQ(selection()->step, number(1));
}

TEST_P(OverlapXTest, TheWheelZoomsADragMovesAndFShowsAll) {
  openAnalysed();
  const double before = overlap().scene().pixelsPerStep();
  const double x = canvas()->mapFromGlobal(at(canvas(), bar(0, 25))).x();
  wheelAt(canvas(), bar(0, 25), 1, [&] { return overlap().scene().pixelsPerStep() > 2 * before; });
  EXPECT_NEAR(overlap().scene().stepOf(x), 25.5, 0.6);
  const double step = overlap().scene().stepOf(x);
  dragAt(canvas(), bar(0, 25), {120, 0});
  ASSERT_TRUE(waitUntil([&] { return overlap().scene().stepOf(x) < step - 1; }));
  EXPECT_FALSE(selection().has_value());
  press('f');
  EXPECT_TRUE(
      waitUntil([&] { return std::abs(overlap().scene().pixelsPerStep() - before) < 0.01; }));
}

TEST_P(OverlapXTest, AClickOnARankListsItsCausesAloneUntilTheNext) {
  openAnalysed();
  const auto label = [this] { return std::optional(overlap().scene().rows()[1].label.center()); };
  makeRoom();
  EXPECT_TRUE(title().contains("all ranks"));
  clickAt(canvas(), label);
  ASSERT_TRUE(waitUntil([this] { return title().contains("rank 1"); }));
  input_.moveTo(kScreenWidth - 2, kScreenHeight - 2);
  press(kKeyRight);  // works on while a rank is chosen
  ASSERT_TRUE(waitUntil([this] { return selection().has_value(); }));
  clickAt(canvas(), label);
  EXPECT_TRUE(waitUntil([this] { return title().contains("all ranks"); }));
}

TEST_P(OverlapXTest, OpensWithRankByBucketAndACellLeadsToItsWorstIterationInTheTimeline) {
  openDemo();
  showStage("overlap");
  ASSERT_TRUE(waitUntil([this] { return buckets().content() != nullptr; }));
  keep(input_.screenshot(), QString("rank-by-bucket-") + GetParam());
  clickAt(buckets().canvas(), cell(1, 0));
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->bucket == 0; }));
  EXPECT_EQ(selection()->rank(), 1);
  chooseIn("bucketMeasure", "Transfer");
  clickAt(buckets().canvas(), cell(0, 0));
  ASSERT_TRUE(waitUntil([&] { return selection()->rank() == 0; }));
  press(kKeyRight);
  ASSERT_TRUE(waitUntil([&] { return selection()->bucket == 1; }));
  click(find<QToolButton>("bucketTimeline"));
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  EXPECT_EQ(selection()->rank(), 0);
  EXPECT_EQ(selection()->bucket, 1);
}

LOCKSTEP_ON_BOTH_PAINTERS(OverlapXTest);

}  // namespace
}  // namespace lockstep
