#include <QComboBox>
#include <QTabBar>
#include <algorithm>

#include "tests/ui/views/ranks/MadeRun.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/shell/Stages.h"
#include "ui/views/ranks/RanksView.h"

namespace lockstep {
namespace {

using namespace tests;

// The landscape of ranks in the window, by pointer and keyboard.
class RanksXTest : public ViewsFixture {
 protected:
  ui::RanksView& ranks() { return view<ui::RanksView>(); }
  const ui::Canvas* canvas() { return ranks().canvas(); }
  void openMany() {
    const auto path = runPath("many.lockstep");
    ui::test::writePlanted(path);
    openPath(QString::fromStdString(path.string()));
  }
  bool shown() {
    return waitUntil([this] { return ranks().content() != nullptr && canvas()->isVisible(); });
  }
  Place name(std::size_t index) {
    return [this, index] { return ranks().scene().positionOfUnlike(index); };
  }
  Place cell(std::size_t rank, std::size_t column) {
    return [this, rank, column] { return ranks().scene().positionOf({rank, column}); };
  }
};

// From the opened file: the tab, and the name.
TEST_P(RanksXTest, EachPlantedRankIsTwoClicksFromTheOpenedFile) {
  openMany();
  auto* stages = find<ui::Stages>("stages");
  const auto tab = static_cast<int>(stages->names().indexOf("ranks"));
  for (std::size_t index = 0; index < 4; ++index) {
    showStage("timeline");
    clickTab(stages->findChild<QTabBar*>(), tab);
    ASSERT_TRUE(shown());
    const auto unlike = ranks().content()->likeness.unlike;
    ASSERT_EQ(unlike.size(), 4u);
    if (index == 0) {
      keep(input_.screenshot(), QString("ranks-") + GetParam());
    }
    clickAt(canvas(), name(index));
    ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
    ASSERT_TRUE(selection());
    EXPECT_TRUE(std::binary_search(unlike[index].ranks.begin(), unlike[index].ranks.end(),
                                   selection()->rank()));
    EXPECT_EQ(state().shownRanks().front(), selection()->rank());
  }
}

TEST_P(RanksXTest, TheCardTellsOfTheCellUnderThePointer) {
  openMany();
  showStage("ranks");
  ASSERT_TRUE(shown());
  point(canvas(), cell(0, 0));  // it may stand on the other cell already
  point(canvas(), cell(41, 20));
  EXPECT_TRUE(waitUntil([this] {
    ui::DisplayList list;
    ranks().scene().draw(list);
    return says(list, "iteration 20") && says(list, "node5");
  }));
}

TEST_P(RanksXTest, TheBoxesAndKeysChangeWhatTheMapShows) {
  openMany();
  showStage("ranks");
  ASSERT_TRUE(shown());
  chooseIn("ranksFigure", "Lateness");
  chooseIn("ranksOrder", "as they are alike");
  ASSERT_TRUE(waitUntil([this] {
    ui::DisplayList list;
    ranks().scene().draw(list);
    return says(list, "Lateness, rank by iteration") && says(list, "ranks alike");
  }));
  keep(input_.screenshot(), QString("ranks-alike-") + GetParam());
  clickAt(canvas(), cell(63, 12));
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  showStage("ranks");
  press('n');
  ASSERT_TRUE(waitUntil([this] { return selection().has_value(); }));
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([this] { return state().shownRanks().empty() && !selection(); }));
}

LOCKSTEP_ON_BOTH_PAINTERS(RanksXTest);

}  // namespace
}  // namespace lockstep
