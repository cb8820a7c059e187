#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "tests/engine/trace/Recording.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The recording host ticks twice a nanosecond and says 1,000,000 ns at its tick 10,000. The other
// one ticks once a nanosecond, and its clock is 400,000 ns ahead.
const base::ClockCalibration kHere{10'000, 1'000'000, 0.5};
const base::ClockCalibration kThere{500, 2'000'000, 1};
const ClockOffset kAhead{400'000, 30};

/// The tick there at `ns` of the recording host's axis.
std::uint64_t there(std::int64_t ns) {
  return static_cast<std::uint64_t>(ns + kAhead.offsetNs - kThere.originNs) + kThere.originTicks;
}

std::uint64_t here(std::int64_t ns) {
  return static_cast<std::uint64_t>(ns - kHere.originNs) * 2 + kHere.originTicks;
}

Event forward(std::uint64_t start, std::uint64_t duration, std::uint32_t step = 0) {
  return Event{.startTicks = start, .durationTicks = duration, .kind = 12, .step = step};
}

/// A run of rank 0 here (track 0) and rank 1 there (track 1).
std::unique_ptr<RunFileWriter> twoHosts(const std::filesystem::path& path,
                                        RunState state = RunState::kFinished) {
  auto writer = createRun(path);
  RunInfo info = runningInfo();
  info.state = state;
  writer->setInfo(info);
  writer->addHost({0, "alpha", "", "tsc"});
  writer->addHost({1, "beta", "10.0.0.2", "monotonic"});
  for (int rank = 0; rank < 2; ++rank) {
    RankInfo facts;
    facts.rank = rank;
    facts.host = rank;
    writer->setRank(facts);
    writer->addTrack({rank, rank, "step"});
  }
  writer->addClock(kHere);
  return writer;
}

std::vector<std::uint64_t> startsOf(const RunUpdate& update, int track) {
  std::vector<std::uint64_t> starts;
  for (const SpanRow& span : update.spans) {
    if (span.track == track) {
      starts.push_back(span.startTicks);
    }
  }
  return starts;
}

TEST(HostsTest, GivesBackTheHostsAndTheirOffsets) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  writer->addHost({2, "gamma", "10.0.0.3", "tsc"});
  writer->addClock(1, kThere, {1, 1'000});
  writer->addClock(1, kThere, kAhead);
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  ASSERT_EQ(update.hosts->size(), 3);
  EXPECT_EQ(update.hosts->at(1).info.name, "beta");
  EXPECT_EQ(update.hosts->at(1).info.address, "10.0.0.2");
  EXPECT_EQ(update.hosts->at(1).info.clockSource, "monotonic");
  EXPECT_EQ(update.hosts->at(0).offset, ClockOffset{});
  EXPECT_EQ(update.hosts->at(1).offset, kAhead) << "the latest counts";
  EXPECT_FALSE(update.hosts->at(2).offset.has_value());
  EXPECT_EQ(update.ranks->at(1).host, 1);
  EXPECT_EQ(update.clock->originTicks, kHere.originTicks) << "the recording host's, always";
  const auto summary = readRunSummary(folder / "a.lockstep");
  ASSERT_EQ(summary.value().hosts.size(), 3);
  EXPECT_EQ(summary.value().hosts[1].offset, kAhead);
}

TEST(HostsTest, HandsOutAllRanksOnTheRecordingHostsTicks) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  writer->addClock(1, kThere, kAhead);
  writer->addEvent(0, forward(here(2'000'000), 200));
  writer->addEvent(1, forward(there(2'000'000), 100));
  writer->addEvent(1, forward(there(1'000'000), 0));
  writer->addMetric({0, 1, "loss", 0, there(3'000'000), 0.5, 1});
  writer->addMetric({0, 1, "cpu_percent", 0, here(3'000'000), 50});
  ASSERT_TRUE(writer->finish().ok());

  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  ASSERT_EQ(update.spans.size(), 3);
  EXPECT_EQ(update.spans[1].startTicks, update.spans[0].startTicks) << "they began together";
  EXPECT_EQ(update.spans[1].durationTicks, 200) << "and took 100 ns both";
  EXPECT_EQ(update.spans[2].startTicks, here(1'000'000)) << "before that clock's origin";
  EXPECT_EQ(update.spans[2].durationTicks, 0) << "an instant stays one";
  ASSERT_EQ(update.metrics.size(), 2);
  EXPECT_EQ(update.metrics[0].ticks, here(3'000'000));
  EXPECT_EQ(update.metrics[0].host, kRecordingHost);
  EXPECT_EQ(update.metrics[1].ticks, here(3'000'000)) << "the recorder's own stamp";
}

TEST(HostsTest, SpansThatTouchStillTouch) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  writer->addClock(1, {0, 0, 0.7000000001}, {0, 10});
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    writer->addEvent(1, forward(10'000'000 + 13 * i, 13));
  }
  writer->addEvent(1, forward(20'000'000, 1));
  ASSERT_TRUE(writer->finish().ok());
  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  for (std::size_t i = 1; i < 1'000; ++i) {
    ASSERT_EQ(update.spans[i - 1].startTicks + update.spans[i - 1].durationTicks,
              update.spans[i].startTicks);
  }
  EXPECT_GT(update.spans.back().durationTicks, 0) << "a span must not become an instant";
}

