#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

using testing::HasSubstr;

TEST(RunFileTest, GivesBackTheFactsOfARun) {
  const TemporaryFolder folder;
  RunInfo info = runningInfo();
  info.experimentToml = "[data]\nname = \"mnist\"\n";
  info.state = RunState::kFailed;
  info.startedAt = "2024-05-06T07:08:09Z";
  info.finishedAt = "2024-05-06T07:09:09Z";
  info.failure = "rank 1 was killed by signal 9";
  info.exitCode = 5;
  info.controlSocket = "/run/user/0/x.sock";
  info.plannedSteps = 300;
  info.environment = {{"libtorch", "1.13.1"}, {"processor", "two cores"}};
  RankInfo rank;
  rank.rank = 1;
  rank.pid = 4242;
  rank.state = "killed";
  rank.signal = 9;
  rank.lastWords = "in backward of step 7";
  rank.stderrTail = "line one\nline two";
  rank.parameterHash = "0123456789abcdef";
  rank.wireBytes = 1ull << 40;
  rank.wireMessages = 77;
  rank.eventsDropped = 3;
  rank.environment = {{"threads", "1"}};

  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(info);
  writer->setRank(rank);
  RankInfo other;
  other.exitCode = 0;
  writer->setRank(other);
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  ASSERT_TRUE(update.info.has_value());
  EXPECT_EQ(update.info->runId, info.runId);
  EXPECT_EQ(update.info->name, info.name);
  EXPECT_EQ(update.info->experimentToml, info.experimentToml);
  EXPECT_EQ(update.info->state, info.state);
  EXPECT_EQ(update.info->startedAt, info.startedAt);
  EXPECT_EQ(update.info->finishedAt, info.finishedAt);
  EXPECT_EQ(update.info->failure, info.failure);
  EXPECT_EQ(update.info->exitCode, info.exitCode);
  EXPECT_EQ(update.info->supervisorPid, info.supervisorPid);
  EXPECT_EQ(update.info->supervisorStart, info.supervisorStart);
  EXPECT_EQ(update.info->controlSocket, info.controlSocket);
  EXPECT_EQ(update.info->hostName, info.hostName);
  EXPECT_EQ(update.info->worldSize, info.worldSize);
  EXPECT_EQ(update.info->plannedSteps, info.plannedSteps);
  EXPECT_EQ(update.info->environment, info.environment);
  ASSERT_TRUE(update.ranks.has_value());
  ASSERT_EQ(update.ranks->size(), 2);
  EXPECT_EQ((*update.ranks)[0].exitCode, 0);
  const RankInfo& read = (*update.ranks)[1];
  EXPECT_EQ(read.pid, rank.pid);
  EXPECT_EQ(read.state, rank.state);
  EXPECT_EQ(read.exitCode, std::nullopt);
  EXPECT_EQ(read.signal, rank.signal);
  EXPECT_EQ(read.lastWords, rank.lastWords);
  EXPECT_EQ(read.stderrTail, rank.stderrTail);
  EXPECT_EQ(read.parameterHash, rank.parameterHash);
  EXPECT_EQ(read.wireBytes, rank.wireBytes);
  EXPECT_EQ(read.wireMessages, rank.wireMessages);
  EXPECT_EQ(read.eventsDropped, rank.eventsDropped);
  EXPECT_EQ(read.environment, rank.environment);
}

