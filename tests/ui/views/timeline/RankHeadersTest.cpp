#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QStringList>
#include <algorithm>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/views/timeline/TimelineSceneFixture.h"
#include "ui/canvas/TextMetrics.h"

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
