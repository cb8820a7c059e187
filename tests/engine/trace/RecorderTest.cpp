#include "engine/trace/Event.h"
#include "engine/trace/Recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "engine/base/Thread.h"
#include "tests/engine/trace/Recording.h"

namespace lockstep::trace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(RecorderTest, CarriesEventsOfEveryRankAndThreadToTheFile) {
  Recording recording(2);
  Lane& step = recording.rank(0).lane("step");
  Lane& gloo = recording.rank(0).lane("gloo 0");
  Lane& other = recording.rank(1).lane("step");
  const std::uint64_t start = base::ticks();
  step.spanUntil(EventKind::kForward, start, start + 100, 7);
  gloo.spanUntil(EventKind::kCollective, start, start + 200, 7, 2, packCollective(9, 1'000),
                 packOperation(Operation::kAllreduce));
  other.spanUntil(EventKind::kStep, start, start + 300, 7);
  step.number(EventKind::kLoss, 7, 0.125);
  const RunUpdate update = recording.finish();

  ASSERT_EQ(update.spans.size(), 3) << "a loss is a metric, no span";
  std::map<std::string, SpanRow> byLane;
  for (const SpanRow& span : update.spans) {
    const auto track = std::find_if(update.tracks->begin(), update.tracks->end(),
                                    [&](const TrackInfo& t) { return t.id == span.track; });
    ASSERT_NE(track, update.tracks->end());
    byLane[std::to_string(track->rank) + " " + track->name] = span;
  }
  EXPECT_EQ(byLane["0 step"].durationTicks, 100);
  EXPECT_EQ(byLane["0 gloo 0"].bucket, 2);
  EXPECT_EQ(collectiveSequence(byLane["0 gloo 0"].value), 9);
  EXPECT_EQ(byLane["1 step"].durationTicks, 300);
  EXPECT_THAT(valuesOf(update, "loss"), ElementsAre(0.125));
  ASSERT_TRUE(update.clock.has_value());
  EXPECT_NEAR(static_cast<double>(update.clock->toNs(base::ticks()) - base::monotonicNs()), 0, 1e6);
}

TEST(RecorderTest, ShowsEventsToALiveReaderWithoutBeingAsked) {
  Recording recording(1);
  Lane& lane = recording.rank(0).lane("step");
  lane.instant(EventKind::kBucketReady, 1, 4, 77);
  EXPECT_TRUE(recording.waitUntil([](const RunUpdate& update) {
    return update.spans.size() == 1 && update.spans[0].value == 77;
  }));
  EXPECT_TRUE(recording->finish().ok());
}

TEST(RecorderTest, StoresWhatTheRanksSay) {
  Recording recording(2);
  const ParametersMessage parameters{{{"fc.weight", {2, 3}, "float32", 6, 24}}};
  const BucketsMessage layout{0, 0, "construction", {{{0}, {0}, 24, 0, "float32"}}};
  for (int rank = 0; rank < 2; ++rank) {
    Tracer& tracer = recording.rank(rank);
    tracer.send(toJson(parameters));
    tracer.send(toJson(layout));
    tracer.send(toJson(EnvironmentMessage{{{"threads", std::to_string(rank + 1)}}}));
    tracer.send(toJson(SummaryMessage{3, 0.5, "hash"}));
  }
  recording.rank(0).send(toJson(EvaluationMessage{2, 0.5, 0.75, 100}));
  recording.rank(1).send(toJson(ProblemMessage{"warning", 2, "a slow disk"}));
  recording.rank(1).send("{\"type\": \"tea\"}");
  const RunUpdate update = recording.finish();

  EXPECT_EQ(update.parameters, parameters.parameters);
  ASSERT_EQ(update.layouts->size(), 1);
  EXPECT_EQ(update.layouts->at(0).buckets, layout.buckets);
  EXPECT_EQ(update.ranks->at(0).environment.at("threads"), "1");
  EXPECT_EQ(update.ranks->at(1).environment.at("threads"), "2");
  EXPECT_EQ(update.ranks->at(0).parameterHash, "hash");
  EXPECT_EQ(update.ranks->at(1).parameterHash, "hash");
  EXPECT_THAT(valuesOf(update, "test_loss"), ElementsAre(0.5));
  EXPECT_THAT(valuesOf(update, "test_accuracy"), ElementsAre(0.75));
  ASSERT_EQ(update.problems.size(), 2);
  EXPECT_EQ(update.problems[0].text, "a slow disk");
  EXPECT_EQ(update.problems[0].rank, 1);
  EXPECT_THAT(update.problems[1].text, AllOf(HasSubstr("rank 1"), HasSubstr("\"tea\"")));
}

TEST(RecorderTest, NamesTheRankAndTheFirstItemThatDiffers) {
  Recording recording(3);
  const auto parameters = [](std::int64_t rows) {
    return toJson(ParametersMessage{
        {{"a", {1}, "float32", 1, 4}, {"fc.weight", {rows, 2}, "float32", 2 * rows, 8 * rows}}});
  };
  recording.rank(2).send(parameters(5));  // before rank 0 has spoken
  recording.rank(1).send(parameters(4));
  recording.rank(0).send(parameters(4));
  recording.rank(0).send(toJson(BucketsMessage{1, 1, "rebuild", {{{0, 1}, {0, 4}, 36, 0, "f"}}}));
  recording.rank(1).send(toJson(BucketsMessage{1, 1, "rebuild", {{{1, 0}, {0, 32}, 36, 0, "f"}}}));
  const RunUpdate update = recording.finish();

  EXPECT_EQ(update.parameters->at(1).shape, (std::vector<std::int64_t>{4, 2})) << "rank 0's";
  ASSERT_EQ(update.problems.size(), 2);
  for (const ProblemRow& problem : update.problems) {
    EXPECT_EQ(problem.severity, "error");
    if (problem.rank == 2) {
      EXPECT_THAT(problem.text, HasSubstr("parameter 1 is fc.weight [5, 2] float32 on rank 2, but "
                                          "fc.weight [4, 2] float32 on rank 0"));
    } else {
      EXPECT_EQ(problem.rank, 1);
      EXPECT_THAT(problem.text, HasSubstr("bucket 0 is parameters [1, 0], 36 bytes, f on rank 1"));
    }
  }
}

TEST(RecorderTest, NamesARankWithMoreParametersOrAnotherStepOfItsBuckets) {
  Recording recording(2);
  const ParametersMessage::Parameter parameter{"a", {1}, "float32", 1, 4};
  recording.rank(0).send(toJson(ParametersMessage{{parameter}}));
  recording.rank(1).send(toJson(ParametersMessage{{parameter, parameter}}));
  recording.rank(0).send(toJson(BucketsMessage{1, 1, "rebuild", {{{0}, {0}, 4, 0, "f"}}}));
  recording.rank(1).send(toJson(BucketsMessage{1, 2, "rebuild", {{{0}, {0}, 4, 0, "f"}}}));
  const RunUpdate update = recording.finish();
  ASSERT_EQ(update.problems.size(), 2);
  EXPECT_THAT(update.problems[0].text, HasSubstr("rank 1 has 2 parameters, rank 0 has 1"));
  EXPECT_THAT(update.problems[1].text,
              HasSubstr("layout 1 begins at step 2 on rank 1, but at step 1 on rank 0"));
}

TEST(RecorderTest, NamesARankWithOneBucketWhereRank0HasMore) {
  Recording recording(2);
  recording.rank(0).send(
      toJson(BucketsMessage{1, 1, "rebuild", {{{0}, {0}, 4, 0, "f"}, {{1}, {0}, 4, 0, "f"}}}));
  recording.rank(1).send(toJson(BucketsMessage{1, 1, "rebuild", {{{0}, {0}, 4, 0, "f"}}}));
  const RunUpdate update = recording.finish();
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_THAT(update.problems[0].text, HasSubstr("rank 1 has 1 bucket, rank 0 has 2"));
}

TEST(RecorderTest, ComparesBucketsOfRanksThatWereStartedAgainLifeByLife) {
  Recording recording(2);
  const auto layout = [](std::uint32_t step, std::uint64_t bytes) {
    return toJson(BucketsMessage{1, step, "rebuild", {{{0}, {0}, bytes, 0, "f"}}});
  };
  recording.rank(0).send(layout(1, 4));
  recording.rank(1).send(layout(1, 4));
  recording.rank(1).send(layout(7, 8));  // its second life is here before rank 0's
  recording.rank(0).send(layout(7, 8));
  recording.rank(0).send(layout(9, 8));
  recording.rank(1).send(layout(9, 16));
  const RunUpdate update = recording.finish();
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_THAT(
      update.problems[0].text,
      HasSubstr("the ranks' buckets differ: layout 1: bucket 0 is parameters [0], 16 bytes"));
  EXPECT_EQ(update.problems[0].rank, 1);
  EXPECT_EQ(update.problems[0].step, 9);
}

TEST(RecorderTest, TellsProgress) {
  Recording recording(2);
  EXPECT_EQ(recording->progress().startup, "spawn");
  LastWords& words = recording.rank(1).lastWords();
  Lane& lane = recording.rank(1).lane("step");
  {
    const ScopedSpan model(lane, EventKind::kStartup, 0, &words, kNoBucket, 0,
                           static_cast<std::uint16_t>(StartupStage::kModel));
    while (recording->progress().startup != "model") {
      std::this_thread::sleep_for(1ms);
    }
  }
  Lane& first = recording.rank(0).lane("step");
  first.span(EventKind::kStep, base::ticks(), 4);
  first.number(EventKind::kLoss, 4, 2.5);
  EXPECT_TRUE(recording->finish().ok());
  const Recorder::Progress progress = recording->progress();
  EXPECT_THAT(progress.steps, ElementsAre(5, 0));
  EXPECT_EQ(progress.loss, 2.5);
  EXPECT_EQ(progress.startup, "");
  EXPECT_EQ(progress.events, 3);
}

TEST(RecorderTest, TellsTheEndOfTheRunOnlyWithTheLastRows) {
  Recording recording(1);
  Lane& lane = recording.rank(0).lane("step");
  recording->updateInfo([](RunInfo& info) {
    info.state = RunState::kFinished;
    info.failure = "mark";
  });
  EXPECT_TRUE(recording.waitUntil([](const RunUpdate& update) {
    return update.info.has_value() && update.info->failure == "mark" &&
           update.info->state == RunState::kRunning;
  }));
  lane.instant(EventKind::kBucketReady, 0);
  const RunUpdate update = recording.finish();
  EXPECT_EQ(update.info->state, RunState::kFinished);
  EXPECT_EQ(update.spans.size(), 1);
}

TEST(RecorderTest, WritesWhatTheSupervisorKnows) {
  Recording recording(2);
  recording->updateRank(1, [](RankInfo& rank) {
    rank.state = "killed";
    rank.signal = 9;
    rank.lastWords = "in backward";
  });
  recording->addLog(-1, "two ranks started");
  recording->addProblem(ProblemRow{0, "error", 1, 3, "rank 1 was killed"});
  recording->addMetric(MetricRow{0, 0, "link_bandwidth", 0, 5, 1e9});
  const RunUpdate update = recording.finish();
  EXPECT_EQ(update.ranks->at(0).state, "starting");
  EXPECT_EQ(update.ranks->at(1).state, "killed");
  EXPECT_EQ(update.ranks->at(1).signal, 9);
  ASSERT_EQ(update.log.size(), 1);
  EXPECT_EQ(update.log[0].text, "two ranks started");
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_THAT(valuesOf(update, "link_bandwidth"), ElementsAre(1e9));
}

TEST(RecorderTest, SamplesTheRanksProcessWithoutItsHelp) {
  Recording recording(1);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    base::nameThisThread("gloo busy");
    while (!stop) {
    }
  });
  recording->updateRank(0, [](RankInfo& rank) { rank.pid = getpid(); });
  recording.rank(0).countSent(5'000'000, 3);
  recording.rank(0).countReceived(4'000'000);
  std::map<std::string, double> highest;
  EXPECT_TRUE(recording.waitUntil([&](const RunUpdate& update) {
    for (const MetricRow& metric : update.metrics) {
      highest[metric.name] = std::max(highest[metric.name], metric.value);
    }
    return highest["comm_threads_cpu_percent"] > 5 && highest["resident_bytes"] > 0;
  }));
  stop = true;
  busy.join();
  const RunUpdate update = recording.finish();
  EXPECT_GT(highest["resident_bytes"], 1e6);
  EXPECT_GE(highest["cpu_percent"], highest["comm_threads_cpu_percent"]);
  double sent = 0;
  for (const double rate : valuesOf(update, "sent_bytes_per_second")) {
    sent = std::max(sent, rate);
  }
  EXPECT_GT(sent, 1e6);
  EXPECT_FALSE(valuesOf(update, "received_bytes_per_second").empty());
  EXPECT_FALSE(valuesOf(update, "ring_fill_percent").empty());
  EXPECT_FALSE(valuesOf(update, "step_thread_cpu_percent").empty());
  EXPECT_EQ(update.ranks->at(0).wireBytes, 5'000'000);
  EXPECT_EQ(update.ranks->at(0).wireMessages, 3);
}

