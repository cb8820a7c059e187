// The event memory that C writes is the one that the recorder reads.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/CountSketch.h"
#include "engine/base/Xxh64.h"
#include "engine/observer/native/count_sketch.h"
#include "engine/observer/native/observer.h"
#include "engine/observer/native/xxh64.h"
#include "engine/trace/Event.h"
#include "engine/trace/Segment.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StrEq;

constexpr auto kForward = static_cast<std::uint16_t>(trace::EventKind::kForward);

class Observer : public testing::Test {
 protected:
  Observer() : segment_(trace::Segment::create({3, 8, 64}).value()), reader_(segment_) {
    const char* why = nullptr;
    observer_.reset(lk_observer_open(segment_.fd(), clock(), &why));
    EXPECT_NE(observer_, nullptr) << why;
  }

  static lk_clock clock() {
    return base::clockSource() == base::ClockSource::kTsc ? LK_CLOCK_TSC : LK_CLOCK_MONOTONIC;
  }

  std::vector<trace::Event> drained(std::uint32_t lane) {
    std::vector<trace::Event> events;
    reader_.drainLane(lane, [&](const trace::Event& event) { events.push_back(event); });
    return events;
  }

  struct Close {
    void operator()(lk_observer* observer) const { lk_observer_close(observer); }
  };
  trace::Segment segment_;
  trace::SegmentReader reader_;
  std::unique_ptr<lk_observer, Close> observer_;
};

TEST_F(Observer, WritesEventsAsARankOfTheEngineDoes) {
  lk_lane* lane = lk_observer_lane(observer_.get(), "step");
  lk_lane_span(lane, kForward, 1000, 1500, 7, 3, 0x123456789ABCDEFull, 0x8001);
  EXPECT_EQ(reader_.lanes(), 1u);
  EXPECT_EQ(reader_.laneName(0), "step");
  const auto events = drained(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].startTicks, 1000u);
  EXPECT_EQ(events[0].durationTicks, 500u);
  EXPECT_EQ(events[0].kind, kForward);
  EXPECT_EQ(events[0].step, 7u);
  EXPECT_EQ(events[0].bucket, 3u);
  EXPECT_EQ(events[0].value, 0x123456789ABCDEFull);
  EXPECT_EQ(events[0].detail, 0x8001u);
}

TEST_F(Observer, EventsAreWrittenWhereTheKernelHasGivenMemoryAlready) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow of what is written costs page faults of its own";
#endif
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, of the same kernels as what it asks for
  if (madvise(nullptr, 0, kPopulateRead) != 0) {
    GTEST_SKIP() << "this kernel does not give memory before it is written to";
  }
  constexpr std::uint32_t kEvents = 1u << 14;
  const auto large = trace::Segment::create({1, kEvents, 64}).value();
  const char* why = nullptr;
  const std::unique_ptr<lk_observer, Close> observer(lk_observer_open(large.fd(), clock(), &why));
  ASSERT_NE(observer, nullptr) << why;
  lk_lane* lane = lk_observer_lane(observer.get(), "ddp");
  rusage before{};
  getrusage(RUSAGE_THREAD, &before);
  for (std::uint32_t event = 0; event < kEvents; ++event) {
    lk_lane_span(lane, kForward, event, event, 0, LK_NO_BUCKET, 0, 0);
  }
  rusage after{};
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 16) << "of 128 pages";
}

TEST_F(Observer, TellsWhereEventsWereLostAndHowMany) {
  lk_lane* lane = lk_observer_lane(observer_.get(), "step");
  for (std::uint32_t step = 0; step < 10; ++step) {  // two more than there is room for
    lk_lane_span(lane, kForward, 100 * step, 100 * step + 50, step, LK_NO_BUCKET, 0, 0);
  }
  EXPECT_EQ(reader_.dropped(0), 2u);
  EXPECT_EQ(drained(0).size(), 8u);
  lk_lane_span(lane, kForward, 2000, 2050, 20, LK_NO_BUCKET, 0, 0);
  const auto events = drained(0);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(trace::EventKind::kGap));
  EXPECT_EQ(events[0].startTicks, 800u);
  EXPECT_EQ(events[0].durationTicks, 1200u);
  EXPECT_EQ(events[0].value, 2u);
  EXPECT_EQ(events[1].step, 20u);
}

