#include "ui/views/overlap/OverlapWords.h"

#include <gtest/gtest.h>

#include <QRegularExpression>
#include <algorithm>
#include <iterator>
#include <optional>

#include "tests/ui/views/overlap/HandMadeContent.h"
#include "ui/views/overlap/OverlapScene.h"

namespace lockstep::ui {
namespace {

/// Everything that is drawn for a frame of a wide view.
QString drawn(const OverlapContent& content, QSizeF size,
              std::optional<QPointF> pointer = std::nullopt, std::uint32_t steps = 0) {
  OverlapFrame frame;
  frame.size = size;
  frame.firstStep = content.firstStep;
  frame.lastStep = steps > 0 ? steps : content.lastStep + 1.0;
  frame.pointer = pointer;
  DisplayList list;
  OverlapScene(content, Palette::of(Theme::kLight), frame).draw(list);
  QStringList texts;
  std::copy(list.texts().begin(), list.texts().end(), std::back_inserter(texts));
  return texts.join(QLatin1Char(' '));
}

OverlapScene sceneOf(const OverlapContent& content, QSizeF size) {
  OverlapFrame frame;
  frame.size = size;
  frame.firstStep = content.firstStep;
  frame.lastStep = content.lastStep + 1.0;
  return {content, Palette::of(Theme::kLight), frame};
}

/// A rank whose step of 10 ms loses so much of it to transfer.
analysis::RankOverlap rankThatLoses(double transferMs, std::optional<bool> bottleneck = {}) {
  analysis::RankOverlap rank;
  rank.steps = 11;
  rank.stepMs = 10;
  rank.overlapPercent = 50;
  rank.exposedMs = transferMs;
  rank.waitingMs = 0;
  rank.transferMs = transferMs;
  rank.noopMs = 10 - transferMs;
  rank.bottleneck = bottleneck;
  rank.noopFasterPercent = 100 * (rank.stepMs / rank.noopMs - 1);
  rank.headroomMs = 3;
  rank.headroomPercent = 30;
  rank.hiddenMs = 1;
  return rank;
}

TEST(OverlapWords, CallTransferABottleneckFromTenPerCentOn) {
  EXPECT_EQ(overlap_words::verdict(rankThatLoses(0.5, false)),
            "Without any transfer there would be at most 5.3 % more steps a second: below 10 % "
            "transfer is not the bottleneck. The backward can hide at most 3.00 ms (30.0 % of "
            "forward, backward and transfer); 1.00 ms of transfer is hidden now, under whatever "
            "phase.");
  EXPECT_TRUE(overlap_words::verdict(rankThatLoses(2, true))
                  .startsWith("Without any transfer there would be up to 25.0 % more steps a "
                              "second: transfer is a bottleneck."));
}

TEST(OverlapWords, SayWhereNobodyCanTellWhetherTransferIsABottleneck) {
  analysis::RankOverlap rank = rankThatLoses(2);
  EXPECT_TRUE(overlap_words::verdict(rank).startsWith(
      "Without any transfer there would be about 25.0 % more steps a second: whether that is 10 % "
      "or more, from where transfer counts as a bottleneck, cannot be told from this run."));
  rank.coreWaitMs = 0.6;
  EXPECT_TRUE(
      overlap_words::verdict(rank).contains("whether that is 10 % or more, from where transfer "
                                            "counts as a bottleneck, cannot be told from this run, "
                                            "in which threads had no core for 600 µs a step."))
      << overlap_words::verdict(rank).toStdString();
}

TEST(OverlapWords, SayThatAFasterTransferDoesNotShortenAWaitForOtherRanks) {
  analysis::RankOverlap rank = rankThatLoses(2, true);
  rank.waitingMs = 0.6;
  EXPECT_TRUE(overlap_words::verdict(rank).contains(
      " It waits 600 µs a step for other ranks, which a faster transfer would not shorten."))
      << overlap_words::verdict(rank).toStdString();
}

TEST(OverlapWords, DoNotSayWhatOverlapCouldHideWhereThatIsUnknown) {
  analysis::RankOverlap rank = rankThatLoses(2);
  rank.headroomMs.reset();
  EXPECT_TRUE(overlap_words::verdict(rank).endsWith(
      " How much overlap could hide is unknown: waiting and transfer cannot be told apart in this "
      "run."));
}

TEST(OverlapWords, SayOfARankWithNothingInFlightThatItWouldBeNoFaster) {
  analysis::RankOverlap rank = rankThatLoses(0);
  rank.exposedMs.reset();
  EXPECT_EQ(overlap_words::verdict(rank),
            "Nothing is in flight: without communication a step would be no faster.");
}

TEST(OverlapWords, GiveTheRangeOverTheRanksAndWhatItIsTheMedianOf) {
  const auto content = test::handMadeContent(12);
  EXPECT_EQ(content->headline,
            "Overlap 0.0 % (rank 1) to 25.0 % (rank 0) of the time in flight  ·  1.00 ms (rank 1) "
            "to 3.00 ms (rank 0) of communication exposed a step (medians)");
  EXPECT_EQ(overlap_words::medians(*content, false),
            "2 ranks, each its median over 11 iterations; step 0 is left out as warm-up.");
  const QString spoken = overlap_words::description(*content);
  EXPECT_TRUE(spoken.contains("late rank 1: 1.50 ms a step. Rank 1 came")) << spoken.toStdString();
}

TEST(OverlapWords, CountTheIterationsThatAreLeftOutBecauseOfDroppedEvents) {
  const OverlapContent content = *test::handMadeContent(12, {{0, 3}});
  EXPECT_TRUE(overlap_words::medians(content, true)
                  .endsWith("; 1 left out because events were dropped in it."));
  const auto at = sceneOf(content, {1200, 600}).positionOf({0, 3});
  ASSERT_TRUE(at.has_value());
  EXPECT_TRUE(drawn(content, {1200, 600}, at)
                  .contains("Events were dropped here: the figures may be wrong."));
}

// Iteration 0 is warm-up and left out for that; both ranks dropped events in iteration 5.
TEST(OverlapWords, CountAnIterationThatIsLeftOutOnceHoweverManyRanksDroppedEvents) {
  OverlapContent content = *test::handMadeContent(12, {{0, 0}, {1, 0}, {0, 5}, {1, 5}});
  EXPECT_TRUE(overlap_words::medians(content, true)
                  .endsWith("; 1 left out because events were dropped in it."))
      << overlap_words::medians(content, true).toStdString();
  content = *test::handMadeContent(12, {{0, 0}, {1, 0}, {0, 5}, {1, 5}, {0, 3}});
  EXPECT_TRUE(overlap_words::medians(content, true)
                  .endsWith("; 2 left out because events were dropped in them."));
}

TEST(OverlapWords, TellARunWithoutCommunicationFromOneThatIsNotMeasuredYet) {
  analysis::RunAnalysis run = test::handMadeRun(12).analysis;
  run.overlapPercent.reset();
  EXPECT_EQ(overlap_words::headline(run), "Nothing was communicated in the measured iterations");
  EXPECT_EQ(overlap_words::headline({}), "No iteration after the warm-up yet");
  EXPECT_EQ(overlap_words::reasonsTitle(OverlapContent{}, std::nullopt),
            "No iteration is measured yet (all ranks)");
  OverlapContent content = *test::handMadeContent(12);
  content.ranks[1].measured.reset();
  content.ranks[1].reasons.clear();
  EXPECT_EQ(overlap_words::reasonsTitle(content, 1), "No iteration is measured yet (rank 1)");
  content.reasons.clear();
  EXPECT_EQ(overlap_words::reasonsTitle(content, std::nullopt),
            "No communication is exposed (all ranks)");
  content.ranks[0].measured->steps = 1;
  EXPECT_TRUE(overlap_words::medians(content, false)
                  .startsWith("2 ranks, each its median over 1 iteration; "));
}

TEST(OverlapWords, ExplainABarARankAndACauseUnderThePointer) {
  OverlapContent content = *test::handMadeContent(12);
  const OverlapScene scene = sceneOf(content, {1200, 600});
  const QString rank = drawn(content, {1200, 600}, scene.rows()[0].label.center());
  EXPECT_TRUE(rank.contains("rank 0: medians (with warm-up)"));
  EXPECT_TRUE(rank.contains("idle"));
  EXPECT_TRUE(rank.contains("A click lists the causes of this rank alone")) << rank.toStdString();
  const QString reason = drawn(content, {1200, 600}, scene.positionOfReason(0));
  EXPECT_TRUE(reason.contains("of the exposed time"));
  EXPECT_TRUE(reason.contains("A click selects the worst of them.")) << reason.toStdString();
  EXPECT_TRUE(reason.contains("3.00 ms, rank 0, iteration 1")) << reason.toStdString();
  run::Grown<analysis::StepOverlap> steps;
  for (analysis::StepOverlap step : content.ranks[0].steps) {
    step.idleMs = step.times.step == 5 ? 4 : step.idleMs;
    steps.push_back(std::move(step));
  }
  content.ranks[0].steps = std::move(steps);
  const QString bar = drawn(content, {1200, 600}, scene.positionOf({0, 5}));
  EXPECT_TRUE(bar.contains("Idle for 4.00 ms, in \"other\": the step waits for a bucket"))
      << bar.toStdString();
}

TEST(OverlapWords, SayThatABarStandsForTheMeanOfSeveralIterations) {
  const auto content = test::handMadeContent(5'000);
  const auto at = sceneOf(*content, {1200, 600}).positionOf({1, 3'000});
  ASSERT_TRUE(at.has_value());
  const QString card = drawn(*content, {1200, 600}, at);
  const auto title =
      QRegularExpression::wildcardToRegularExpression("*rank 1, iterations * to * (mean)*");
  EXPECT_TRUE(QRegularExpression(title).match(card).hasMatch()) << card.toStdString();
}

/// Where a text stands that contains these words; empty where none does.
QRectF placeOf(const DisplayList& list, const QString& words) {
  for (const DisplayList::Command& command : list.commands()) {
    if (command.op == DisplayList::Op::kText && list.textOf(command).contains(words)) {
      return command.rect;
    }
  }
  return {};
}

TEST(OverlapWords, SayHowManyCausesHaveNoRoomAboveWhatOverlapGives) {
  OverlapContent content = *test::handMadeContent(12);
  const auto reason = content.reasons.front();
  content.reasons.insert(content.reasons.end(), 30, reason);
  int seen = 0;
  for (int height = 300; height <= 900; height += 7) {
    DisplayList list;
    sceneOf(content, {1200.0, static_cast<double>(height)}).draw(list);
    const QRectF more = placeOf(list, "more with less effect");
    const QRectF ladder = placeOf(list, "What overlap gives");
    if (!more.isEmpty() && !ladder.isEmpty()) {
      ++seen;
      EXPECT_LE(more.bottom(), ladder.top()) << "in a view of " << height << " pixels";
    }
  }
  EXPECT_GT(seen, 20);
}

}  // namespace
}  // namespace lockstep::ui
