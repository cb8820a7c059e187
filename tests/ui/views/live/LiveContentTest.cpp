#include "ui/views/live/LiveContent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/views/live/LookAtLive.h"
#include "ui/model/Format.h"
#include "ui/views/live/LiveBuckets.h"
#include "ui/views/live/LivePicture.h"
#include "ui/views/live/LiveTable.h"

namespace lockstep::ui {
namespace {

using test::analysed;
using test::demoWithLateRank;
using test::Feed;
using test::kMs;
using test::look;
using trace::EventKind;

/// Rank 0 ends a step every 10 ms, rank 1 every 20 ms; the file says that two ranks train.
trace::RunUpdate twoSpeeds() {
  Feed feed;
  for (std::uint32_t step = 0; step < 10; ++step) {
    feed.span(1, EventKind::kStep, step * 10 * kMs, (step + 1) * 10 * kMs, step);
    feed.span(3, EventKind::kStep, step * 20 * kMs, (step + 1) * 20 * kMs, step);
  }
  feed.update.info.emplace();
  feed.update.info->worldSize = 2;
  feed.update.info->state = trace::RunState::kFinished;
  return feed.take();
}

TEST(LiveContentTest, TheSlowestRankSetsTheSpeed) {
  RunModel model;
  model.applyUpdate(twoSpeeds());
  const LiveContent content = look(model);
  EXPECT_EQ(content.tile(LiveFigure::kStepsPerSecond).value, QStringLiteral("50.0"));
  EXPECT_EQ(content.tile(LiveFigure::kStepsPerSecond).note, QStringLiteral("20.0 ms step to step"));
  EXPECT_DOUBLE_EQ(*content.ranks[0].stepsPerSecond, 100);
  EXPECT_DOUBLE_EQ(*content.ranks[1].stepMs, 20);
}

TEST(LiveContentTest, WhatIsNotKnownIsSaidToBeUnknown) {
  RunModel model;
  const LiveContent empty = look(model);
  for (const LiveTile& tile : empty.tiles) {
    EXPECT_EQ(tile.value, QStringLiteral("unknown")) << tile.name.toStdString();
    EXPECT_FALSE(tile.definition.isEmpty());
  }
  EXPECT_FALSE(empty.iterations.has_value());
  model.applyUpdate(twoSpeeds());
  EXPECT_EQ(look(model).tile(LiveFigure::kThroughput).value, QStringLiteral("unknown"))
      << "no experiment, so no batch size";
  EXPECT_EQ(look(model).throughputUnit, QStringLiteral("steps/s"));
}

TEST(LiveContentTest, MultipliesStepsByTheSamplesOfAllRanks) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  run.info->experimentToml = "[data]\nkind = \"synthetic\"\nbatch_size = 32\n[train]\nsteps = 10\n";
  model.applyUpdate(run);
  const LiveContent content = look(model);
  EXPECT_EQ(content.tile(LiveFigure::kThroughput).value, QStringLiteral("3,200 /s"))
      << "50 steps/s of 2 x 32 samples";
  ASSERT_FALSE(content.throughput[0].points.empty());
  EXPECT_NEAR(content.throughput[0].points.front().y(), 3'200, 1) << "rank 0: 100 steps/s of 32";
}

TEST(LiveContentTest, ShowsTheLastIterationsThatAllRanksHaveEnded) {
  RunModel model;
  model.applyUpdate(twoSpeeds());
  const LiveContent content = look(model);
  EXPECT_EQ(content.firstIteration, 7u);
  EXPECT_EQ(content.lastIteration, 9u);
  EXPECT_LT(content.iterations->startNs, 70.0 * kMs);
  EXPECT_GT(content.iterations->endNs, 200.0 * kMs);
}

TEST(LiveContentTest, TakesOnlyWhatIsNewWhileARunGrows) {
  RunModel model;
  LiveFeed feed;
  feed.setModel(&model);
  model.applyUpdate(twoSpeeds());
  feed.update(nullptr);
  Feed more;
  more.nextId = 100;
  more.span(1, EventKind::kStep, 100 * kMs, 110 * kMs, 10);
  model.applyUpdate(more.take());
  feed.update(nullptr);
  ASSERT_EQ(feed.ranks()[0].steps.size(), 11u);
  EXPECT_EQ(feed.ranks()[0].steps.back().step, 10u);
  EXPECT_EQ(feed.ranks()[1].steps.size(), 10u);
}

TEST(LiveContentTest, ABetterClockMovesWhatWasTaken) {
  RunModel model;
  LiveFeed feed;
  feed.setModel(&model);
  model.applyUpdate(twoSpeeds());
  feed.update(nullptr);
  Feed more;
  more.nextId = 100;
  more.span(1, EventKind::kStep, 100 * kMs, 110 * kMs, 10);
  more.update.clock = base::ClockCalibration{1000, 0, 2.0};
  model.applyUpdate(more.take());
  feed.update(nullptr);
  ASSERT_EQ(feed.ranks()[0].steps.size(), 11u);
  for (const StepSpan& step : feed.ranks()[0].steps) {
    EXPECT_DOUBLE_EQ(step.endNs - step.startNs, 20.0 * kMs);
  }
}

// Bucket 0 of two gradients has one, bucket 1 has its only one and is launched.
TEST(LiveContentTest, FillsBucketsAsTheirGradientsBecomeReady) {
  Feed feed(1);
  feed.update.layouts.emplace();
  trace::BucketsMessage layout;
  layout.buckets.resize(2);
  layout.buckets[0].parameters = {0, 1};
  layout.buckets[0].bytes = 800;
  layout.buckets[1].parameters = {2};
  layout.buckets[1].bytes = 200;
  feed.update.layouts->push_back(layout);
  const auto instant = [&](EventKind kind, std::uint64_t at, std::uint16_t bucket,
                           std::uint32_t step) {
    feed.span(1, kind, at, at, step);
    feed.update.spans.back().bucket = bucket;
  };
  feed.span(1, EventKind::kStep, 0, 10 * kMs, 0);
  instant(EventKind::kGradientReady, 11 * kMs, 0, 1);
  instant(EventKind::kGradientReady, 12 * kMs, 1, 1);
  instant(EventKind::kBucketReady, 12 * kMs, 1, 1);
  instant(EventKind::kBucketLaunched, 12 * kMs, 1, 1);
  RunModel model;
  model.applyUpdate(feed.take());
  const LiveRank rank = bucketsNow(model, 0);
  EXPECT_EQ(rank.step, 1u);
  EXPECT_FALSE(rank.stepEnded);
  ASSERT_EQ(rank.buckets.size(), 2u);
  EXPECT_EQ(rank.buckets[0].ready, 1u);
  EXPECT_FALSE(rank.buckets[0].launched);
  EXPECT_EQ(rank.buckets[1].ready, 1u);
  EXPECT_TRUE(rank.buckets[1].launched);
  EXPECT_FALSE(rank.buckets[1].reduced);
  EXPECT_DOUBLE_EQ(rank.buckets[1].readyNs, 1.0 * kMs);
}

TEST(LiveContentTest, ABucketIsReducedWhenItsStepHasEnded) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  for (const LiveBucket& bucket : bucketsNow(model, 1).buckets) {
    EXPECT_TRUE(bucket.reduced);
    EXPECT_EQ(bucket.ready, bucket.parameters);
  }
  EXPECT_EQ(bucketsNow(model, 7).step, std::nullopt) << "there is no such rank";
}

TEST(LiveContentTest, OfManyRanksTheLowestTheMiddleAndTheHighestHaveACurve) {
  RunModel model;
  model.applyUpdate(test::nineSpeeds());
  const LiveContent content = look(model);
  ASSERT_EQ(content.throughput.size(), 3u);
  EXPECT_EQ(content.throughput.front().rank, 7);
  EXPECT_EQ(content.throughput.back().rank, 4);
  EXPECT_TRUE(content.loss.empty()) << "none was reported";
  EXPECT_EQ(content.ranks.size(), 9u) << "the table has all";
}

TEST(LiveContentTest, OfManyRanksAllLieInABand) {
  RunModel model;
  model.applyUpdate(test::nineInABand());
  const LiveContent content = look(model);
  ASSERT_FALSE(content.lossBand.places.empty());
  EXPECT_EQ(content.lossBand.places.front().most, 8);
  const RankBand::Place& last = content.lossBand.places.back();
  EXPECT_EQ(last.x, 39);
  EXPECT_EQ(last.least, 0);
  EXPECT_EQ(last.quarter, 1);
  EXPECT_EQ(last.half, 3);
  EXPECT_EQ(last.most, 7);
  for (const RankBand::Place& place : content.throughputBand.places) {
    EXPECT_NEAR(place.half, 100, 1);
  }
  EXPECT_EQ(content.throughput.size(), 3u) << "the extremes are named";
}

/// Both ranks end a step each 3 s, the last one 30 s after the start.
trace::RunUpdate slowSteps(trace::RunState state) {
  Feed feed;
  for (std::uint32_t step = 0; step < 10; ++step) {
    for (const int track : {1, 3}) {
      feed.span(track, EventKind::kStep, step * 3000 * kMs, (step + 1) * 3000 * kMs, step);
    }
  }
  feed.update.info.emplace();
  feed.update.info->worldSize = 2;
  feed.update.info->state = state;
  return feed.take();
}

// 2 s into an iteration that will take 3: nothing has fallen yet.
TEST(LiveContentTest, AnIterationThatGoesOnIsNoFall) {
  RunModel model;
  model.applyUpdate(slowSteps(trace::RunState::kRunning));
  LiveFeed feed;
  feed.setModel(&model);
  feed.update(nullptr);
  const auto course = [&](double afterNs) {
    return liveContent(model, feed, model.extent().endNs + afterNs)
        .tile(LiveFigure::kStepsPerSecond)
        .course;
  };
  for (const double value : course(2e9)) {
    EXPECT_NEAR(value, 1.0 / 3, 0.01);
  }
  const auto hanging = course(25e9);
  EXPECT_EQ(hanging.back(), 0) << "silent for eight iterations";
  EXPECT_NEAR(hanging.front(), 1.0 / 3, 0.01);
}

TEST(LiveContentTest, ACourseHasNoHolesWhereIterationsAreLong) {
  RunModel model;
  trace::RunUpdate run = slowSteps(trace::RunState::kRunning);
  for (std::uint32_t step = 0; step < 10; ++step) {
    trace::MetricRow loss;
    loss.name = "loss";
    loss.step = step;
    loss.ticks = (step + 1) * 3000 * kMs;
    loss.value = 10.0 - step;
    run.metrics.push_back(loss);
  }
  model.applyUpdate(run);
  const auto course = look(model).tile(LiveFigure::kLoss).course;
  const auto known = [](double value) { return std::isfinite(value); };
  const auto first = std::ranges::find_if(course, known);
  ASSERT_NE(first, course.end());
  const auto last = std::find_if(course.rbegin(), course.rend(), known).base();
  EXPECT_TRUE(std::all_of(first, last, known));
  EXPECT_TRUE(std::is_sorted(first, last, std::greater<>())) << "what lies between lies between";
}

TEST(LiveContentTest, ChartsStayWhenTheRunEnds) {
  RunModel model;
  model.applyUpdate(slowSteps(trace::RunState::kRunning));
  const LiveContent live = look(model);
  trace::RunUpdate end;
  end.info.emplace();
  end.info->worldSize = 2;
  end.info->state = trace::RunState::kFinished;
  model.applyUpdate(end);
  const LiveContent over = look(model);
  ASSERT_FALSE(over.live);
  ASSERT_EQ(over.throughput.size(), live.throughput.size());
  for (std::size_t rank = 0; rank < live.throughput.size(); ++rank) {
    EXPECT_EQ(over.throughput[rank].points, live.throughput[rank].points);
    for (const QPointF& point : over.throughput[rank].points) {
      EXPECT_NEAR(point.y(), 1.0 / 3, 0.01) << "no fall at the end";
    }
  }
}

TEST(LiveContentTest, ShowsLossAndThroughputOfEachRank) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const LiveContent content = look(model);
  ASSERT_EQ(content.loss.size(), 2u);
  EXPECT_EQ(content.loss[1].rank, 1);
  EXPECT_EQ(content.loss[1].points.size(), 50u);
  EXPECT_GT(content.loss[1].points.front().y(), content.loss[1].points.back().y());
  EXPECT_GT(content.throughput[0].points.size(), 10u);
  EXPECT_NE(content.tile(LiveFigure::kLoss).value, QStringLiteral("unknown"));
}

