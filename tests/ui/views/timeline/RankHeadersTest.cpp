#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QStringList>
#include <algorithm>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/views/timeline/TimelineSceneFixture.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/views/timeline/layers/LanesLayer.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

class RankHeaders : public TimelineSceneFixture {
 protected:
  /// Rank 1 ends with these words.
  void endRank1(const char* words) {
    trace::RunUpdate end;
    end.info = model_.info();
    end.info->state = trace::RunState::kFailed;
    end.ranks = model_.ranks();
    ASSERT_GE(end.ranks->size(), 2u);
    (*end.ranks)[1].state = "killed";
    (*end.ranks)[1].signal = 9;
    (*end.ranks)[1].lastWords = words;
    model_.applyUpdate(end);
  }
};

TEST_F(RankHeaders, GivesTheLastWordsOfARankThatDied) {
  load();
  endRank1("rank 1 was ended by SIGKILL in iteration 50, in forward for 3 ms");
  EXPECT_TRUE(saysBeside("ended by SIGKILL in iteration 50, in forward for 3 ms · 50 iterations"));
}

TEST_F(RankHeaders, ARankWhoseRecorderDiedIsNotSaidToRun) {
  load();
  trace::RunUpdate end;
  end.info = model_.info();
  end.info->state = trace::RunState::kRecorderDied;
  end.ranks = model_.ranks();
  for (trace::RankInfo& rank : *end.ranks) {
    rank.state = "running";
    rank.exitCode.reset();
  }
  model_.applyUpdate(end);
  EXPECT_TRUE(saysBeside("its end was not recorded · 50 iterations"));
  EXPECT_FALSE(saysBeside("running"));
}

TEST_F(RankHeaders, SaysWhichHostARankIsOnWhereThereAreSeveral) {
  load();
  EXPECT_FALSE(saysBeside("finished · 50 iterations · on "));
  trace::RunUpdate moved = test::Feed().onTwoHosts(31'000).take();
  for (trace::RankInfo& rank : *moved.ranks) {
    rank.state = "finished";
  }
  moved.tracks.reset();
  moved.clock.reset();
  model_.applyUpdate(moved);
  EXPECT_TRUE(saysBeside("finished · 50 iterations · on alpha, which recorded the run"));
  EXPECT_TRUE(saysBeside("finished · 50 iterations · on beta, clock ± 31.0 µs"));
}

TEST_F(RankHeaders, KeepsAThinStripOfACollapsedRank) {
  load();
  const double whole = layout_.height();
  layout_ = TimelineLayout(model_, {0});
  EXPECT_LT(layout_.height(), whole - 80);
  showStep(20);
  EXPECT_TRUE(scene().rectOf(first(EventKind::kForward, 20)).has_value());
  EXPECT_FALSE(scene().rectOf(first(EventKind::kWait, 20)).has_value());
  EXPECT_TRUE(scene().rectOf(first(EventKind::kWait, 20, 1)).has_value());
}

// On a modelled link, as on a GPU, most of the time of a collective is not its call's.
TEST_F(RankHeaders, AFoldedRankHasItsLinksInTheStripOfItsCollectives) {
  test::Feed feed;
  for (const int track : {2, 4}) {
    feed.span(track - 1, EventKind::kStep, 0, 1000)
        .span(track, EventKind::kCollective, 100, 120, 0, test::sequence(1), test::kAllreduce)
        .span(track, EventKind::kShaped, 120, 500, 0, test::sequence(1), test::kAllreduce)
        .span(track, EventKind::kCollective, 300, 320, 0, test::sequence(2), test::kAllreduce)
        .span(track, EventKind::kShaped, 500, 800, 0, test::sequence(2), test::kAllreduce);
  }
  model_.applyUpdate(feed.take());
  layout_ = TimelineLayout(model_, {0});
  frame_.size = QSizeF(1400, layout_.height() + 60);
  showStep(0);
  const auto at = [&](int row, double ns) {
    return scene().rectOf(*model_.findSpan(laneId(0, LaneRole::kCommunication), row, ns));
  };
  const auto call = at(1, 110);
  const auto second = at(1, 310);
  const auto link = at(run::factsOf(EventKind::kShaped).row, 400);
  ASSERT_TRUE(call && second && link);
  EXPECT_EQ(link->top(), call->top());
  EXPECT_EQ(link->height(), call->height());
  EXPECT_GT(link->width(), 10 * call->width());
  const auto kindUnder = [&](const QPointF& pointer) {
    const auto span = LanesLayer::spanAt(TimelineSight(model_, layout_, frame_), pointer);
    return span ? span->kind : EventKind::kGap;
  };
  EXPECT_EQ(kindUnder(call->center()), EventKind::kCollective);
  EXPECT_EQ(kindUnder(link->center() + QPointF(100, 0)), EventKind::kShaped);
  EXPECT_EQ(kindUnder(second->center()), EventKind::kShaped) << "which lies on top";
}

// What a rank died of is a long sentence: nothing of it is cut before other facts are left out, and
// the pointer tells all.
TEST_F(RankHeaders, WhatHasNoRoomIsLeftOutWholeAndStandsOnACard) {
  load();
  endRank1("rank 1 was ended by SIGKILL in iteration 50, in forward for 3 ms");
  const QString words = QStringLiteral("ended by SIGKILL in iteration 50, in forward for 3 ms");
  frame_.size.setWidth(timeline_metrics::kLabelWidth + textWidth(words, FontRole::kSmall) + 40);
  EXPECT_THAT(draw().texts(), testing::Contains(words)) << "without the iterations";
  const TimelineLayout::RankBox* box = layout_.boxOf(1);
  ASSERT_NE(box, nullptr);
  frame_.pointer = QPointF(40, timeline_metrics::kRulerHeight + box->top + 10);
  QString card;
  const DisplayList beneath = draw();
  for (const QString& text : beneath.texts()) {
    card += text + QLatin1Char(' ');
  }
  EXPECT_TRUE(card.contains("50 iterations")) << card.toStdString();
  frame_.size.setWidth(1400);
  EXPECT_THAT(draw().texts(), testing::Not(testing::Contains(QStringLiteral("50 iterations"))))
      << "no card where the header says all";
}

}  // namespace
}  // namespace lockstep::ui
