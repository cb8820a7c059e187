#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "engine/trace/Event.h"
#include "tests/engine/trace/Peer.h"
#include "tests/engine/trace/Recording.h"

namespace lockstep::trace {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(RecorderLossTest, CountsDropsAndShowsTheirGapEvenWhenTheLaneFellSilent) {
  Recording recording(1, {}, {.lanes = 1, .eventsPerLane = 1 << 10, .messageRingBytes = 64});
  Lane& lane = recording.rank(0).lane("step");
  constexpr std::uint64_t kBurst = 200'000;  // faster than the recorder drains
  for (std::uint64_t i = 0; i < kBurst; ++i) {
    lane.instant(EventKind::kBucketReady, 1, 0, i);
  }
  const RunUpdate update = recording.finish();
  std::uint64_t kept = 0;
  std::uint64_t inGaps = 0;
  for (const SpanRow& span : update.spans) {
    if (span.kind == EventKind::kGap) {
      inGaps += span.value;
    } else {
      ++kept;
    }
  }
  const std::uint64_t dropped = update.ranks->at(0).eventsDropped;
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(inGaps, dropped);
  EXPECT_EQ(kept + dropped, kBurst);
  EXPECT_EQ(recording->progress().dropped, dropped);
  EXPECT_EQ(recording->progress().events, kept);
}

TEST(RecorderLossTest, SaysThatMessagesWereLost) {
  Recording recording(1, {}, {.lanes = 1, .eventsPerLane = 8, .messageRingBytes = 64});
  EXPECT_FALSE(recording.rank(0).send(std::string(100, ' ')));
  const RunUpdate update = recording.finish();
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_THAT(update.problems[0].text, HasSubstr("1 messages of rank 0 did not fit"));
}

TEST(RecorderLossTest, ReadsTheLastEventsOfARankThatWasKilled) {
  const TemporaryFolder folder;
  Segment segment =
      Segment::create({.lanes = 2, .eventsPerLane = 256, .messageRingBytes = 1 << 12}).value();
  Peer peer("emit", std::to_string(segment.fd()), segment.fd());
  peer.command("emit 100");
  peer.command("send " + toJson(ProblemMessage{"error", 0, "last message"}));
  peer.kill();
  auto recorder =
      Recorder::start(createRun(folder / "a.lockstep"), runningInfo(), {&segment}, {2ms});
  EXPECT_TRUE(recorder->finish().ok());
  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  EXPECT_EQ(update.spans.size(), 100);
  ASSERT_EQ(update.problems.size(), 1);
  EXPECT_EQ(update.problems[0].text, "last message");
}

TEST(RecorderLossTest, GoesOnDrainingWhenTheDiskIsFull) {
  Recording recording(1, {.maxBytes = 1 << 20});
  Lane& lane = recording.rank(0).lane("step");
  std::uint64_t emitted = 0;
  while (recording->status().ok() && emitted < 1'000'000) {
    lane.instant(EventKind::kBucketReady, 0, 0, emitted++);
    if (emitted % 500 == 0) {
      std::this_thread::sleep_for(1ms);
    }
  }
  ASSERT_FALSE(recording->status().ok());
  EXPECT_THAT(recording->status().error().message(), HasSubstr("disk is full"));
  for (int i = 0; i < 100; ++i) {
    lane.instant(EventKind::kBucketReady, 0);
    ++emitted;
  }
  recording->updateInfo([](RunInfo& info) { info.state = RunState::kFinished; });
  EXPECT_FALSE(recording->finish().ok());
  const Recorder::Progress progress = recording->progress();
  EXPECT_EQ(progress.events + progress.dropped, emitted);
  EXPECT_GE(progress.notRecorded, 100);
  EXPECT_EQ(recording.segment(0).lane(0).head.load(), recording.segment(0).lane(0).tail.load());
  const RunUpdate update = readAll(*openRun(recording.path()));
  EXPECT_GT(update.spans.size(), 0);
  EXPECT_EQ(update.info->state, RunState::kFinished);
}

TEST(RecorderLossTest, KeepsALossThatIsNoNumber) {
  Recording recording(1);
  recording.rank(0).lane("step").number(EventKind::kLoss, 1, std::nan(""));
  const RunUpdate update = recording.finish();
  ASSERT_EQ(valuesOf(update, "loss").size(), 1);
  EXPECT_TRUE(std::isnan(valuesOf(update, "loss")[0]));
}

}  // namespace
}  // namespace lockstep::trace