TEST(RunFileTest, GivesBackEventsWithTheirFullRange) {
  const TemporaryFolder folder;
  Event widest;
  widest.startTicks = (1ull << 63) - 1;
  widest.durationTicks = (1ull << 48) - 1;
  widest.kind = static_cast<std::uint16_t>(EventKind::kCollective);
  widest.step = 0xFFFFFFFF;
  widest.bucket = 0xFFFE;
  widest.detail = 0xFFFF;
  widest.value = ~0ull;
  auto writer = createRun(folder / "a.lockstep");
  writer->addTrack(TrackInfo{4, 1, "gloo 0"});
  writer->addEvent(4, widest);
  writer->addEvent(4, Event{.startTicks = 5, .kind = 12});
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  ASSERT_EQ(update.spans.size(), 2);
  const SpanRow& span = update.spans[0];
  EXPECT_EQ(span.track, 4);
  EXPECT_EQ(span.kind, EventKind::kCollective);
  EXPECT_EQ(span.startTicks, widest.startTicks);
  EXPECT_EQ(span.durationTicks, widest.durationTicks);
  EXPECT_EQ(span.step, widest.step);
  EXPECT_EQ(span.bucket, widest.bucket);
  EXPECT_EQ(span.detail, widest.detail);
  EXPECT_EQ(span.value, widest.value);
  EXPECT_EQ(update.spans[1].bucket, kNoBucket);
  ASSERT_TRUE(update.tracks.has_value());
  EXPECT_EQ(update.tracks->at(0).name, "gloo 0");
  EXPECT_EQ(update.tracks->at(0).rank, 1);
}

TEST(RunFileTest, GivesBackParametersAndLayouts) {
  const TemporaryFolder folder;
  const ParametersMessage parameters{
      {{"fc.weight", {10, 20}, "float32", 200, 800}, {"scale", {}, "float64", 1, 8}}};
  const BucketsMessage first{
      0, 0, "construction", {{{0}, {0}, 800, 1024, "float32"}, {{1}, {0}, 8, 0, "float64"}}};
  BucketsMessage second{1, 1, "rebuild", {{{1, 0}, {0, 64}, 864, 0, "float32"}}};
  auto writer = createRun(folder / "a.lockstep");
  writer->setParameters(parameters);
  writer->addLayout(first);
  writer->addLayout(first);  // said twice is kept once
  writer->addLayout(second);
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  EXPECT_EQ(update.parameters, parameters.parameters);
  ASSERT_TRUE(update.layouts.has_value());
  ASSERT_EQ(update.layouts->size(), 2);
  EXPECT_EQ(update.layouts->at(0).buckets, first.buckets);
  EXPECT_EQ(update.layouts->at(0).reason, "construction");
  EXPECT_EQ(update.layouts->at(1).buckets, second.buckets);
  EXPECT_EQ(update.layouts->at(1).step, 1);
}

TEST(RunFileTest, GivesBackMetricsLogProblemsAndTheLatestClock) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->addMetric(MetricRow{0, 1, "loss", 4, 99, 0.5});
  writer->addMetric(MetricRow{0, 1, "loss", 5, 100, std::nan("")});
  writer->addLog(LogRow{0, -1, 7, "ranks are up"});
  writer->addProblem(ProblemRow{0, "warning", 1, 4, "slow"});
  writer->addClock({10, 20, 0.5});
  writer->addClock({11, 21, 0.25});
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  ASSERT_EQ(update.metrics.size(), 2);
  EXPECT_EQ(update.metrics[0].rank, 1);
  EXPECT_EQ(update.metrics[0].name, "loss");
  EXPECT_EQ(update.metrics[0].step, 4);
  EXPECT_EQ(update.metrics[0].ticks, 99);
  EXPECT_EQ(update.metrics[0].value, 0.5);
  EXPECT_TRUE(std::isnan(update.metrics[1].value)) << "a diverged loss must stay visible";
  ASSERT_EQ(update.log.size(), 1);
  EXPECT_EQ(update.log[0].rank, -1);
  EXPECT_EQ(update.log[0].text, "ranks are up");
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_EQ(update.problems[0].severity, "warning");
  EXPECT_EQ(update.problems[0].text, "slow");
  ASSERT_TRUE(update.clock.has_value());
  EXPECT_EQ(update.clock->originTicks, 11);
  EXPECT_EQ(update.clock->originNs, 21);
  EXPECT_EQ(update.clock->nsPerTick, 0.25);
}