TEST_F(Observer, CountsEventsOfALaneThatTheMemoryHasNoRoomFor) {
  for (const char* name : {"a", "b", "c"}) {
    lk_observer_lane(observer_.get(), name);
  }
  lk_lane* fourth = lk_observer_lane(observer_.get(), "d");
  lk_lane_span(fourth, kForward, 1, 2, 0, LK_NO_BUCKET, 0, 0);
  EXPECT_EQ(reader_.lanes(), 3u);
  EXPECT_EQ(reader_.dropped(0), 1u);
}

TEST_F(Observer, GoesOnInTheLanesOfTheProcessWhosePlaceItTakes) {
  lk_lane_span(lk_observer_lane(observer_.get(), "step"), kForward, 1, 2, 0, LK_NO_BUCKET, 0, 0);
  const char* why = nullptr;
  std::unique_ptr<lk_observer, Close> second(lk_observer_open(segment_.fd(), clock(), &why));
  lk_lane_span(lk_observer_lane(second.get(), "step"), kForward, 3, 4, 1, LK_NO_BUCKET, 0, 0);
  EXPECT_EQ(reader_.lanes(), 1u);
  EXPECT_EQ(drained(0).size(), 2u);
}

TEST_F(Observer, SendsMessagesRoundTheEndOfTheirRing) {
  std::vector<std::string> messages;
  const auto take = [&](std::string_view text) { messages.emplace_back(text); };
  for (const std::string text :
       {"{\"a\":1,\"b\":\"0123456789\"}", "{\"c\":\"012345678901234567\"}"}) {
    EXPECT_TRUE(lk_observer_send(observer_.get(), text.data(), text.size()));
    EXPECT_TRUE(reader_.drainMessages(take));
    EXPECT_EQ(messages.back(), text);
  }
  const std::string tooLong(100, 'x');
  EXPECT_FALSE(lk_observer_send(observer_.get(), tooLong.data(), tooLong.size()));
  EXPECT_EQ(segment_.header().messagesDropped.load(), 1u);
}

TEST(ObserverHash, IsThatOfTheEnginesFingerprints) {
  std::string bytes;
  for (std::size_t count = 0; count < 200; ++count) {
    base::Xxh64 hash;
    hash.update(bytes);
    EXPECT_EQ(lk_xxh64(bytes.data(), bytes.size()), hash.digest()) << count << " bytes";
    bytes += static_cast<char>(31 * count);
  }
}

TEST(ObserverSketch, IsThatOfTheEnginesFingerprints) {
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int i = 0; i < 5000; ++i) {
    floats.push_back(std::sin(static_cast<float>(i)) * (i % 7 == 0 ? -1e3F : 0.5F));
    doubles.push_back(std::cos(i) / (i + 1));
  }
  base::CountSketch theirs;
  lk_count_sketch ours{};
  for (const std::size_t count : {5000, 1, 256, 255, 1000}) {
    EXPECT_EQ(lk_count_sketch_add_floats(&ours, floats.data(), count),
              theirs.add(floats.data(), count))
        << count << " floats";
    EXPECT_EQ(lk_count_sketch_add_doubles(&ours, doubles.data(), count),
              theirs.add(doubles.data(), count))
        << count << " doubles";
  }
  std::vector<double> counters(LK_COUNTERS);
  lk_count_sketch_counters(&ours, counters.data());
  EXPECT_EQ(counters, theirs.counters());
}

TEST_F(Observer, LeavesLastWordsThatTheSupervisorReads) {
  lk_observer_hook(observer_.get(), "powersgd");
  lk_observer_phase(observer_.get(), static_cast<std::uint16_t>(trace::EventKind::kBackward), 12,
                    5000);
  lk_observer_operation(observer_.get(), static_cast<std::uint8_t>(trace::Operation::kAllreduce), 2,
                        77, 6000);
  lk_observer_error(observer_.get(), "ValueError: boom");
  lk_observer_error(observer_.get(), "a second one");
  const trace::LastWords& words = segment_.lastWords();
  EXPECT_EQ(words.step.load(), 12u);
  EXPECT_EQ(words.phase.load(), static_cast<std::uint16_t>(trace::EventKind::kBackward));
  EXPECT_EQ(words.operation.load(), static_cast<std::uint8_t>(trace::Operation::kAllreduce));
  EXPECT_EQ(words.bucket.load(), 2u);
  EXPECT_EQ(words.sequence.load(), 77u);
  EXPECT_EQ(words.sinceTicks.load(), 6000u);
  EXPECT_EQ(words.finished.load(), 0u);
  EXPECT_THAT(words.hook.data(), StrEq("powersgd"));
  EXPECT_THAT(words.error.data(), StrEq("ValueError: boom"));
  lk_observer_finished(observer_.get());
  EXPECT_EQ(words.finished.load(), 1u);
}

