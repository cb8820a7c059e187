#include "ui/views/live/LiveScene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/live/LookAtLive.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

using test::analysed;
using test::drawn;
using test::look;

TEST(LiveSceneTest, FitsIntoNarrowAndWideFrames) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const LiveContent content = look(model);
  for (const QSizeF size : {QSizeF(420, 900), QSizeF(900, 640), QSizeF(2000, 1200)}) {
    const LiveScene scene(model, content, Palette::of(Theme::kLight), {size, std::nullopt});
    for (int i = 0; i < kLiveFigures; ++i) {
      const QRectF tile = scene.tileRect(static_cast<LiveFigure>(i));
      EXPECT_GE(tile.left(), 0);
      EXPECT_LE(tile.right(), size.width());
      EXPECT_LT(tile.bottom(), scene.timeline().top());
    }
    EXPECT_FALSE(scene.cells().empty());
    for (const LiveScene::Cell& cell : scene.cells()) {
      EXPECT_GT(cell.rect.width(), 4);
      EXPECT_LE(cell.rect.right(), size.width());
    }
    EXPECT_LE(scene.lossChart().bottom(), size.height());
  }
}

// In the window the verdict says it, right above.
TEST(LiveSceneTest, HowARunEndedIsSaidInAPictureAloneAndThereInFull) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  LiveContent content = look(model);
  content.problem = QStringLiteral(
      "rank 1 was ended by SIGKILL 157 ms into iteration 40, rank 0 lost the connection to it "
      "after 0.3 s in allreduce of bucket 0 and ended");
  const auto texts = [&](bool alone) {
    QStringList all;
    const DisplayList list = drawn(model, content, QSizeF(500, 900), alone);
    for (const QString& text : list.texts()) {
      all << text;
    }
    return all;
  };
  EXPECT_FALSE(texts(false).join(' ').contains("SIGKILL"));
  const QStringList alone = texts(true);
  EXPECT_TRUE(alone.join(' ').contains(content.problem)) << "on several lines";
  EXPECT_FALSE(alone.contains(content.problem)) << "which are as wide as the picture";
}

// The windows of 1,280x800 and of a screen at 200 % leave this to the view.
TEST(LiveSceneTest, EachOfAFewRanksIsInSight) {
  constexpr double kAboveLanes = 24 + timeline_metrics::kRulerHeight;
  for (const int ranks : {2, 3, 8}) {
    RunModel model;
    model.applyUpdate(test::demoRun({.ranks = ranks, .steps = 10}));
    const LiveContent content = look(model);
    for (const QSizeF size :
         {QSizeF(970, 540), QSizeF(970, 475), QSizeF(1150, 640), QSizeF(2200, 1200)}) {
      const LiveScene scene(model, content, Palette::of(Theme::kLight), {size, std::nullopt});
      const TimelineLayout& lanes = scene.lanes();
      EXPECT_LE(scene.lossChart().bottom(), size.height());
      if (scene.timeline().isEmpty()) {
        EXPECT_LE(size.height(), 475);
        continue;
      }
      const std::size_t shown =
          lanes.lines().empty() ? lanes.ranks().size() : lanes.lines().lines().size();
      EXPECT_EQ(shown, static_cast<std::size_t>(ranks)) << size.height();
      EXPECT_LE(lanes.height() - timeline_metrics::kRankGap - scene.lanesFrom(),
                scene.timeline().height() - kAboveLanes)
          << ranks << " ranks in " << size.height();
    }
  }
}

TEST(LiveSceneTest, RanksThatAreUnlikeTheRestShowTheirBucketsFirst) {
  RunModel model;
  model.applyUpdate(test::demoRun({.ranks = 9, .steps = 10}));
  LiveContent content = look(model);
  content.unlike = {7, 4};
  const LiveScene scene(model, content, Palette::of(Theme::kLight),
                        {QSizeF(1200, 760), std::nullopt});
  std::vector<int> shown;
  for (const LiveScene::Cell& cell : scene.cells()) {
    const int rank = content.ranks[cell.rank].rank;
    if (shown.empty() || shown.back() != rank) {
      shown.push_back(rank);
    }
  }
  EXPECT_EQ(shown, (std::vector<int>{7, 4, 0, 1}));
  EXPECT_TRUE(scene.lanes().lines().isUnlike(7)) << "its line is marked, too";
}

// As when the run has failed and its reason takes a line.
TEST(LiveSceneTest, ChartsStayInSightInALowFrame) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  LiveContent content = look(model);
  content.problem = QStringLiteral("rank 1 was killed");
  for (const QSizeF size : {QSizeF(1000, 420), QSizeF(700, 420), QSizeF(1000, 300)}) {
    const LiveScene scene(model, content, Palette::of(Theme::kLight), {size, std::nullopt, true});
    EXPECT_LE(scene.lossChart().bottom(), size.height()) << size.width();
    EXPECT_GE(scene.lossChart().height(), 80) << size.width();
    EXPECT_FALSE(scene.timeline().contains(scene.lossChart().center()));
  }
}

TEST(LiveSceneTest, SaysOfHowManyRanksTheCurvesAreTheExtremes) {
  RunModel model;
  model.applyUpdate(test::nineSpeeds());
  const DisplayList list = drawn(model, look(model), QSizeF(1200, 760));
  for (const char* text : {"Throughput, extremes of 9 ranks", "All 9 ranks"}) {
    EXPECT_TRUE(std::ranges::any_of(list.texts(), [&](const QString& said) {
      return said.startsWith(QString::fromLatin1(text));
    })) << text;
  }
}

TEST(LiveSceneTest, TheBandsOfManyRanksAreNamed) {
  RunModel model;
  model.applyUpdate(test::nineInABand());
  const DisplayList list = drawn(model, look(model), QSizeF(1400, 760));
  EXPECT_EQ(std::ranges::count(list.texts(), QStringLiteral("middle half")), 2) << "of both charts";
}

TEST(LiveSceneTest, ALossThatIsNoNumberIsMarkedOnce) {
  RunModel model;
  model.applyUpdate(test::demoThatLosesItsLoss());
  const DisplayList list = drawn(model, look(model), QSizeF(1200, 900));
  EXPECT_EQ(std::ranges::count(list.texts(),
                               QStringLiteral("no finite number, first in iteration 30, rank 0")),
            1);
}

// The narrowest window in which six tiles stand in a row.
TEST(LiveSceneTest, NotesOfTilesAreReadWholeInANarrowWindow) {
  RunModel model;
  trace::RunUpdate update = test::demoRun(test::demoWithLateRank());
  update.info->state = trace::RunState::kFinished;
  model.applyUpdate(update);
  const LiveContent content = look(model, analysed(update));
  const DisplayList list = drawn(model, content, QSizeF(980, 700));
  for (const LiveFigure figure : {LiveFigure::kStepsPerSecond, LiveFigure::kOverlap}) {
    const QString& note = content.tile(figure).note;
    EXPECT_TRUE(std::ranges::any_of(list.commands(), [&](const DisplayList::Command& command) {
      return command.op == DisplayList::Op::kText && list.textOf(command) == note &&
             command.rect.width() >= textWidth(note, FontRole::kSmall);
    })) << note.toStdString();
  }
}

}  // namespace
}  // namespace lockstep::ui
