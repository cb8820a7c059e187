#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/SegmentReader.h"
#include "engine/trace/Tracer.h"

namespace lockstep::trace {
namespace {

/// A segment with the supervisor's view (`segment`) and the rank's (`tracer`).
struct Pair {
  explicit Pair(SegmentOptions options)
      : segment(Segment::create(options).value()),
        tracer(Segment::attach(dup(segment.fd())).value()),
        reader(segment) {}

  std::vector<Event> drain(std::uint32_t lane) {
    std::vector<Event> events;
    reader.drainLane(lane, [&](const Event& event) { events.push_back(event); });
    return events;
  }

  Segment segment;
  Tracer tracer;
  SegmentReader reader;
};

constexpr SegmentOptions kSmall{.lanes = 2, .eventsPerLane = 8, .messageRingBytes = 64};

void emit(Lane& lane, std::uint64_t number) {
  lane.spanUntil(EventKind::kForward, 100 * number, 100 * number + 50,
                 static_cast<std::uint32_t>(number), 3, number, 4);
}

TEST(LaneTest, CarriesEveryFieldOfASpan) {
  Pair pair(kSmall);
  pair.tracer.lane("step").spanUntil(EventKind::kCopyIn, 1'000, 1'234, 56, 7, 89, 10);
  const std::vector<Event> events = pair.drain(0);
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].startTicks, 1'000);
  EXPECT_EQ(events[0].durationTicks, 234);
  EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(EventKind::kCopyIn));
  EXPECT_EQ(events[0].step, 56);
  EXPECT_EQ(events[0].bucket, 7);
  EXPECT_EQ(events[0].value, 89);
  EXPECT_EQ(events[0].detail, 10);
}

TEST(LaneTest, WrapsRoundTheRingWithoutLoss) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  std::uint64_t next = 0;
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 5; ++i) {
      emit(lane, next + i);
    }
    for (const Event& event : pair.drain(0)) {
      EXPECT_EQ(event.value, next++);
    }
  }
  EXPECT_EQ(next, 50);
  EXPECT_EQ(pair.reader.dropped(0), 0);
}

TEST(LaneTest, CountsWhatDoesNotFitAndTellsItWhereTheGapIs) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  for (std::uint64_t i = 0; i < 11; ++i) {
    emit(lane, i);
  }
  EXPECT_EQ(pair.reader.dropped(0), 3);
  EXPECT_EQ(pair.drain(0).size(), 8);

  emit(lane, 20);
  const std::vector<Event> events = pair.drain(0);
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(EventKind::kGap));
  EXPECT_EQ(events[0].value, 3);
  EXPECT_EQ(events[0].startTicks, 800);  // the first event that was lost
  EXPECT_EQ(events[0].startTicks + events[0].durationTicks, 2'000);
  EXPECT_EQ(events[1].value, 20);
}

TEST(LaneTest, KeepsCountingWhenOnlyTheGapFits) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  for (std::uint64_t i = 0; i < 9; ++i) {
    emit(lane, i);
  }
  LaneHeader& header = pair.segment.lane(0);
  header.tail.store(1);  // room for one: the gap takes it, the event behind it is lost too
  emit(lane, 9);
  EXPECT_EQ(pair.reader.dropped(0), 2);
  EXPECT_EQ(pair.drain(0).back().value, 1);
  emit(lane, 10);
  const std::vector<Event> events = pair.drain(0);
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].value, 1);
  EXPECT_EQ(events[1].value, 10);
}

TEST(LaneTest, LosesNothingUnnoticedBetweenTwoThreads) {
  Pair pair({.lanes = 1, .eventsPerLane = 256, .messageRingBytes = 64});
  Lane& lane = pair.tracer.lane("step");
  constexpr std::uint64_t kEvents = 300'000;
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= kEvents; ++i) {
      emit(lane, i);
    }
  });
  std::uint64_t seen = 0;
  std::uint64_t toldLost = 0;
  std::uint64_t last = 0;
  bool ordered = true;
  const auto take = [&](const Event& event) {
    if (event.kind == static_cast<std::uint16_t>(EventKind::kGap)) {
      toldLost += event.value;
    } else {
      ordered &= event.value > last && event.startTicks == 100 * event.value;
      last = event.value;
      ++seen;
    }
  };
  while (seen + pair.reader.dropped(0) < kEvents) {
    pair.reader.drainLane(0, take);
  }
  producer.join();
  pair.reader.drainLane(0, take);
  EXPECT_TRUE(ordered);
  EXPECT_EQ(seen + pair.reader.dropped(0), kEvents);
  EXPECT_LE(toldLost, pair.reader.dropped(0));
}

TEST(LaneTest, EmptiesALaneWhoseIndicesWereOverwritten) {
  Pair pair(kSmall);
  emit(pair.tracer.lane("step"), 1);
  pair.segment.lane(0).head.store(1'000'000);
  EXPECT_TRUE(pair.drain(0).empty());
  EXPECT_EQ(pair.reader.waiting(0), 0);
}

TEST(LaneTest, WritesNothingWhileCaptureIsOff) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  pair.segment.header().captureEnabled.store(0);
  emit(lane, 1);
  lane.instant(EventKind::kBucketReady, 1);
  EXPECT_TRUE(pair.drain(0).empty());
  pair.segment.header().captureEnabled.store(1);
  emit(lane, 2);
  EXPECT_EQ(pair.drain(0).size(), 1);
  EXPECT_EQ(pair.reader.dropped(0), 0);
}