TEST(LiveContentTest, TakesItsOverlapFromTheAnalysis) {
  RunModel model;
  model.applyUpdate(test::demoRun(demoWithLateRank()));
  const auto run = analysed(test::demoRun(demoWithLateRank()));
  const LiveContent content = look(model, run);
  EXPECT_EQ(content.tile(LiveFigure::kLateRank).value, QStringLiteral("rank 1"));
  EXPECT_EQ(content.tile(LiveFigure::kOverlap).value, formatPercent(*run->analysis.overlapPercent))
      << "as the verdict writes it";
  int known = 0;
  for (const double value : content.tile(LiveFigure::kOverlap).course) {
    known += std::isfinite(value) ? 1 : 0;
  }
  EXPECT_GT(known, 20);
  const Picture picture = livePicture(model, run, QSize(1000, 0), Theme::kDark);
  EXPECT_TRUE(picture.list.texts().size() > 20);
}

TEST(LiveContentTest, NamesNoLateRankWhomTheHostsClocksCannotTell) {
  RunModel model;
  model.applyUpdate(test::demoRun(demoWithLateRank()));
  for (const std::int64_t uncertaintyNs : {1'000ll, 1'000'000'000ll}) {
    trace::RunUpdate update = test::demoRun(demoWithLateRank());
    update.hosts = std::vector<trace::HostState>{
        {{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
        {{1, "beta", "", "tsc"}, trace::ClockOffset{0, uncertaintyNs}}};
    for (trace::RankInfo& rank : *update.ranks) {
      rank.host = rank.rank;  // the demo has two
    }
    const auto run = analysed(update);
    trace::RunUpdate hosts;
    hosts.hosts = update.hosts;
    hosts.ranks = update.ranks;
    model.applyUpdate(hosts);
    const LiveTile tile = look(model, run).tile(LiveFigure::kLateRank);
    const bool known = uncertaintyNs == 1'000;
    EXPECT_EQ(tile.value, known ? QStringLiteral("rank 1") : QStringLiteral("none"));
    EXPECT_EQ(tile.note.endsWith(QStringLiteral("the hosts' clocks can tell")), !known)
        << tile.note.toStdString();
  }
}

TEST(LiveContentTest, SaysWhyARunFailed) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  run.info->state = trace::RunState::kFailed;
  run.info->failure = "rank 1 was killed";
  model.applyUpdate(run);
  EXPECT_EQ(look(model).problem, QStringLiteral("rank 1 was killed"));
}

TEST(LiveContentTest, SaysWhereARunDivergedWhileItStillRuns) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  run.info->state = trace::RunState::kRunning;
  run.info->divergence = trace::RunDivergence{7, 1, "fc.bias", "the replicas differ at step 7"};
  model.applyUpdate(run);
  EXPECT_EQ(look(model).problem, QStringLiteral("Diverged: the replicas differ at step 7"));
}

