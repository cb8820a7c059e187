#include "ui/model/RunModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "engine/analysis/GrowingAnalysis.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using test::Feed;
using test::kAllreduce;
using test::sequence;
using trace::EventKind;

constexpr int kPhases0 = laneId(0, LaneRole::kPhases);
constexpr int kGradients0 = laneId(0, LaneRole::kGradients);
constexpr int kCommunication0 = laneId(0, LaneRole::kCommunication);

TEST(RunModel, NestsPhasesBelowTheirStepThoughChildrenAreRecordedFirst) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kForward, 10, 40)
                        .span(1, EventKind::kBackward, 40, 90)
                        .span(1, EventKind::kStep, 0, 100)
                        .take());
  const Lane* lane = model.lane(kPhases0);
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(model.findSpan(kPhases0, 0, 50)->kind, EventKind::kStep);
  EXPECT_EQ(model.findSpan(kPhases0, 1, 20)->kind, EventKind::kForward);
  EXPECT_EQ(model.findSpan(kPhases0, 1, 50)->kind, EventKind::kBackward);
}

TEST(RunModel, SortsGradientEventsIntoALaneOfTheirOwnWhicheverThreadSentThem) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kBackward, 0, 100)
                        .span(1, EventKind::kGradientReady, 10, 10)
                        .span(1, EventKind::kCopyIn, 11, 20)
                        .span(2, EventKind::kCollective, 30, 40, 0, sequence(1), kAllreduce)
                        .take());
  EXPECT_NE(model.lane(kGradients0), nullptr);
  EXPECT_NE(model.lane(kCommunication0), nullptr);
  EXPECT_EQ(model.lane(laneId(0, LaneRole::kHook)), nullptr);
  EXPECT_EQ(model.findSpan(kGradients0, 0, 10)->kind, EventKind::kGradientReady);
  EXPECT_EQ(model.trackName(model.findSpan(kCommunication0, 1, 35)->track), "gloo 0");
}

TEST(RunModel, GivesOverlappingCollectivesRowsOfTheirOwn) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(2, EventKind::kCollective, 0, 50, 0, sequence(1), kAllreduce)
                        .span(2, EventKind::kCollective, 20, 80, 0, sequence(2), kAllreduce)
                        .span(2, EventKind::kCollective, 60, 90, 0, sequence(3), kAllreduce)
                        .take());
  EXPECT_EQ(trace::collectiveSequence(model.findSpan(kCommunication0, 1, 30)->value), 1u);
  EXPECT_EQ(trace::collectiveSequence(model.findSpan(kCommunication0, 2, 30)->value), 2u);
  EXPECT_EQ(trace::collectiveSequence(model.findSpan(kCommunication0, 1, 70)->value), 3u);
}

TEST(RunModel, TakesSpansInAnyOrderAndShowsTheSame) {
  const trace::RunUpdate whole = test::demoRun();
  trace::RunUpdate shuffled = whole;
  std::shuffle(shuffled.spans.begin(), shuffled.spans.end(), std::mt19937(3));
  RunModel inOrder;
  inOrder.applyUpdate(whole);
  RunModel late;
  late.applyUpdate(shuffled);
  ASSERT_EQ(late.spanCount(), inOrder.spanCount());
  ASSERT_EQ(late.lanes().size(), inOrder.lanes().size());
  for (const int lane : {kPhases0, kGradients0, laneId(1, LaneRole::kPhases)}) {
    const Lane* a = inOrder.lane(lane);
    const Lane* b = late.lane(lane);
    ASSERT_EQ(a->rows.size(), b->rows.size());
    for (std::size_t row = 0; row < a->rows.size(); ++row) {
      ASSERT_EQ(a->rows[row].size(), b->rows[row].size());
      for (std::size_t i = 0; i < a->rows[row].size(); ++i) {
        ASSERT_EQ(a->rows[row].at(i).id, b->rows[row].at(i).id);
      }
    }
  }
}

