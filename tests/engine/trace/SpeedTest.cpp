#include <gtest/gtest.h>

#include <cstdio>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "engine/trace/SegmentReader.h"
#include "engine/trace/Tracer.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

// These print what things cost on this machine; how fast a machine must be is not theirs.

double secondsSince(std::int64_t startNs) {
  return static_cast<double>(base::monotonicNs() - startNs) / 1e9;
}

TEST(SpeedTest, PrintsNanosecondsPerEvent) {
  constexpr std::uint32_t kEvents = 1 << 15;
  constexpr int kRounds = 20;
  Segment segment =
      Segment::create({.lanes = 1, .eventsPerLane = kEvents, .messageRingBytes = 64}).value();
  Tracer tracer(Segment::attach(dup(segment.fd())).value());
  SegmentReader reader(segment);
  Lane& lane = tracer.lane("step");
  double bestNs = 1e9;
  std::uint64_t seen = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start = base::monotonicNs();
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      lane.span(EventKind::kCopyIn, 1, i, 2, 3);
    }
    bestNs = std::min(bestNs, 1e9 * secondsSince(start) / kEvents);
    seen += reader.drainLane(0, [](const Event&) {});
  }
  EXPECT_EQ(seen, kRounds * std::uint64_t{kEvents});
  std::printf("Lane::span: %.1f ns an event (best of %d rounds)\n", bestNs, kRounds);
}

TEST(SpeedTest, PrintsRowsPerSecondWrittenAndRead) {
  constexpr std::uint64_t kRows = 500'000;
  constexpr std::uint64_t kPerCommit = 5'000;
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  std::int64_t start = base::monotonicNs();
  for (std::uint64_t next = 0; next < kRows;) {
    next = writeEvents(*writer, next, kPerCommit);
  }
  const double writeSeconds = secondsSince(start);
  ASSERT_TRUE(writer->finish().ok());
  auto reader = openRun(folder / "a.lockstep");
  start = base::monotonicNs();
  std::uint64_t read = 0;
  while (true) {
    const RunUpdate update = reader->poll().value();
    read += update.spans.size();
    if (update.spans.empty()) {
      break;
    }
  }
  const double readSeconds = secondsSince(start);
  EXPECT_EQ(read, kRows);
  const auto bytes = static_cast<double>(std::filesystem::file_size(folder / "a.lockstep"));
  std::printf("run file: %.2f million rows/s written, %.2f read, %.1f bytes a row\n",
              kRows / writeSeconds / 1e6, kRows / readSeconds / 1e6, bytes / kRows);
}

TEST(SpeedTest, PrintsTheCostOfAPollThatFindsNothing) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  writeEvents(*writer, 0, 1'000);
  auto reader = openRun(folder / "a.lockstep");
  readAll(*reader);
  constexpr int kPolls = 200;
  const std::int64_t start = base::monotonicNs();
  for (int i = 0; i < kPolls; ++i) {
    EXPECT_TRUE(reader->poll().value().empty());
  }
  std::printf("poll that finds nothing: %.0f us\n", 1e6 * secondsSince(start) / kPolls);
}

}  // namespace
}  // namespace lockstep::trace