TEST(HostsTest, HoldsRowsBackUntilTheirHostHasAClock) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep", RunState::kRunning);
  for (std::uint32_t i = 0; i < 10; ++i) {
    writer->addEvent(1, forward(there(2'000'000 + 100 * i), 10, i));
    writer->addEvent(0, forward(here(2'000'000 + 100 * i), 10, i));
  }
  writer->addMetric({0, 1, "loss", 0, there(2'000'000), 0.5, 1});
  ASSERT_TRUE(writer->commit().ok());
  auto reader = openRun(folder / "a.lockstep");
  const RunUpdate before = readAll(*reader, 4);
  EXPECT_EQ(startsOf(before, 0).size(), 10);
  EXPECT_THAT(startsOf(before, 1), testing::IsEmpty());
  EXPECT_THAT(before.metrics, testing::IsEmpty());
  EXPECT_THAT(before.problems, testing::IsEmpty()) << "the clock may come yet";

  writer->addClock(1, kThere, kAhead);
  writer->addEvent(1, forward(there(9'000'000), 10, 10));
  ASSERT_TRUE(writer->commit().ok());
  std::size_t most = 0;
  RunUpdate after;
  while (true) {
    const RunUpdate update = reader->poll(4).value();
    most = std::max(most, update.spans.size());
    after.spans.insert(after.spans.end(), update.spans.begin(), update.spans.end());
    after.metrics.insert(after.metrics.end(), update.metrics.begin(), update.metrics.end());
    if (update.spans.size() < 4) {
      break;
    }
  }
  EXPECT_EQ(most, 4) << "no more at once than asked for";
  const std::vector<std::uint64_t> starts = startsOf(after, 1);
  ASSERT_EQ(starts.size(), 11);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(starts[i], here(2'000'000 + 100 * i));
  }
  EXPECT_EQ(starts[10], here(9'000'000));
  ASSERT_EQ(after.metrics.size(), 1);
  EXPECT_EQ(after.metrics[0].ticks, here(2'000'000));
  ASSERT_TRUE(writer->finish().ok());
}

TEST(HostsTest, SaysWhatIsLeftWithoutAClockWhenTheRunHasEnded) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  writer->addEvent(1, forward(77, 10));
  writer->addEvent(1, forward(88, 10));
  writer->addMetric({0, 1, "loss", 0, 99, 0.5, 1});
  writer->addEvent(0, forward(here(2'000'000), 10));
  ASSERT_TRUE(writer->finish().ok());
  auto reader = openRun(folder / "a.lockstep");
  const RunUpdate update = readAll(*reader);
  EXPECT_EQ(update.spans.size(), 1);
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_EQ(update.problems[0].severity, "warning");
  EXPECT_THAT(update.problems[0].text, HasSubstr("clock of host 1 was never compared"));
  EXPECT_THAT(update.problems[0].text, HasSubstr("3 rows"));
  EXPECT_THAT(readAll(*reader).problems, testing::IsEmpty()) << "it is said once";
}

TEST(HostsTest, ABetterClockCountsForRowsReadAfterItAndForAllWhenOpenedAnew) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep", RunState::kRunning);
  writer->addClock(1, kThere, {kAhead.offsetNs - 1'000, 2'000});
  writer->addEvent(1, forward(there(2'000'000), 10));
  ASSERT_TRUE(writer->commit().ok());
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_THAT(startsOf(readAll(*reader), 1), ElementsAre(here(2'001'000)));

  writer->addClock(1, kThere, kAhead);
  writer->addEvent(1, forward(there(2'000'500), 10));
  ASSERT_TRUE(writer->commit().ok());
  const RunUpdate update = readAll(*reader);
  EXPECT_THAT(startsOf(update, 1), ElementsAre(here(2'000'500))) << "back before the last one";
  EXPECT_EQ(update.hosts->at(1).offset, kAhead);
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_THAT(startsOf(readAll(*openRun(folder / "a.lockstep")), 1),
              ElementsAre(here(2'000'000), here(2'000'500)));
}

TEST(HostsTest, ADamagedClockPlacesNothing) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  writer->addClock(1, {0, 0, 0}, {0, 10});
  writer->addEvent(1, forward(77, 10));
  ASSERT_TRUE(writer->finish().ok());
  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  EXPECT_THAT(update.spans, testing::IsEmpty());
  EXPECT_EQ(update.problems.size(), 1);
}

