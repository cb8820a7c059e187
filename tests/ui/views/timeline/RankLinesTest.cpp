#include "ui/views/timeline/RankLines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/timeline/TimelineController.h"
#include "ui/views/timeline/TimelineRoom.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using trace::EventKind;

std::vector<int> upTo(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

TEST(RankLines, EachRankHasALineAsLongAsLinesCanBeSeen) {
  const RankLines lines(upTo(24), {}, 100, 336);
  ASSERT_EQ(lines.lines().size(), 24u);
  EXPECT_EQ(lines.lineHeight(), 14);
  EXPECT_EQ(lines.height(), timeline_metrics::kRankHeader + 336);
  EXPECT_EQ(lines.at(99), nullptr);
  EXPECT_EQ(lines.at(lines.topOf(7) + 1)->rank, 7);
  EXPECT_EQ(lines.at(lines.topOf(24)), nullptr);
}

TEST(RankLines, TheirHeightDoesNotGrowWithAThousandRanks) {
  const RankLines lines(upTo(1024), {}, 0, 336);
  EXPECT_EQ(lines.lineHeight(), 2);
  EXPECT_EQ(lines.lines().size(), 168u);
  EXPECT_LE(lines.height(), timeline_metrics::kRankHeader + 336);
  std::size_t stoodFor = 0;
  for (const RankLines::Line& line : lines.lines()) {
    EXPECT_EQ(line.first, stoodFor);
    EXPECT_THAT(line.count, testing::AnyOf(6u, 7u));
    stoodFor += line.count;
  }
  EXPECT_EQ(stoodFor, 1024u);
}

TEST(RankLines, ALineOfSeveralShowsTheOneThatIsUnlikeTheRest) {
  const RankLines lines(upTo(1024), {713, 5, 9999}, 0, 336);
  const auto line = lines.lineOf(713);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(lines.lines()[*line].rank, 713);
  EXPECT_TRUE(lines.isUnlike(713));
  EXPECT_THAT(lines.unlike(), ElementsAre(713, 5));
  EXPECT_EQ(lines.lineOf(0), 0u);
  EXPECT_EQ(lines.lines().front().rank, 5);
  EXPECT_EQ(lines.lineOf(1023), 167u);
  EXPECT_FALSE(lines.lineOf(1024).has_value());
}

// Each rank has a step of 1000 ns, of which it computes 600; rank 40 has 900. Then it comes to a
// collective, each rank a nanosecond after the one before.
class ManyRanks : public testing::Test {
 protected:
  explicit ManyRanks(int ranks = 64) {
    test::Feed feed(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto track = 2 * rank + 1;
      const std::uint64_t end = rank == 40 ? 900 : 600;
      feed.span(track, EventKind::kStep, 0, 1000);
      feed.span(track, EventKind::kForward, 0, end);
      feed.span(track, EventKind::kWait, end, 1000);
      feed.span(track + 1, EventKind::kCollective, end + static_cast<std::uint64_t>(rank), 1000, 0,
                test::sequence(0), test::kAllreduce);
    }
    model_.applyUpdate(feed.take());
    controller_.setState(&state_);
    controller_.setModel(&model_);
    controller_.setSize({1000, 700});
    QObject::connect(&state_, &ViewState::rangeChanged, [this] { controller_.rangeChanged(); });
    QObject::connect(&state_, &ViewState::shownRanksChanged,
                     [this] { controller_.placesChanged(); });
    state_.setRange({0, 1000});
  }

  std::vector<int> withLanes() {
    std::vector<int> ranks;
    for (const auto& box : controller_.layout().ranks()) ranks.push_back(box.rank);
    return ranks;
  }
  QPointF inLineOf(int rank, double ns) {
    const RankLines& lines = controller_.layout().lines();
    return {controller_.axis().toX(ns),
            controller_.sight().yOf(lines.topOf(*lines.lineOf(rank))) + lines.lineHeight() / 2};
  }
  DisplayList frame() {
    return drawn(TimelineScene(model_, controller_.layout(), Palette::of(Theme::kLight),
                               controller_.frame()));
  }
  // The right end of what a rank's line is filled with in a colour.
  double endOf(int rank, Tone tone) {
    double right = 0;
    const DisplayList list = frame();
    for (const auto& command : list.commands()) {
      if (command.op == DisplayList::Op::kFill &&
          command.colour == Palette::of(Theme::kLight).tone(tone).rgba() &&
          command.rect.contains(QPointF(command.rect.center().x(), inLineOf(rank, 1).y()))) {
        right = std::max(right, command.rect.right());
      }
    }
    return right;
  }
  void click(QPointF position) {
    const PointerInput left{position, Qt::LeftButton, {}, {}};
    controller_.mouse().press(left);
    controller_.mouse().release(left);
  }

  RunModel model_;
  ViewState state_;
  TimelineController controller_;
};

TEST_F(ManyRanks, BeginAsLinesThatFitAWindow) {
  EXPECT_TRUE(withLanes().empty());
  EXPECT_EQ(controller_.layout().lines().of().size(), 64u);
  EXPECT_EQ(controller_.maximumScroll(), 0);
  EXPECT_THAT(frame().texts(), Contains(QStringLiteral("All 64 ranks")));
}

// On a large screen lines are as high as can be, on a small one they give way to lanes.
TEST_F(ManyRanks, HaveTheRoomThatThereIs) {
  controller_.setSize({2000, 1200});
  EXPECT_EQ(controller_.layout().lines().lineHeight(), 14);
  EXPECT_EQ(controller_.maximumScroll(), 0);
  controller_.setSize({1000, 700});
  EXPECT_EQ(controller_.maximumScroll(), 0);
  EXPECT_GT(controller_.layout().height(), 580) << "little is left empty";
  // Where the densest rows of three ranks need it, lines take less.
  TimelineLayout::Options least{.shown = {40, 39, 3}};
  least.linesRoom = timeline_metrics::kLeastLinesRoom;
  least.density = Density::kThin;
  const double room = TimelineLayout(model_, {}, least).height();
  TimelineLayout::Options options{.shown = {40, 39, 3}};
  EXPECT_EQ(fittedLayout(model_, {}, options, room).height(), room) << "the third is in sight";
  EXPECT_EQ(options.linesRoom, least.linesRoom);
  EXPECT_EQ(options.density, Density::kThin);
}

TEST_F(ManyRanks, ALineShowsWhatItsRankDoesAndWaitsFor) {
  const TimeAxis axis = controller_.axis();
  EXPECT_NEAR(endOf(3, Tone::kForward), axis.toX(600), 1);
  EXPECT_NEAR(endOf(40, Tone::kForward), axis.toX(900), 1);
  EXPECT_NEAR(endOf(3, Tone::kWait), axis.toX(1000), 1);
}

// Somewhere in 500 ns the thread had no core for 100: a line that is all yellow would say for 500.
TEST_F(ManyRanks, AWaitForACoreTakesOfALineThePartThatWasWaited) {
  model_.applyUpdate(test::Feed(64).span(7, EventKind::kOffCore, 100, 600, 0, 100).take());
  const QColor fault = Palette::of(Theme::kLight).tone(Tone::kFault);
  const auto filled = [&](const QColor& colour) {
    double height = 0;
    const DisplayList list = frame();
    const double top = controller_.sight().yOf(
        controller_.layout().lines().topOf(*controller_.layout().lines().lineOf(3)));
    for (const auto& command : list.commands()) {
      if (command.op == DisplayList::Op::kFill && command.colour == colour.rgba() &&
          command.rect.top() >= top && command.rect.width() > 100) {
        height = std::max(height, command.rect.height());
      }
    }
    return height;
  };
  controller_.setSize({2000, 1200});
  ASSERT_EQ(controller_.layout().lines().lineHeight(), 14);
  EXPECT_EQ(filled(fault), 3) << "a fifth of 13 px, the pixel between lines left out";
  controller_.setSize({1000, 300});
  ASSERT_LT(controller_.layout().lines().lineHeight(), 6);
  EXPECT_EQ(filled(fault), 0);
  EXPECT_EQ(filled(withAlpha(fault, 0.25F)), controller_.layout().lines().lineHeight());
}

TEST_F(ManyRanks, WorldShowsWhenTheMiddleHalfOfThemCameAndNamesTheLast) {
  state_.setRange({500, 1000});
  const TimeAxis axis = controller_.axis();
  const DisplayList list = frame();
  const auto box = std::ranges::find_if(list.commands(), [&](const DisplayList::Command& command) {
    return command.op == DisplayList::Op::kOutline &&
           std::abs(command.rect.left() - axis.toX(615)) < 3;
  });
  ASSERT_NE(box, list.commands().end());
  EXPECT_NEAR(box->rect.right(), axis.toX(648), 3);
  EXPECT_TRUE(std::ranges::any_of(list.texts(), [](const QString& text) {
    return text.contains(QStringLiteral("rank 40 last"));
  }));
}

TEST_F(ManyRanks, AClickOnALineSelectsTheSpanAndGivesItsRankLanes) {
  click(inLineOf(40, 800));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->rank(), 40);
  EXPECT_EQ(state_.selection()->kind, EventKind::kForward);
  EXPECT_THAT(withLanes(), ElementsAre(40));
  click(inLineOf(7, 800));
  EXPECT_EQ(state_.selection()->kind, EventKind::kWait);
  EXPECT_THAT(withLanes(), ElementsAre(7));
  const double left = timeline_metrics::kLabelWidth / 2;
  click({left, inLineOf(9, 0).y()});
  EXPECT_THAT(withLanes(), ElementsAre(9));
}

