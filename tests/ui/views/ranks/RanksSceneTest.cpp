#include "ui/views/ranks/RanksScene.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/ranks/MadeRun.h"
#include "ui/canvas/HeatColours.h"
#include "ui/views/ranks/RanksTable.h"

namespace lockstep::ui {
namespace {

class RanksSceneTest : public testing::Test {
 protected:
  RanksSceneTest() {
    test::writePlanted(folder_ / "many.lockstep");
    content_ = test::contentOf(folder_ / "many.lockstep");
  }

  RanksScene scene(QSizeF size, RankFigure figure = RankFigure::kStep,
                   RankOrder order = RankOrder::kNumber, const RanksFrame& frame = {}) {
    RanksFrame of = frame;
    of.size = size;
    map_.show(content_, figure, order);
    return {map_, Palette::of(Theme::kLight), of};
  }
  static QString textsOf(const RanksScene& scene) {
    DisplayList list;
    scene.draw(list);
    QString all;
    for (const QString& text : list.texts()) {
      all += text + '\n';
    }
    return all;
  }
  std::size_t at(int rank) { return *content_->table.indexOf(rank); }

  support::TemporaryFolder folder_;
  std::shared_ptr<const RanksContent> content_;
  RanksMap map_;
};

TEST(RanksHeadline, BeginsWithACapitalAlsoWhereNobodyStandsOut) {
  diagnosis::RankLikeness likeness;
  likeness.ranks = 2;
  likeness.judged = true;
  EXPECT_EQ(headlineOf(likeness), "None of 2 ranks stands out beyond chance");
}

TEST_F(RanksSceneTest, NamesThoseThatStandOutAtTheTop) {
  const RanksScene now = scene({900, 600});
  const QString texts = textsOf(now);
  EXPECT_TRUE(texts.contains("11 of 64 ranks stand out")) << texts.toStdString();
  EXPECT_TRUE(texts.contains("rank 41 computes "));
  EXPECT_TRUE(texts.contains("rank 32 transfers "));
  EXPECT_TRUE(texts.contains("in every 5th step"));
  EXPECT_TRUE(texts.contains("host node2 (8 of its 8 ranks"));
  ASSERT_EQ(content_->likeness.unlike.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(now.unlikeAt(*now.positionOfUnlike(i)), i);
  }
  EXPECT_EQ(now.positionOfUnlike(4), std::nullopt);
  EXPECT_EQ(now.unlikeAt(now.plot().center()), std::nullopt);
}

TEST_F(RanksSceneTest, SaysWhichRankIsLastMostOftenAndHowOften) {
  const auto most = content_->last.mostOften();
  ASSERT_TRUE(most.has_value());
  const QString sentence = QString("Rank %1 was the last most often: in %2 of 39 iterations")
                               .arg(*most)
                               .arg(content_->last.ranks.at(*most).steps);
  EXPECT_TRUE(textsOf(scene({900, 600})).contains(sentence)) << sentence.toStdString();
  const auto table = rankTable(content_);
  const auto column =
      std::ranges::find(table->columns(), QString("Last in"), &TableRows::Column::title);
  ASSERT_NE(column, table->columns().end());
  EXPECT_EQ(table->text(at(*most), static_cast<std::size_t>(column - table->columns().begin())),
            QString::number(content_->last.ranks.at(*most).steps));
}

TEST_F(RanksSceneTest, FindsTheCellOfEachRankWhereThereIsRoom) {
  const RanksScene now = scene({900, 700});
  for (const RankPlace place : {RankPlace{0, 0}, RankPlace{at(41), 12}, RankPlace{at(63), 39}}) {
    EXPECT_EQ(now.placeAt(*now.positionOf(place)), place);
  }
  EXPECT_EQ(now.placeAt(now.plot().topLeft() - QPointF(2, 2)), std::nullopt);
}

// 64 ranks in a few pixels: a pixel stands for many, and shows and finds the worst of them.
TEST_F(RanksSceneTest, AFewRowsHaveTheRoomThatThereIs) {
  const QRectF plot = scene({900, 700}, RankFigure::kStep, RankOrder::kAlike).plot();
  EXPECT_GT(plot.height(), 200) << "a row for all that are alike, and one for each other";
}

TEST_F(RanksSceneTest, KeepsTheOutlierWhereAPixelStandsForManyRanks) {
  const RanksScene now = scene({400, 200}, RankFigure::kComputing);
  ASSERT_FALSE(now.plot().isEmpty());
  ASSERT_LT(map_.height(), 30u);
  const auto found = now.placeAt(*now.positionOf({at(41), 20}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, at(41));
  const auto [rows, end] = map_.rowsAt(map_.yOf(at(41)));
  EXPECT_GT(end - rows, 1u);
  EXPECT_GT(map_.at(map_.yOf(at(41)), map_.xOf(20)), content_->of(RankFigure::kComputing).low + 8);
}

TEST_F(RanksSceneTest, OrdersByFigureAndByLikeness) {
  map_.show(content_, RankFigure::kComputing, RankOrder::kFigure);
  EXPECT_EQ(map_.rows().front().front(), at(41)) << "computes most";
  map_.show(content_, RankFigure::kMemory, RankOrder::kFigure);
  EXPECT_EQ(map_.rows().front().front(), at(63));
  map_.show(content_, RankFigure::kStep, RankOrder::kHost);
  EXPECT_EQ(map_.rows()[16].front(), at(16));
  map_.show(content_, RankFigure::kStep, RankOrder::kAlike);
  ASSERT_LT(map_.rows().size(), 16u);
  EXPECT_EQ(map_.rows().front().size(), 53u) << "those that do not stand out are one row";
  EXPECT_TRUE(
      textsOf(scene({900, 600}, RankFigure::kStep, RankOrder::kAlike)).contains("53 ranks alike"));
}

TEST_F(RanksSceneTest, TheCardSaysRankHostIterationAndValue) {
  const RanksScene still = scene({900, 700}, RankFigure::kComputing);
  RanksFrame frame;
  frame.pointer = still.positionOf({at(41), 12});
  const QString texts =
      textsOf(scene({900, 700}, RankFigure::kComputing, RankOrder::kNumber, frame));
  EXPECT_TRUE(texts.contains("rank 41\n")) << texts.toStdString();
  EXPECT_TRUE(texts.contains("node5\n"));
  EXPECT_TRUE(texts.contains("iteration 12\n"));
  EXPECT_TRUE(texts.contains("Computing\n"));
}

TEST_F(RanksSceneTest, SaysWhatTheRunKnowsNothingOf) {
  EXPECT_TRUE(textsOf(scene({900, 600}, RankFigure::kDiffering))
                  .contains("this run recorded nothing of it"));
}

TEST_F(RanksSceneTest, SaysHowManyItHasNoRoomFor) {
  auto many = std::make_shared<RanksContent>(*content_);
  while (many->likeness.unlike.size() < 12) {
    many->likeness.unlike.push_back(many->likeness.unlike.front());
  }
  content_ = many;
  EXPECT_TRUE(textsOf(scene({900, 600})).contains("and 4 more, which the table below names"));
}

TEST_F(RanksSceneTest, TheTableHasTheSame) {
  const auto rows = rankTable(content_);
  ASSERT_EQ(rows->size(), 64u);
  const auto& columns = rows->columns();
  EXPECT_EQ(columns.back().title, "Stands out");
  EXPECT_TRUE(rows->text(at(41), columns.size() - 1).startsWith("rank 41 computes "));
  EXPECT_EQ(rows->text(at(3), columns.size() - 1), QString());
  EXPECT_EQ(rows->text(at(41), 1), "node5");
  EXPECT_EQ(rows->text(at(3), 2), "53");
  EXPECT_EQ(rankTable(nullptr)->size(), 0u);
}

TEST(RanksMapTest, StepsOfManyRanksFoldIntoOneWithTheMiddleWhereTheyAreAlike) {
  auto content = std::make_shared<RanksContent>();
  content->table.ranks = {0, 1, 2, 3};
  content->table.steps = {0, 2};
  content->table.columns = 2;
  content->table.values[0] = {1, 2, 3, 4, 9, std::nanf(""), 5, std::nanf("")};
  content->likeness.classes = {{{0, 1, 2}, false}, {{3}, true}};
  content->hosts.resize(4);
  content->hostNumbers.resize(4);
  RanksMap map;
  map.show(content, RankFigure::kStep, RankOrder::kAlike);
  map.fold(10, 10);
  ASSERT_EQ(map.height(), 2u);
  EXPECT_FLOAT_EQ(map.at(0, 0), 3) << "the middle one of 1, 3 and 9";
  EXPECT_FLOAT_EQ(map.at(0, 1), 4) << "of 2 and 4";
  EXPECT_TRUE(std::isnan(map.at(1, 1)));
  map.show(content, RankFigure::kStep, RankOrder::kNumber);
  map.fold(2, 1);
  EXPECT_FLOAT_EQ(map.at(0, 0), 4);
  EXPECT_FLOAT_EQ(map.at(1, 0), 9);
  EXPECT_EQ(map.worstAt(1, 0), (RankPlace{2, 0}));
}

TEST(HeatColours, TheMostStandsOutFromTheBackgroundOfEachTheme) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    const QColor& background = Palette::of(theme).background;
    EXPECT_GT(contrastRatio(heatColour(1, theme), background), 7);
    double before = 0;
    for (int i = 0; i <= 20; ++i) {
      const double contrast = contrastRatio(heatColour(i / 20.0, theme), background);
      EXPECT_GT(contrast, before) << i;
      before = contrast;
    }
    EXPECT_EQ(heatColour(2, theme), heatColour(1, theme));
  }
}

}  // namespace
}  // namespace lockstep::ui