TEST(LiveContentTest, ALossThatIsNoNumberIsSaidAndMarked) {
  RunModel model;
  model.applyUpdate(test::demoThatLosesItsLoss());
  const LiveContent content = look(model);
  EXPECT_EQ(content.tile(LiveFigure::kLoss).value, QStringLiteral("not a number"));
  EXPECT_EQ(content.loss[0].lostAt, 30.0);
  EXPECT_EQ(content.loss[0].lostUntil, 49.0) << "the axis goes on to the last iteration";
  EXPECT_EQ(content.loss[1].lostAt, std::nullopt);
  ASSERT_TRUE(content.ranks[0].loss.has_value());
  EXPECT_TRUE(std::isnan(*content.ranks[0].loss));
  const auto rows = liveRows(std::make_shared<LiveContent>(content), nullptr);
  const auto& columns = rows->columns();
  const auto loss = std::ranges::find(columns, QString("Loss"), &TableRows::Column::title);
  ASSERT_NE(loss, columns.end());
  EXPECT_EQ(rows->text(0, static_cast<std::size_t>(loss - columns.begin())), "NaN");
}

TEST(LiveContentTest, SaysOverWhatEachFigureOfAnEndedRunIs) {
  RunModel model;
  trace::RunUpdate update = test::demoRun(demoWithLateRank());
  update.info->state = trace::RunState::kFinished;
  model.applyUpdate(update);
  const LiveContent content = look(model, analysed(update));
  ASSERT_FALSE(content.live);
  EXPECT_EQ(content.tile(LiveFigure::kStepsPerSecond).definition,
            "Iterations a second of the slowest rank by the wall clock, evaluation and checkpoints "
            "between them included, over the measured iterations, after the warm-up.");
  EXPECT_EQ(content.tile(LiveFigure::kOverlap).definition,
            "Time in which communication was in flight and the rank computed, over the time in "
            "which communication was in flight, in percent: the median over iterations of the rank "
            "whose communication is exposed most.");
  EXPECT_EQ(content.tile(LiveFigure::kOverlap).note, "hidden, rank 0");
  EXPECT_EQ(content.tile(LiveFigure::kExposed).definition,
            "Time of an iteration, in ms, in which communication was in flight and the rank did "
            "not compute: the median over iterations of the rank that has most of it. The overlap "
            "view says why it is there.");
  EXPECT_EQ(content.tile(LiveFigure::kExposed).note, "a step, rank 0");
  EXPECT_EQ(
      content.tile(LiveFigure::kLateRank).definition,
      "The rank that comes later to the collectives than the others, beyond what chance does, "
      "and its part of all waiting, in percent, since the warm-up. Of ranks that take turns "
      "being last none is late, nor is one that had no core.");
  EXPECT_TRUE(content.tile(LiveFigure::kLateRank).note.endsWith(" % of all waiting"));
  EXPECT_TRUE(content.tile(LiveFigure::kThroughput)
                  .definition.startsWith("Training samples a second of all ranks together: steps/s "
                                         "times the samples of a step, over the measured"));
  EXPECT_EQ(content.tile(LiveFigure::kLoss).definition,
            "Training loss of the latest step of rank 0, over that rank's own batch.");
}

