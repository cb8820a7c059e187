#include "engine/relay/SegmentReplay.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "engine/relay/SegmentFeed.h"
#include "engine/trace/Event.h"
#include "engine/trace/Tracer.h"

namespace lockstep::relay {
namespace {

using testing::ElementsAre;
using trace::EventKind;

/// A rank's segment, what feeds from it, and the segment at the other end.
class SegmentReplayTest : public testing::Test {
 protected:
  static trace::Segment make(std::uint32_t events) {
    trace::SegmentOptions options;
    options.lanes = 3;
    options.eventsPerLane = events;
    options.messageRingBytes = 4096;
    return std::move(trace::Segment::create(options)).value();
  }

  static trace::Segment again(const trace::Segment& segment) {
    return std::move(trace::Segment::attach(dup(segment.fd()))).value();
  }

  /// Carries what waits, `most` events at a time.
  void carry(std::size_t most = 1'000) {
    do {
      std::size_t left = most;
      replay->apply(feed.take(left), {0, 0, 1.0}, base::ticks());
    } while (feed.hasMore());
  }

  std::vector<std::uint32_t> stepsAt(std::uint32_t lane) {
    std::vector<std::uint32_t> steps;
    reader.drainLane(lane, [&](const trace::Event& event) { steps.push_back(event.step); });
    return steps;
  }

  trace::Segment there = make(256);
  trace::Tracer rank{again(there)};
  SegmentFeed feed{0, there};
  trace::Segment here = make(256);
  std::unique_ptr<SegmentReplay> replay = std::move(SegmentReplay::make(here)).value();
  trace::SegmentReader reader{here};
};

TEST_F(SegmentReplayTest, EventsArriveInTheLanesThatEmittedThem) {
  trace::Lane& step = rank.lane("step");
  trace::Lane& gloo = rank.lane("gloo 0");
  step.spanUntil(EventKind::kForward, 100, 150, 0);
  gloo.spanUntil(EventKind::kCollective, 120, 180, 0, 4, 77, 2);
  carry();
  ASSERT_EQ(reader.lanes(), 2U);
  EXPECT_EQ(reader.laneName(0), "step");
  EXPECT_EQ(reader.laneName(1), "gloo 0");
  reader.drainLane(1, [](const trace::Event& event) {
    EXPECT_EQ(event.startTicks, 120U);
    EXPECT_EQ(event.durationTicks, 60U);
    EXPECT_EQ(event.bucket, 4U);
    EXPECT_EQ(event.value, 77U);
    EXPECT_EQ(event.detail, 2U);
  });
  // A lane that is opened later gets its place, too.
  rank.lane("hook").spanUntil(EventKind::kHookEncode, 200, 210, 1);
  carry();
  EXPECT_EQ(reader.laneName(2), "hook");
  EXPECT_THAT(stepsAt(2), ElementsAre(1));
}

TEST_F(SegmentReplayTest, SmallPiecesKeepTheOrder) {
  trace::Lane& lane = rank.lane("step");
  std::vector<std::uint32_t> expected;
  for (std::uint32_t step = 0; step < 100; ++step) {
    lane.spanUntil(EventKind::kStep, step, step + 1, step);
    expected.push_back(step);
  }
  carry(7);
  EXPECT_EQ(stepsAt(0), expected);
}

TEST_F(SegmentReplayTest, WhatTheRankDroppedCountsHere) {
  trace::Lane& lane = rank.lane("step");
  for (std::uint32_t step = 0; step < 300; ++step) {
    lane.spanUntil(EventKind::kStep, step, step + 1, step);
  }
  carry();
  EXPECT_EQ(reader.dropped(0), 44U);
  carry();
  EXPECT_EQ(reader.dropped(0), 44U) << "told twice, counted once";
}

TEST_F(SegmentReplayTest, WhatDoesNotFitHereIsDroppedAndCountedHere) {
  trace::Lane& lane = rank.lane("step");
  for (int round = 0; round < 2; ++round) {  // nobody drains this end in between
    for (std::uint32_t step = 0; step < 200; ++step) {
      lane.spanUntil(EventKind::kStep, step, step + 1, step);
    }
    carry();
  }
  EXPECT_EQ(reader.waiting(0), 256U);
  EXPECT_EQ(reader.dropped(0), 144U);
}

TEST_F(SegmentReplayTest, MessagesBytesAndLastWordsArrive) {
  rank.lane("step");
  rank.send(R"({"type":"environment","values":{}})");
  rank.countSent(1'000, 2);
  rank.countReceived(500);
  rank.lastWords().step.store(12);
  rank.lastWords().sinceTicks.store(base::ticks());
  std::copy_n("topk", 5, rank.lastWords().hook.begin());
  carry();
  carry();
  std::vector<std::string> messages;
  reader.drainMessages([&](std::string_view text) { messages.emplace_back(text); });
  EXPECT_THAT(messages, ElementsAre(R"({"type":"environment","values":{}})"));
  EXPECT_EQ(here.header().sentBytes.load(), 1'000U);
  EXPECT_EQ(here.header().sentMessages.load(), 2U);
  EXPECT_EQ(here.header().receivedBytes.load(), 500U);
  EXPECT_EQ(here.lastWords().step.load(), 12U);
  EXPECT_STREQ(here.lastWords().hook.data(), "topk");
}

TEST_F(SegmentReplayTest, ThatATraceIsOverIsToldOnce) {
  there.header().traceDone = 1 << 16 | 5;
  carry();
  EXPECT_EQ(here.header().traceDone.load(), 1U << 16 | 5U);
  here.header().traceDone = 0;  // another process is to take the rank's place
  carry();
  EXPECT_EQ(here.header().traceDone.load(), 0U) << "what was said before is not said again";
  there.header().traceDone = 2 << 16 | 3;
  carry();
  EXPECT_EQ(here.header().traceDone.load(), 2U << 16 | 3U);
}

TEST_F(SegmentReplayTest, LastWordsAreDatedByTheClockHere) {
  // So that the clock here is known; two readings are as good as they are far apart.
  const base::ClockReading first = base::readClock();
  base::ClockReading now = first;
  while (now.ns - first.ns < 20'000'000) {
    now = base::readClock();
  }
  // A host whose ticks are microseconds, and count from elsewhere: 2 s ago by its own account.
  RankPart part;
  part.words.sinceTicks = 5'000'000;
  replay->apply(part, {0, 0, 1'000.0}, 7'000'000);
  const double ageNs =
      base::calibrate(first, now).durationNs(base::ticks() - here.lastWords().sinceTicks.load());
  EXPECT_NEAR(ageNs, 2e9, 0.2e9);
}

}  // namespace
}  // namespace lockstep::relay