TEST(RunModel, KeepsSpansOfAnUnknownThreadUntilItsNameComes) {
  RunModel model;
  Feed feed;
  const auto tracks = std::exchange(feed.update.tracks, std::nullopt);
  model.applyUpdate(feed.span(3, EventKind::kStep, 0, 100).take());
  EXPECT_EQ(model.spanCount(), 0u);
  trace::RunUpdate names;
  names.tracks = tracks;
  model.applyUpdate(names);
  EXPECT_EQ(model.spanCount(), 1u);
  EXPECT_EQ(model.stepCount(1), 1u);
}

TEST(RunModel, ABetterClockMovesEverythingAndKeepsTheOrigin) {
  RunModel model;
  model.applyUpdate(Feed().span(1, EventKind::kStep, 100, 200).take());
  EXPECT_DOUBLE_EQ(model.lastStep(0)->startNs, 100);
  trace::RunUpdate better;
  better.clock = base::ClockCalibration{5000, 4000, 2.0};
  model.applyUpdate(better);
  EXPECT_DOUBLE_EQ(model.lastStep(0)->startNs, 200);
  EXPECT_DOUBLE_EQ(model.lastStep(0)->endNs, 400);
}

TEST(RunModel, KeepsNanosecondsApartThoughTicksAreHuge) {
  RunModel model;
  trace::RunUpdate update;
  update.clock = base::ClockCalibration{1ull << 60, 0, 1.0};
  update.tracks = std::vector<trace::TrackInfo>{{1, 0, "step"}};
  trace::SpanRow row;
  row.id = 1;
  row.track = 1;
  row.kind = EventKind::kStep;
  row.startTicks = (1ull << 60) + 86'400'000'000'001;  // a day later
  row.durationTicks = 1;
  update.spans.push_back(row);
  model.applyUpdate(update);
  EXPECT_EQ(model.lastStep(0)->startNs, 86'400'000'000'001.0);
  EXPECT_EQ(model.lastStep(0)->endNs, 86'400'000'000'002.0);
}

TEST(RunModel, FindsASpanByTimeAndItsPlaceAgain) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  for (std::uint32_t number : {0u, 1u, 17u, 49u}) {
    const auto step = model.step(0, number);
    ASSERT_TRUE(step.has_value()) << number;
    const auto found = model.findSpan(kPhases0, 0, (step->startNs + step->endNs) / 2);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->step, number);
    EXPECT_EQ(model.indexOf(*found), number);
    EXPECT_EQ(model.stepAt(0, step->startNs + 5)->step, number);
  }
  EXPECT_FALSE(model.step(0, 50).has_value());
  EXPECT_FALSE(model.findSpan(kPhases0, 0, -1e9).has_value());
}

TEST(RunModel, HitsAThinMarkWithinTheSlackAndTakesTheNearest) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kGradientReady, 100, 100)
                        .span(1, EventKind::kGradientReady, 110, 110)
                        .take());
  EXPECT_FALSE(model.findSpan(kGradients0, 0, 97).has_value());
  EXPECT_EQ(model.findSpan(kGradients0, 0, 97, 5)->id, 1);
  EXPECT_EQ(model.findSpan(kGradients0, 0, 104, 20)->id, 1);
  EXPECT_EQ(model.findSpan(kGradients0, 0, 107, 20)->id, 2);
}

TEST(RunModel, WalksALaneInTimeOverItsRowsForwardsAndBack) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kData, 0, 10)
                        .span(1, EventKind::kForward, 10, 40)
                        .span(1, EventKind::kStep, 0, 50)
                        .span(1, EventKind::kData, 60, 70, 1)
                        .span(1, EventKind::kStep, 60, 100, 1)
                        .take());
  std::vector<EventKind> kinds;
  std::vector<std::int64_t> forwards;
  std::optional<Span> at = model.findSpan(kPhases0, 0, 5);
  for (auto next = at; next; next = model.neighbour(*next, 1)) {
    kinds.push_back(next->kind);
    forwards.push_back(next->id);
    at = next;
  }
  EXPECT_THAT(kinds, ElementsAre(EventKind::kStep, EventKind::kData, EventKind::kForward,
                                 EventKind::kStep, EventKind::kData));
  std::vector<std::int64_t> backwards;
  for (auto next = at; next; next = model.neighbour(*next, -1)) {
    backwards.push_back(next->id);
  }
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
  const auto data = model.findSpan(kPhases0, 1, 5);
  EXPECT_EQ(model.neighbourOfSameKind(*data, 1)->step, 1u);
  EXPECT_FALSE(model.neighbourOfSameKind(*data, -1).has_value());
}

TEST(RunModel, KnowsTheIterationThatAResumedRunBeganWith) {
  RunModel model;
  EXPECT_EQ(model.firstStep(), std::nullopt);
  model.applyUpdate(Feed()
                        .span(1, EventKind::kStep, 0, 50, 301)
                        .span(3, EventKind::kStep, 5, 90, 300)
                        .span(3, EventKind::kStep, 90, 120, 301)
                        .take());
  EXPECT_EQ(model.firstStep(), 300u);
}

TEST(RunModel, AnIterationOfAllRanksReachesFromTheFirstBeginningToTheLastEnd) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kStep, 0, 50, 0)
                        .span(3, EventKind::kStep, 5, 90, 0)
                        .span(3, EventKind::kStep, 90, 120, 1)
                        .take());
  const auto both = model.stepOfAll(0);
  ASSERT_TRUE(both.has_value());
  EXPECT_DOUBLE_EQ(both->startNs, 0);
  EXPECT_DOUBLE_EQ(both->endNs, 90);
  const auto one = model.stepOfAll(1);
  ASSERT_TRUE(one.has_value()) << "one rank ended it";
  EXPECT_DOUBLE_EQ(one->startNs, 90);
  EXPECT_FALSE(model.stepOfAll(2).has_value());
}

TEST(RunModel, ShowsLostEventsOnEveryLaneOfTheThreadThatLostThem) {
  RunModel model;
  test::DemoOptions options;
  options.gapOnRank0 = true;
  model.applyUpdate(test::demoRun(options));
  const TimeRange all = model.extent();
  for (const LaneRole role : {LaneRole::kPhases, LaneRole::kGradients}) {
    const auto gaps = model.gaps(laneId(0, role), all);
    ASSERT_THAT(gaps, SizeIs(1));
    EXPECT_EQ(gaps[0].lost, 412u);
  }
  EXPECT_THAT(model.gaps(kCommunication0, all), SizeIs(0));
  EXPECT_THAT(model.gaps(laneId(1, LaneRole::kPhases), all), SizeIs(0));
  EXPECT_THAT(model.gaps(kPhases0, {0, 1e6}), SizeIs(0)) << "it lies later";
}

TEST(RunModel, JoinsGapsOfAThreadThatLieCloseTogetherAndAddsUpWhatTheyLost) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(1, EventKind::kStep, 0, 300)
                        .span(1, EventKind::kGap, 100, 110, 0, 1)
                        .span(1, EventKind::kGap, 112, 120, 0, 2)
                        .span(1, EventKind::kGap, 200, 210, 0, 4)
                        .span(1, EventKind::kGap, 50, 60, 0, 8)  // comes late
                        .take());
  const auto lostIn = [&](TimeRange within, double closeNs) {
    std::vector<std::uint64_t> lost;
    for (const GapSpan& gap : model.gaps(kPhases0, within, closeNs)) {
      lost.push_back(gap.lost);
    }
    return lost;
  };
  EXPECT_THAT(lostIn({0, 300}, 0), ElementsAre(8, 1, 2, 4));
  EXPECT_THAT(lostIn({0, 300}, 5), ElementsAre(8, 3, 4));
  EXPECT_THAT(lostIn({0, 300}, 50), ElementsAre(11, 4));
  EXPECT_THAT(lostIn({0, 300}, 1000), ElementsAre(15));
  EXPECT_THAT(lostIn({105, 115}, 5), ElementsAre(3)) << "what is not in sight is not counted";
  EXPECT_THAT(lostIn({105, 111}, 1000), ElementsAre(1));
  const GapSpan both = model.gaps(kPhases0, {0, 300}, 5)[1];
  EXPECT_DOUBLE_EQ(both.startNs, 100);
  EXPECT_DOUBLE_EQ(both.endNs, 120);
}