TEST(LiveContentTest, OfALiveRunTheFiguresAreOfItsLastMinuteOrSeconds) {
  RunModel model;
  trace::RunUpdate update = test::demoRun();
  update.info->state = trace::RunState::kRunning;
  model.applyUpdate(update);
  const LiveContent content = look(model, analysed(update));
  ASSERT_TRUE(content.live);
  EXPECT_TRUE(content.tile(LiveFigure::kStepsPerSecond).definition.endsWith("over the last 10 s."));
  EXPECT_TRUE(
      content.tile(LiveFigure::kOverlap)
          .definition.contains("the median over iterations of the last minute of the rank"));
  LiveFeed feed;
  feed.setModel(&model);
  feed.update(analysed(update));
  const LiveContent later = liveContent(model, feed, model.extent().endNs + 90e9);
  EXPECT_EQ(later.tile(LiveFigure::kStepsPerSecond).note, "nothing ended for 10 s");
  EXPECT_EQ(later.tile(LiveFigure::kOverlap).note,
            "no measured iteration of the last minute communicated");
}

TEST(LiveContentTest, NamesNoLateRankWhereNobodyIsOrTheRunCannotTell) {
  RunModel model;
  trace::RunUpdate update = test::demoRun();
  update.info->state = trace::RunState::kFinished;
  model.applyUpdate(update);
  const auto note = [&](const auto& change) {
    auto run = analysed(update);
    run->analysis.lateRank.reset();
    change(*run);
    return look(model, run).tile(LiveFigure::kLateRank).note.toStdString();
  };
  EXPECT_EQ(note([](AnalysedRun& run) { run.analysis.lateness.resize(2); }),
            "nobody beyond chance");
  EXPECT_EQ(note([](AnalysedRun& run) { run.analysis.lateness.clear(); }),
            "too few iterations to tell, or clocks too far apart");
  EXPECT_EQ(note([](AnalysedRun& run) { run.analysis.waits = {}; }), "nobody was waited for");
  auto silent = analysed(update);
  silent->analysis.overlapPercent.reset();
  EXPECT_EQ(look(model, silent).tile(LiveFigure::kOverlap).note,
            "no measured iteration communicated");
}

