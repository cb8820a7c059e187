#include "ui/views/ranks/RanksView.h"

#include <QComboBox>
#include <QSignalSpy>
#include <algorithm>
#include <string>

#include "tests/ui/views/AnalysedViewFixture.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/ranks/MadeRun.h"
#include "ui/views/ranks/RanksPicture.h"

namespace lockstep::ui {
namespace {

class RanksViewTest : public AnalysedViewFixture<RanksView> {
 protected:
  void open(std::uint32_t steps = 40) {
    test::writePlanted(folder_ / "many.lockstep", steps);
    openFile(folder_ / "many.lockstep", [this] { return view_->content() != nullptr; });
    ASSERT_EQ(view_->content()->likeness.unlike.size(), 4u);
  }
  std::size_t unlikeWith(int rank) {
    const auto& all = view_->content()->likeness.unlike;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [rank](const auto& of) { return of.ranks.front() == rank; });
    return static_cast<std::size_t>(found - all.begin());
  }
  int selectedRank() { return state_.selection() ? state_.selection()->rank() : -1; }
};

TEST_P(RanksViewTest, SaysWhatItIsForWithoutARun) {
  EXPECT_TRUE(test::says(*view_, "No run is open. Ranks shows all ranks of a run at once"));
}

TEST_P(RanksViewTest, AClickOnANameShowsTheRankBesideItsNeighbourAndTheMiddleOne) {
  open();
  QSignalSpy timeline(view_.get(), &RanksView::timelineRequested);
  click(*view_->scene().positionOfUnlike(unlikeWith(41)));
  EXPECT_EQ(selectedRank(), 41);
  ASSERT_EQ(state_.shownRanks().size(), 3u);
  EXPECT_EQ(state_.shownRanks()[0], 41);
  EXPECT_EQ(state_.shownRanks()[1] / 8, 5) << "of the same host";
  EXPECT_EQ(timeline.size(), 1);
  const auto step = model_->step(41, state_.selection()->step);
  EXPECT_LT(state_.range().startNs, step->startNs);
}

TEST_P(RanksViewTest, AClickOnACellShowsTheRankInThatIteration) {
  open();
  QSignalSpy timeline(view_.get(), &RanksView::timelineRequested);
  click(*view_->scene().positionOf({50, 17}));
  EXPECT_EQ(selectedRank(), 50);
  EXPECT_EQ(state_.selection()->step, 17u);
  EXPECT_EQ(timeline.size(), 1);
  EXPECT_EQ(view_->table()->currentRow(), 50u) << "the table follows";
}

TEST_P(RanksViewTest, AColumnOfSeveralIterationsLeadsToTheOneThatWasMeant) {
  open(600);
  ASSERT_GT(view_->content()->table.stepsAColumn, 1u);
  view_->figureBox()->setCurrentText(titleOf(RankFigure::kComputing));
  // Rank 7 is slow in every fifth step: 100 is one, 101 is none.
  click(*view_->scene().positionOf({7, 50}));
  EXPECT_EQ(selectedRank(), 7);
  EXPECT_EQ(state_.selection()->step, 100u);
}

TEST_P(RanksViewTest, TheBoxesChooseFigureAndOrder) {
  open();
  view_->figureBox()->setCurrentText(titleOf(RankFigure::kComputing));
  view_->orderBox()->setCurrentText("most first");
  // The first row is the rank that computes most.
  const QPointF first = view_->scene().plot().topLeft() + QPointF(1, 1);
  EXPECT_EQ(view_->scene().placeAt(first)->rank, 41u);
  EXPECT_EQ(view_->figureBox()->findText(titleOf(RankFigure::kDiffering)), -1)
      << "no parameter was hashed";
  trigger(Qt::Key_O);
  EXPECT_EQ(view_->orderBox()->currentText(), "by host");
  trigger(Qt::Key_C);
  EXPECT_EQ(view_->figureBox()->currentText(), titleOf(RankFigure::kExposed));
}

TEST_P(RanksViewTest, TheMapBeginsWithTheFigureInWhichARankStandsOutMost) {
  open();
  EXPECT_EQ(view_->figureBox()->currentText(), titleOf(RankFigure::kComputing));
  EXPECT_EQ(view_->content()->likeness.unlike.front().kind, diagnosis::Unlikeness::kComputing);
  view_->figureBox()->setCurrentText(titleOf(RankFigure::kExposed));
  openFile(folder_ / "many.lockstep", [this] { return view_->content() != nullptr; });
  EXPECT_EQ(view_->figureBox()->currentText(), titleOf(RankFigure::kExposed)) << "a choice stays";
}

TEST_P(RanksViewTest, NGoesFromOneThatStandsOutToTheNext) {
  open();
  const auto& unlike = view_->content()->likeness.unlike;
  for (const std::size_t index : {0u, 1u, 2u, 3u, 0u}) {
    trigger(Qt::Key_N);
    EXPECT_TRUE(
        std::binary_search(unlike[index].ranks.begin(), unlike[index].ranks.end(), selectedRank()));
  }
  trigger("Shift+N");
  EXPECT_TRUE(std::binary_search(unlike[3].ranks.begin(), unlike[3].ranks.end(), selectedRank()));
  trigger(Qt::Key_Escape);
  EXPECT_TRUE(state_.shownRanks().empty());
  EXPECT_EQ(selectedRank(), -1);
}

TEST_P(RanksViewTest, ItsPictureIsAsHighForManyRanksAsForFew) {
  open();
  const Picture many = ranksPicture(*model_, *analyser_->latest(), {1200, 0}, Theme::kDark);
  openDemo([this] { return view_->content() != nullptr && analyser_->latest() != nullptr; });
  const Picture few = ranksPicture(*model_, *analyser_->latest(), {1200, 0}, Theme::kDark);
  EXPECT_EQ(many.size, few.size);
  EXPECT_LT(many.size.height(), 1000);
  EXPECT_TRUE(std::any_of(many.list.texts().begin(), many.list.texts().end(),
                          [](const QString& text) { return text.contains("ranks stand out"); }));
}

TEST_P(RanksViewTest, OfAHandfulAllRanksStayInTheTimeline) {
  openDemo([this] { return view_->content() != nullptr; });
  click(*view_->scene().positionOf({1, 20}));
  EXPECT_EQ(selectedRank(), 1);
  EXPECT_TRUE(state_.shownRanks().empty());
}

INSTANTIATE_TEST_SUITE_P(Painters, RanksViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui
