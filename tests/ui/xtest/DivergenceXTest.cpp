#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QTabWidget>
#include <QTextBrowser>
#include <cmath>

#include "tests/ui/views/divergence/DivergentRun.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/table/TableView.h"
#include "ui/views/divergence/DivergenceView.h"
#include "ui/views/divergence/ParameterTab.h"
#include "ui/views/divergence/SequenceTab.h"

namespace lockstep {
namespace {

using namespace tests;
using namespace ui::test;
using ui::DivergenceView;
using ui::ReplicaPlace;

// Divergence in the window, by pointer and keyboard.
class DivergenceXTest : public ViewsFixture {
 protected:
  DivergenceView& divergence() { return view<DivergenceView>(); }
  ui::ParameterTab& parameters() { return *divergence().parameters(); }
  void openDivergent() {
    const auto path = runPath("divergent.lockstep");
    const base::Status written = writeDivergentRun(path);
    ASSERT_TRUE(written.ok());
    openPath(QString::fromStdString(path.string()));
    showStage("divergence");
    ASSERT_TRUE(waitUntil(
        [this] { return divergence().facts() != nullptr && divergence().facts()->complete; }));
  }
  void openTab(DivergenceView::Tab tab) {
    clickTab(find<QTabWidget>("divergenceTabs")->tabBar(), tab);
    ASSERT_EQ(divergence().tab(), tab);
  }
  Place cell(const ReplicaPlace& place) {
    return [this, place]() -> std::optional<QPointF> {
      const auto rect = parameters().rectOf(place);
      return rect ? std::optional(rect->center()) : std::nullopt;
    };
  }
  Place call(std::size_t row, std::size_t column) {
    return [this, row, column]() -> std::optional<QPointF> {
      const auto rect = divergence().calls()->rectOf({row, column});
      return rect ? std::optional(rect->center()) : std::nullopt;
    };
  }
  // Where there is little room, a row stands for several parameters: its worst is selected.
  bool sharesPixels(const ReplicaPlace& place) {
    const auto& selected = parameters().selected();
    return selected && selected->sample == place.sample &&
           parameters().rectOf(*selected) == parameters().rectOf(place);
  }
  static constexpr ReplicaPlace kFirst{3, kFlippedParameter};
};

TEST_P(DivergenceXTest, AClickOnACellExplainsItAndMGoesBackToTheFirstDifference) {
  openDivergent();
  ASSERT_EQ(parameters().selected(), kFirst);
  const ReplicaPlace other{4, 5};
  const Screenshot before = input_.screenshot();
  point(parameters().canvas(), cell(other));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 500; })) << "a card, on screen";
  clickAt(parameters().canvas(), cell(other));
  ASSERT_TRUE(waitUntil([&] { return sharesPixels(other); }));
  EXPECT_EQ(find<ui::TableView>("parameterTable")->currentIndex().row(),
            static_cast<int>(parameters().selected()->parameter));
  EXPECT_FALSE(find<QTextBrowser>("replicaDetails")->toPlainText().isEmpty());
  keep(input_.screenshot(), QString("divergence-") + GetParam());
  press('m');
  ASSERT_TRUE(waitUntil([&] { return parameters().selected() == kFirst; }));
  const ReplicaPlace last{5, 5};  // elsewhere: twice at one place is a double click
  clickAt(parameters().canvas(), cell(last));
  ASSERT_TRUE(waitUntil([&] { return sharesPixels(last); }));
  click(find<QPushButton>("firstDifference"));
  EXPECT_TRUE(waitUntil([&] { return parameters().selected() == kFirst; }));
}

TEST_P(DivergenceXTest, ARowOfTheTableSelectsItsFirstBadCell) {
  openDivergent();
  auto* table = find<ui::TableView>("parameterTable");
  table->scrollTo(table->model()->index(7, 0));
  clickCell(table, 7, 0);
  EXPECT_TRUE(waitUntil([&] { return parameters().selected() == (ReplicaPlace{4, 7}); }));
}

TEST_P(DivergenceXTest, TheWheelZoomsTheIterationsAndFShowsAll) {
  openDivergent();
  const double before = parameters().rectOf(kFirst)->width();
  wheelAt(parameters().canvas(), cell(kFirst), 1, [&] {
    const auto rect = parameters().rectOf(kFirst);
    return rect && rect->width() > before * 1.3;
  });
  clickAt(parameters().canvas(), cell(kFirst));  // takes the keys
  press('f');
  EXPECT_TRUE(waitUntil([&] {
    const auto rect = parameters().rectOf(kFirst);
    return rect && std::abs(rect->width() - before) < 0.01;
  }));
}

TEST_P(DivergenceXTest, TheHeatMapShowsWhatIsChosenInItsBox) {
  openDivergent();
  ui::DisplayList hashes;
  parameters().drawInto(hashes);
  chooseIn("heatMeasure", "Norms");
  const auto differs = [&] {
    ui::DisplayList norms;
    parameters().drawInto(norms);
    return norms.texts() != hashes.texts();
  };
  EXPECT_TRUE(waitUntil(differs));
}

TEST_P(DivergenceXTest, CallsStandSideBySideAndAClickOnOneSelectsItEverywhere) {
  openDivergent();
  openTab(DivergenceView::kCalls);
  const std::size_t row = *divergence().facts()->sequences.front().first;
  clickAt(divergence().calls()->canvas(), call(row, 1));
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->step == kMismatchStep; }));
  EXPECT_EQ(selection()->rank(), 1);
  EXPECT_EQ(selection()->bucket, 2);
  EXPECT_EQ(find<ui::TableView>("sequenceTable")->currentIndex().row(), static_cast<int>(row));
  auto* title = find<QLabel>("inspectorTitle");
  EXPECT_TRUE(waitUntil([&] { return title->text().contains("broadcast"); }))
      << title->text().toStdString();
  const auto scrolledAway = [&] { return !divergence().calls()->rectOf({row, 1}); };
  wheelAt(divergence().calls()->canvas(), call(row, 0), 1, scrolledAway);
  press('m');
  ASSERT_TRUE(waitUntil([&] { return divergence().calls()->rectOf({row, 1}).has_value(); }));
  doubleClickAt(divergence().calls()->canvas(), call(row, 0));
  ASSERT_TRUE(waitUntil([this] { return stage() == "timeline"; }));
  EXPECT_EQ(selection()->rank(), 0);
}

LOCKSTEP_ON_BOTH_PAINTERS(DivergenceXTest);

}  // namespace
}  // namespace lockstep