TEST(LiveContentTest, SaysWhyThereIsNoThroughputAndWhatItIsMadeOf) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  model.applyUpdate(run);
  EXPECT_EQ(look(model).tile(LiveFigure::kThroughput).note, "batch size not recorded");
  RunModel whole;
  run.info->experimentToml = "[data]\nkind = \"synthetic\"\nbatch_size = 32\n[train]\nsteps = 10\n";
  whole.applyUpdate(run);
  EXPECT_EQ(look(whole).tile(LiveFigure::kThroughput).note, "64 samples a step");
  EXPECT_EQ(look(whole).throughputUnit, "samples/s of each rank");
}

TEST(LiveContentTest, SaysThatARunFailedThatLeftNoReason) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  run.info->state = trace::RunState::kFailed;
  model.applyUpdate(run);
  EXPECT_EQ(look(model).problem, "The run failed.");
}

// The ranks may have gone on without it.
TEST(LiveContentTest, DoesNotSayThatARunFailedWhoseRecorderDied) {
  RunModel model;
  trace::RunUpdate run = twoSpeeds();
  run.info->state = trace::RunState::kRecorderDied;
  model.applyUpdate(run);
  EXPECT_EQ(look(model).problem, "The recorder died: how the run ended is not known.");
}

}  // namespace
}  // namespace lockstep::ui