TEST_F(ManyRanks, AFewThatAreChosenHaveLanesAndManyHaveLines) {
  state_.showRanks({50, 3, 4});
  EXPECT_THAT(withLanes(), ElementsAre(50, 3, 4));
  EXPECT_EQ(controller_.layout().lines().of().size(), 64u);
  state_.showRanks({10, 11, 12, 13, 14, 15, 16, 17, 18});
  EXPECT_TRUE(withLanes().empty());
  EXPECT_EQ(controller_.layout().lines().of().size(), 9u);
  EXPECT_THAT(frame().texts(), Contains(QStringLiteral("9 of 64 ranks")));
  state_.showRanks({64, 65});
  EXPECT_EQ(controller_.layout().lines().of().size(), 64u);
}

TEST_F(ManyRanks, WhatIsFoundGetsLanesBesideThoseThatAreShown) {
  state_.showRanks({50});
  controller_.reveal(*model_.findSpan(laneId(12, LaneRole::kPhases), 1, 100));
  EXPECT_THAT(withLanes(), ElementsAre(50, 12));
}

TEST_F(ManyRanks, AreListedWhenThatIsAskedForAndOnlyThoseInSightAreDrawn) {
  controller_.setListed(true);
  ASSERT_EQ(withLanes().size(), 64u);
  EXPECT_TRUE(controller_.layout().lines().empty());
  EXPECT_GT(controller_.maximumScroll(), 0);
  EXPECT_LT(controller_.sight().ranksInSight().size(), 20u);
  EXPECT_THAT(frame().texts(), Contains(QStringLiteral("Rank 0")));
  EXPECT_THAT(frame().texts(), Not(Contains(QStringLiteral("Rank 63"))));
  controller_.setScroll(controller_.maximumScroll());
  EXPECT_THAT(frame().texts(), Contains(QStringLiteral("Rank 63")));
  EXPECT_THAT(frame().texts(), Not(Contains(QStringLiteral("Rank 0"))));
  controller_.setListed(false);
  EXPECT_TRUE(withLanes().empty());
}