TEST(RunModel, KnowsTheBucketsOfEveryStep) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  ASSERT_NE(model.layoutAt(0), nullptr);
  EXPECT_EQ(model.layoutAt(0)->layout, 0u);
  EXPECT_EQ(model.layoutAt(1)->layout, 1u);
  EXPECT_EQ(model.layoutAt(40)->layout, 1u);
  EXPECT_EQ(model.rebuildStep(), 1u);
  EXPECT_EQ(RunModel().layoutAt(0), nullptr);
}

TEST(RunModel, GivesMetricsByNameAndRank) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  EXPECT_THAT(model.metricNames(), ElementsAre("loss"));
  EXPECT_THAT(model.metric("loss", 0), SizeIs(50));
  EXPECT_EQ(model.metric("loss", 1).back().step, 49u);
  EXPECT_THAT(model.metric("loss", 5), SizeIs(0));
  EXPECT_THAT(model.metric("accuracy", 0), SizeIs(0));
}

TEST(RunModelSnapshot, IsAnalysedAsTheRowsOfTheFileAre) {
  const trace::RunUpdate update = test::demoRun({});
  analysis::RunData rows;
  rows.take(update);
  RunModel model;
  model.applyUpdate(update);
  const analysis::RunAnalysis ofRows = analysis::analyse(rows);
  const analysis::RunAnalysis ofModel = analysis::analyse(model.snapshot());
  EXPECT_GT(ofRows.stepRows.size(), 0u);
  EXPECT_TRUE(std::equal(ofModel.stepRows.begin(), ofModel.stepRows.end(), ofRows.stepRows.begin(),
                         ofRows.stepRows.end()));
  EXPECT_EQ(ofModel.collectives.size(), ofRows.collectives.size());
  EXPECT_EQ(ofModel.exposedMs, ofRows.exposedMs);
  EXPECT_EQ(ofModel.lateRank, ofRows.lateRank);
}

TEST(RunModelSnapshot, OneAfterTheOtherIsAnalysedAsAllAtOnceAndNothingTwice) {
  trace::RunUpdate all = test::demoRun({.steps = 400});
  const auto spans = std::exchange(all.spans, {});
  RunModel model;
  model.applyUpdate(all);
  analysis::GrowingAnalysis growing;
  for (std::size_t first = 0; first < spans.size(); first += 3'000) {
    trace::RunUpdate piece;
    const auto last = std::min(first + 3'000, spans.size());
    piece.spans.assign(spans.begin() + static_cast<std::ptrdiff_t>(first),
                       spans.begin() + static_cast<std::ptrdiff_t>(last));
    model.applyUpdate(piece);
    const analysis::RunData now = model.snapshot();
    const analysis::RunAnalysis grown = growing.refresh(now);
    const analysis::RunAnalysis whole = analysis::analyse(now);
    EXPECT_EQ(grown.ranks, whole.ranks);
    EXPECT_EQ(grown.lateness, whole.lateness);
    EXPECT_TRUE(std::equal(grown.collectives.begin(), grown.collectives.end(),
                           whole.collectives.begin(), whole.collectives.end()));
  }
  EXPECT_EQ(growing.restarts(), 0);
}

TEST(RunModelSnapshot, StaysAsItIsWhileTheRunGrows) {
  trace::RunUpdate update = test::demoRun({});
  trace::RunUpdate rest;
  const auto half = update.spans.begin() + static_cast<std::ptrdiff_t>(update.spans.size() / 2);
  rest.spans.assign(half, update.spans.end());
  update.spans.erase(half, update.spans.end());
  RunModel model;
  model.applyUpdate(update);
  const analysis::RunData then = model.snapshot();
  const std::size_t held = then.spans.size();
  const auto before = analysis::analyse(then).exposedMs;
  model.applyUpdate(rest);
  EXPECT_GT(model.snapshot().spans.size(), held);
  EXPECT_EQ(then.spans.size(), held);
  EXPECT_EQ(analysis::analyse(then).exposedMs, before);
}

}  // namespace
}  // namespace lockstep::ui