TEST(RunFileTest, SummarisesWithoutReadingTheRows) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  RunInfo info = runningInfo();
  info.state = RunState::kFinished;
  writer->setInfo(info);
  writer->setRank(RankInfo{});
  writer->addMetric(MetricRow{0, 0, "loss", 8, 1, 2.0});
  writer->addMetric(MetricRow{0, 0, "loss", 9, 2, 1.0});
  writer->addMetric(MetricRow{0, 1, "loss", 9, 2, 7.0});
  writer->addEvent(0, Event{.startTicks = 1, .kind = 10, .step = 9});
  writer->addEvent(0, Event{.startTicks = 2, .kind = 12, .step = 10});
  ASSERT_TRUE(writer->finish().ok());

  const auto summary = readRunSummary(folder / "a.lockstep");
  ASSERT_TRUE(summary.ok()) << summary.error().message();
  EXPECT_EQ(summary.value().info.state, RunState::kFinished);
  EXPECT_EQ(summary.value().ranks.size(), 1);
  EXPECT_EQ(summary.value().lastMetrics.at("loss"), 1.0);
  EXPECT_EQ(summary.value().lastStep, 9);
}

TEST(RunFileTest, LeavesOneFileAtTheEnd) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 1000);
  EXPECT_EQ(folder.listing(), "a.lockstep");
  EXPECT_EQ(query(folder / "a.lockstep", "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(query(folder / "a.lockstep", "PRAGMA integrity_check"), "ok");
}

TEST(RunFileTest, NeverOverwritesAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.lockstep") << "mine";
  const auto writer = RunFileWriter::create(folder / "a.lockstep");
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message(), HasSubstr("exists already"));
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileTest, SaysWhyItCannotBeCreated) {
  const TemporaryFolder folder;
  const auto writer = RunFileWriter::create(folder / "no/such/a.lockstep");
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message(), HasSubstr("No such file or directory"));
  EXPECT_THAT(writer.error().message(), HasSubstr("a.lockstep"));
}

TEST(RunFileTest, OpensPathsWithBlanksAndSpecialCharacters) {
  const TemporaryFolder folder;
  const auto path = folder / "50% of what? run #1.lockstep";
  makeFinishedRun(path, 3);
  EXPECT_EQ(readAll(*openRun(path)).spans.size(), 3);
  EXPECT_EQ(folder.listing(), "50% of what? run #1.lockstep");
}

TEST(RunFileTest, ShowsNamesAndNanosecondsToPeopleWithASqlPrompt) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->addClock({1'000, 5'000'000, 0.5});
  writer->addTrack(TrackInfo{2, 1, "gloo 0"});
  writer->setParameters({{{"fc.bias", {4}, "float32", 4, 16}}});
  Event collective{.startTicks = 1'200, .step = 3, .bucket = 6};
  collective.durationTicks = 400;
  collective.kind = static_cast<std::uint16_t>(EventKind::kCollective);
  collective.detail = packOperation(Operation::kAllreduce, 2);
  collective.value = packCollective(0xFFFFFF, 123'456);
  writer->addEvent(2, collective);
  Event ready{.startTicks = 900, .step = 3};
  ready.kind = static_cast<std::uint16_t>(EventKind::kGradientReady);
  writer->addEvent(2, ready);
  writer->addMetric(MetricRow{0, 1, "loss", 3, 1'400, 0.5});
  ASSERT_TRUE(writer->finish().ok());

  const auto path = folder / "a.lockstep";
  EXPECT_EQ(query(path,
                  "SELECT rank, track, kind, start_ns, duration_ns, step, bucket FROM "
                  "spans_ns ORDER BY id"),
            "1|gloo 0|collective|5000100|200|3|6\n1|gloo 0|gradient_ready|4999950|0|3|null");
  EXPECT_EQ(query(path,
                  "SELECT rank, group_number, sequence, operation, step, bucket, bytes, "
                  "start_ns, duration_ns FROM collectives"),
            "1|2|16777215|allreduce|3|6|123456|5000100|200");
  EXPECT_EQ(query(path, "SELECT rank, step, parameter, ready_ns FROM gradients_ready"),
            "1|3|fc.bias|4999950");
  EXPECT_EQ(query(path, "SELECT rank, name, step, at_ns, value FROM metrics_ns"),
            "1|loss|3|5000200|0.5");
}

}  // namespace
}  // namespace lockstep::trace