TEST_F(Observer, HasTheClockOfTheRecorder) {
  const std::uint64_t before = base::ticks();
  const std::uint64_t ticks = lk_observer_ticks(observer_.get());
  EXPECT_GE(ticks, before);
  EXPECT_LE(ticks, base::ticks());
  // An instant of CLOCK_MONOTONIC lies between the ticks read before and after it.
  while (lk_observer_ticks_of(observer_.get(), 1'000'000) == 0) {  // a rate takes a millisecond
  }
  const std::uint64_t first = base::ticks();
  const std::int64_t ns = base::monotonicNs();
  const std::uint64_t last = base::ticks();
  const std::uint64_t slack = lk_observer_ticks_of(observer_.get(), 20'000);
  EXPECT_GE(lk_observer_ticks_at(observer_.get(), ns) + slack, first);
  EXPECT_LE(lk_observer_ticks_at(observer_.get(), ns), last + slack);
}

TEST_F(Observer, HearsOfARequestForATraceAndSaysThatItIsOver) {
  EXPECT_EQ(lk_observer_trace_requested(observer_.get()), 0u);
  segment_.header().traceRequested = 1u << 16 | 5u;
  EXPECT_EQ(lk_observer_trace_requested(observer_.get()), 1u << 16 | 5u);
  lk_observer_trace_done(observer_.get(), 1u << 16 | 5u);
  EXPECT_EQ(segment_.header().traceDone.load(), 1u << 16 | 5u);
  lk_lane* lane = lk_observer_lane(observer_.get(), "step");
  lk_lane_span(lane, kForward, 1, 2, 0, LK_NO_BUCKET, 0, 0);
  EXPECT_EQ(lk_lane_waiting(lane), 1u);
  EXPECT_EQ(drained(0).size(), 1u);
  EXPECT_EQ(lk_lane_waiting(lane), 0u);
}

TEST_F(Observer, WritesNothingWhereCaptureIsOff) {
  lk_lane* lane = lk_observer_lane(observer_.get(), "step");
  segment_.header().captureEnabled.store(0);
  lk_lane_span(lane, kForward, 1, 2, 0, LK_NO_BUCKET, 0, 0);
  EXPECT_THAT(drained(0), ElementsAre());
}

TEST_F(Observer, WritesNothingInAForkedChild) {
  lk_lane* lane = lk_observer_lane(observer_.get(), "step");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    lk_lane_span(lane, kForward, 1, 2, 0, LK_NO_BUCKET, 0, 0);
    lk_observer_send(observer_.get(), "{}", 2);
    lk_observer_finished(observer_.get());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reader_.waiting(0), 0u);
  EXPECT_EQ(segment_.header().messageHead.load(), 0u);
  EXPECT_EQ(segment_.lastWords().finished.load(), 0u);
}

TEST_F(Observer, RefusesMemoryThatIsNoneOfLockstep) {
  const char* why = nullptr;
  const int tooSmall = memfd_create("other", MFD_CLOEXEC);
  EXPECT_EQ(lk_observer_open(tooSmall, clock(), &why), nullptr);
  EXPECT_THAT(why, HasSubstr("too small"));
  ASSERT_EQ(ftruncate(tooSmall, 1 << 20), 0);
  EXPECT_EQ(lk_observer_open(tooSmall, clock(), &why), nullptr);
  EXPECT_THAT(why, StrEq("this is no event memory of lockstep"));
  close(tooSmall);
  segment_.header().version = 9;
  EXPECT_EQ(lk_observer_open(segment_.fd(), clock(), &why), nullptr);
  EXPECT_THAT(why, HasSubstr("of another version"));
  EXPECT_EQ(lk_observer_open(-1, clock(), &why), nullptr);
}

}  // namespace
}  // namespace lockstep
