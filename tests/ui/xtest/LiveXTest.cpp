#include <QTableView>

#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/views/live/LiveView.h"

namespace lockstep {
namespace {

using namespace tests;
using ui::LiveFigure;

// The live view in the window, by pointer and keyboard.
class LiveXTest : public ViewsFixture {
 protected:
  ui::LiveView& live() { return view<ui::LiveView>(); }
  void openAnalysed() {
    openDemo();
    showStage("live");
    ASSERT_TRUE(waitUntil([this] {
      return live().content() != nullptr &&
             live().content()->tile(LiveFigure::kOverlap).value.endsWith(QLatin1Char('%'));
    }));
  }
  Place tile(LiveFigure figure) {
    return [this, figure] { return std::optional(live().scene().tileRect(figure).center()); };
  }
  bool frameSays(const QString& part) {
    ui::DisplayList list;
    live().scene().draw(list);
    return says(list, part);
  }
};

TEST_P(LiveXTest, ATileTellsItsDefinitionUnderThePointer) {
  openAnalysed();
  const Screenshot before = input_.screenshot();
  point(live().canvas(), tile(LiveFigure::kOverlap));
  ASSERT_TRUE(waitUntil([&] { return frameSays("communication was in flight"); }));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 2000; })) << "a card, on screen";
  keep(input_.screenshot(), QString("live-hover-") + GetParam());
  point(live().canvas(), tile(LiveFigure::kStepsPerSecond));
  EXPECT_TRUE(waitUntil([&] { return !frameSays("communication was in flight"); }));
  input_.moveTo(kScreenWidth - 2, kScreenHeight - 2);
  EXPECT_TRUE(waitUntil([&] { return !frameSays("The curve: "); }));
}

TEST_P(LiveXTest, TheLastIterationsLeadToTheTimeline) {
  openAnalysed();
  clickAt(live().canvas(), [this] { return std::optional(live().scene().timeline().center()); });
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  EXPECT_LT(state().range().startNs, model().stepOfAll(47)->startNs);
  EXPECT_GT(state().range().endNs, model().stepOfAll(49)->endNs);
}

TEST_P(LiveXTest, TilesAndBucketsLeadToTheViewsThatSayMore) {
  openAnalysed();
  clickAt(live().canvas(), tile(LiveFigure::kExposed));
  ASSERT_TRUE(waitUntil([this] { return stage() == "overlap"; }));
  showStage("live");
  clickAt(live().canvas(), tile(LiveFigure::kLateRank));
  ASSERT_TRUE(waitUntil([this] { return stage() == "overlap"; }));
  showStage("live");
  clickAt(live().canvas(),
          [this] { return std::optional(live().scene().cells().front().rect.center()); });
  EXPECT_TRUE(waitUntil([this] { return stage() == "buckets"; }));
}

TEST_P(LiveXTest, KeysLeadThereToo) {
  openAnalysed();
  clickAt(live().canvas(), tile(LiveFigure::kLoss));  // which leads nowhere
  ASSERT_TRUE(waitUntil([this] { return live().canvas()->hasFocus(); }));
  EXPECT_EQ(stage(), "live");
  press('o');
  ASSERT_TRUE(waitUntil([this] { return stage() == "overlap"; }));
  showStage("live");
  press('b');
  ASSERT_TRUE(waitUntil([this] { return stage() == "buckets"; }));
  showStage("live");
  press(kKeyReturn);
  EXPECT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
}

TEST_P(LiveXTest, FiguresAndRowsMoveWhileTheRunGoesOn) {
  const auto run = openLive(10);
  showStage("live");
  const auto iteration = [this](int rank) {
    return live().table()->model()->index(rank, 1).data().toString();
  };
  ASSERT_TRUE(waitUntil([&] {
    return live().table()->model()->rowCount() == 2 && iteration(0) == "9" && iteration(1) == "9";
  }));
  point(live().canvas(), tile(LiveFigure::kStepsPerSecond));
  run->steps(5);
  ASSERT_TRUE(waitUntil([&] { return iteration(0) == "14" && iteration(1) == "14"; }));
  EXPECT_TRUE(frameSays("The curve: ")) << "the card stays while figures move under it";
  clickCell(live().table(), 1, 0);
  ASSERT_TRUE(waitUntil([&] { return live().table()->currentIndex().row() == 1; }));
  run->steps(3);
  ASSERT_TRUE(waitUntil([&] { return iteration(1) == "17"; }));
  EXPECT_EQ(live().table()->currentIndex().row(), 1);
  run->finish(trace::RunState::kFinished);
  EXPECT_TRUE(waitUntil([this] { return !model().isLive(); }));
}

LOCKSTEP_ON_BOTH_PAINTERS(LiveXTest);

}  // namespace
}  // namespace lockstep