TEST(TracerTest, NamesLanesInTheOrderTheyWereAsked) {
  Pair pair(kSmall);
  pair.tracer.lane("step");
  pair.tracer.lane("a name that is longer than a lane has room for");
  EXPECT_EQ(pair.reader.lanes(), 2);
  EXPECT_EQ(pair.reader.laneName(0), "step");
  EXPECT_EQ(pair.reader.laneName(1), "a name that is longer than a la");
}

TEST(TracerTest, CountsOnLaneZeroWhatALaneTooManyEmits) {
  Pair pair(kSmall);
  pair.tracer.lane("step");
  pair.tracer.lane("gloo 0");
  Lane& tooMany = pair.tracer.lane("gloo 1");
  emit(tooMany, 1);
  emit(tooMany, 2);
  EXPECT_EQ(pair.reader.lanes(), 2);
  EXPECT_EQ(pair.reader.dropped(0), 2);
}

TEST(TracerTest, SendsMessagesThatWrapRoundTheRing) {
  Pair pair(kSmall);
  for (int i = 0; i < 20; ++i) {
    const std::string text = "message " + std::string(static_cast<std::size_t>(i), 'x');
    ASSERT_TRUE(pair.tracer.send(text));
    std::vector<std::string> received;
    EXPECT_TRUE(pair.reader.drainMessages([&](std::string_view m) { received.emplace_back(m); }));
    EXPECT_EQ(received, std::vector<std::string>{text});
  }
}

TEST(TracerTest, CountsAMessageThatDoesNotFitAndKeepsTheOthers) {
  Pair pair(kSmall);
  EXPECT_TRUE(pair.tracer.send("first"));
  EXPECT_FALSE(pair.tracer.send(std::string(60, 'x')));
  EXPECT_TRUE(pair.tracer.send("second"));
  EXPECT_EQ(pair.segment.header().messagesDropped.load(), 1);
  std::vector<std::string> received;
  EXPECT_TRUE(pair.reader.drainMessages([&](std::string_view m) { received.emplace_back(m); }));
  EXPECT_EQ(received, (std::vector<std::string>{"first", "second"}));
}

TEST(TracerTest, EmptiesAMessageRingWhoseFramesMakeNoSense) {
  Pair pair(kSmall);
  ASSERT_TRUE(pair.tracer.send("text"));
  pair.segment.messageRing()[1] = '\x7f';  // the length
  int received = 0;
  EXPECT_FALSE(pair.reader.drainMessages([&](std::string_view) { ++received; }));
  EXPECT_EQ(received, 0);
  EXPECT_TRUE(pair.tracer.send("next"));
  EXPECT_TRUE(pair.reader.drainMessages([&](std::string_view) { ++received; }));
  EXPECT_EQ(received, 1);
}

TEST(TracerTest, AcceptsEverythingWithoutASegment) {
  Tracer tracer;
  Lane& lane = tracer.lane("step");
  lane.instant(EventKind::kBucketReady, 0);
  EXPECT_FALSE(lane.enabled());
  EXPECT_FALSE(tracer.send("{}"));
  tracer.countSent(10);
  EXPECT_EQ(tracer.sentBytes(), 10);
}

TEST(TracerTest, KeepsTheOpenPhaseInTheLastWords) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  LastWords& words = pair.tracer.lastWords();
  {
    const ScopedSpan step(lane, EventKind::kStep, 5, &words);
    const ScopedSpan backward(lane, EventKind::kBackward, 5, &words);
    EXPECT_EQ(pair.segment.lastWords().phase, static_cast<std::uint16_t>(EventKind::kBackward));
    EXPECT_EQ(pair.segment.lastWords().step, 5);
  }
  EXPECT_EQ(pair.segment.lastWords().phase, 0);
  EXPECT_EQ(pair.drain(0).size(), 2);
}

TEST(TracerTest, LeavesThePhaseOfAnExceptionInTheLastWords) {
  Pair pair(kSmall);
  Lane& lane = pair.tracer.lane("step");
  try {
    const ScopedSpan step(lane, EventKind::kStep, 4, &pair.tracer.lastWords());
    const ScopedSpan backward(lane, EventKind::kBackward, 4, &pair.tracer.lastWords());
    throw std::runtime_error("a collective failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(pair.segment.lastWords().phase, static_cast<std::uint16_t>(EventKind::kBackward));
}

TEST(SegmentTest, RefusesMemoryThatIsNoSegment) {
  const int small = memfd_create("test", MFD_CLOEXEC);
  EXPECT_NE(Segment::attach(small).error().message().find("too small"), std::string::npos);
  const int other = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(other, 1 << 16), 0);
  EXPECT_NE(Segment::attach(other).error().message().find("no event memory"), std::string::npos);
  EXPECT_FALSE(Segment::attach(-1).ok());
}

TEST(SegmentTest, RefusesAnotherVersionAndSaysBoth) {
  Segment segment = Segment::create(kSmall).value();
  segment.header().version = 9;
  const std::string message = Segment::attach(dup(segment.fd())).error().message();
  EXPECT_NE(message.find("version 9"), std::string::npos) << message;
}

}  // namespace
}  // namespace lockstep::trace