TEST(RecorderTest, TakesNoCountersWhereNoneAreWanted) {
  Recording recording(1, {}, {}, {.drainEvery = 2ms, .countersHz = 0});
  recording->updateRank(0, [](RankInfo& rank) { rank.pid = getpid(); });
  recording.rank(0).countSent(5'000'000, 3);
  const RunUpdate update = recording.finish();
  EXPECT_TRUE(update.metrics.empty());
  EXPECT_EQ(update.ranks->at(0).wireBytes, 5'000'000) << "which is a fact of the rank";
}

TEST(RecorderTest, TakesCountersAsOftenAsItIsToldAndOnceAtTheEnd) {
  Recording seldom(1, {}, {}, {.drainEvery = 2ms, .countersHz = 0.001});
  EXPECT_EQ(valuesOf(seldom.finish(), "ring_fill_percent").size(), 1);
  // Of a rank that emits nothing the rings are emptied four times a second: forty in ten seconds.
  Recording often(1, {}, {}, {.drainEvery = 50ms, .countersHz = 100});
  std::size_t samples = 0;
  EXPECT_TRUE(often.waitUntil([&](const RunUpdate& update) {
    samples += valuesOf(update, "ring_fill_percent").size();
    return samples > 60;
  }));
}

TEST(RecorderTest, MayBeFinishedTwiceAndToldThingsAfterwards) {
  Recording recording(1);
  EXPECT_TRUE(recording->finish().ok());
  recording->addLog(0, "too late");
  recording->updateInfo([](RunInfo& info) { info.state = RunState::kFailed; });
  const RunUpdate update = recording.finish();
  EXPECT_TRUE(update.log.empty());
}

}  // namespace
}  // namespace lockstep::trace