TEST(HostsTest, ViewsUseTheClockOfEachHost) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep");
  const auto path = folder / "a.lockstep";
  writer->addClock(1, kThere, {});
  writer->addClock(1, kThere, kAhead);
  writer->setParameters({{{"fc.bias", {4}, "float32", 4, 16}}});
  for (const auto& [track, start] : {std::pair{0, here(2'000'000)}, {1, there(2'000'000)}}) {
    Event collective{.startTicks = start, .durationTicks = track == 0 ? 200u : 100u, .kind = 71};
    collective.detail = packOperation(Operation::kAllreduce);
    writer->addEvent(track, collective);
    writer->addEvent(track, Event{.startTicks = start, .kind = 30});
    writer->addMetric({0, track, "loss", 0, start, 0.5, track});
  }
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(
      query(path, "SELECT rank, start_ns, duration_ns FROM spans_ns WHERE kind = 'collective'"),
      "0|2000000|100\n1|2000000|100");
  EXPECT_EQ(query(path, "SELECT rank, start_ns, duration_ns FROM collectives"),
            "0|2000000|100\n1|2000000|100");
  EXPECT_EQ(query(path, "SELECT rank, ready_ns FROM gradients_ready"), "0|2000000\n1|2000000");
  EXPECT_EQ(query(path, "SELECT rank, at_ns FROM metrics_ns"), "0|2000000\n1|2000000");
  EXPECT_EQ(query(path, "SELECT host, name, offset_ns, uncertainty_ns FROM host_clocks ORDER BY 1"),
            "0|alpha|0|0\n1|beta|400000|30");
}

TEST(HostsTest, ACopyHoldsTheHostsToo) {
  const TemporaryFolder folder;
  auto writer = twoHosts(folder / "a.lockstep", RunState::kRunning);
  writer->addClock(1, kThere, kAhead);
  writer->addEvent(1, forward(there(2'000'000), 100));
  ASSERT_TRUE(writer->commit().ok());
  ASSERT_TRUE(copyRunFile(folder / "a.lockstep", folder / "b.lockstep").ok());
  ASSERT_TRUE(writer->finish().ok());
  const RunUpdate copy = readAll(*openRun(folder / "b.lockstep"));
  EXPECT_EQ(copy.hosts->at(1).offset, kAhead);
  EXPECT_THAT(startsOf(copy, 1), ElementsAre(here(2'000'000)));
}

TEST(HostsTest, TheRecorderKeepsWhatItIsToldOfOtherHosts) {
  Recording recording(2);
  recording->addHost({1, "beta", "10.0.0.2", "monotonic"});
  recording->updateRank(1, [](RankInfo& rank) {
    rank.host = 1;
    rank.pid = getpid();  // of another process there
  });
  const std::int64_t offset = 7'000'000'000;
  recording->updateHostClock(1, {0, 0, 1}, {offset, 50});
  // What rank 1 emits has ticks of its host: nanoseconds, 7 s ahead.
  const std::int64_t nowNs = base::monotonicNs();
  const auto thereTicks = static_cast<std::uint64_t>(nowNs + offset);
  recording.rank(1).lane("step").spanUntil(EventKind::kForward, thereTicks, thereTicks + 5'000, 3);
  recording.rank(1).lane("step 2").spanUntil(EventKind::kLoss, thereTicks, thereTicks, 3, kNoBucket,
                                             std::bit_cast<std::uint64_t>(0.25));
  recording.rank(1).send(toJson(EvaluationMessage{2, 0.5, 0.75, 100}));
  const RunUpdate update = recording.finish();

  ASSERT_EQ(update.hosts->size(), 2);
  EXPECT_FALSE(update.hosts->at(0).info.name.empty()) << "the recording host is there by itself";
  EXPECT_EQ(update.hosts->at(1).offset, (ClockOffset{offset, 50}));
  ASSERT_EQ(update.spans.size(), 1);
  const auto nsOf = [&](std::uint64_t ticks) { return update.clock->toNs(ticks); };
  EXPECT_NEAR(static_cast<double>(nsOf(update.spans[0].startTicks) - nowNs), 0, 1e3);
  EXPECT_NEAR(update.clock->durationNs(update.spans[0].durationTicks), 5e3, 10);
  for (const MetricRow& metric : update.metrics) {
    EXPECT_NEAR(static_cast<double>(nsOf(metric.ticks) - nowNs), 0, 60e9)
        << metric.name << " is 7 s or more away when it is taken for another host's";
    if (metric.name == "loss") {
      EXPECT_NEAR(static_cast<double>(nsOf(metric.ticks) - nowNs), 0, 1e3);
    }
  }
  EXPECT_EQ(query(recording.path(),
                  "SELECT DISTINCT host FROM metrics WHERE name IN ('loss') ORDER BY 1"),
            "1");
  EXPECT_EQ(query(recording.path(), "SELECT DISTINCT host FROM metrics WHERE name <> 'loss'"), "0");
  EXPECT_THAT(valuesOf(update, "resident_bytes", 1), testing::IsEmpty())
      << "a process of this host that happens to have that number";
}

}  // namespace
}  // namespace lockstep::trace