TEST_F(ManyRanks, ThoseUnlikeTheRestAreNamedAndShownOneAfterTheOther) {
  controller_.setUnlike({{40, 39, 3}, {7}});
  const std::vector<QString> texts = frame().texts();
  EXPECT_THAT(texts, Contains(QStringLiteral("rank 40")));
  EXPECT_TRUE(std::ranges::any_of(texts, [](const QString& text) {
    return text.startsWith(QStringLiteral("unlike the rest: 40, 7 · "));
  }));
  controller_.showUnlike(1);
  EXPECT_THAT(withLanes(), ElementsAre(40, 39, 3));
  controller_.showUnlike(1);
  EXPECT_THAT(withLanes(), ElementsAre(7));
  controller_.showUnlike(1);
  EXPECT_THAT(withLanes(), ElementsAre(40, 39, 3));
  controller_.showUnlike(-1);
  EXPECT_THAT(withLanes(), ElementsAre(7));
}

TEST_F(ManyRanks, APinnedRankKeepsItsLanesWhateverElseIsShown) {
  controller_.togglePin(40);
  state_.showRanks({3});
  EXPECT_THAT(withLanes(), ElementsAre(40, 3));
  EXPECT_THAT(frame().texts(), Contains(QStringLiteral("Rank 40, pinned")));
  state_.showRanks({});
  EXPECT_THAT(withLanes(), ElementsAre(40));
  controller_.togglePin(40);
  EXPECT_TRUE(withLanes().empty());
}

class EightRanks : public ManyRanks {
 protected:
  EightRanks() : ManyRanks(8) {}
};

TEST_F(EightRanks, HaveLanesAndNoLines) {
  EXPECT_TRUE(controller_.layout().lines().empty());
  EXPECT_EQ(withLanes(), upTo(8));
  state_.showRanks({5});
  EXPECT_THAT(withLanes(), ElementsAre(5));
  controller_.reveal(*model_.findSpan(laneId(2, LaneRole::kPhases), 1, 100));
  EXPECT_EQ(withLanes(), upTo(8));
}

}  // namespace
}  // namespace lockstep::ui
