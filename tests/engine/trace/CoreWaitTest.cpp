#include "engine/trace/CoreWait.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep::trace {
namespace {

/// A rank's lane and what comes out of it.
class LaneUnderTest {
 public:
  LaneUnderTest()
      : segment_(
            Segment::create({.lanes = 1, .eventsPerLane = 64, .messageRingBytes = 64}).value()),
        tracer_(Segment::attach(dup(segment_.fd())).value()),
        lane(tracer_.lane("step")) {}

  std::vector<Event> drain() {
    std::vector<Event> events;
    SegmentReader(segment_).drainLane(0, [&](const Event& event) { events.push_back(event); });
    return events;
  }

 private:
  Segment segment_;
  Tracer tracer_;

 public:
  Lane& lane;
};

std::int64_t cpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void computeForNs(std::int64_t ns) {
  for (const std::int64_t begin = cpuNs(); cpuNs() - begin < ns;) {
  }
}

void stayOn(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

int firstCore() {
  cpu_set_t all;
  CPU_ZERO(&all);
  EXPECT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int core = 0;
  while (core < CPU_SETSIZE && !CPU_ISSET(core, &all)) {
    ++core;
  }
  return core;
}

// Two threads want one core. What this one did not have of it, it waited for.
TEST(CoreWaitTest, TellsHowLongAThreadWasReadyAndHadNoCore) {
  if (coreWaitSource() != "schedstat") {
    GTEST_SKIP() << "this kernel does not say";
  }
  LaneUnderTest rank;
  const int core = firstCore();
  std::atomic<bool> stop{false};
  std::thread rival([&] {
    stayOn(core);
    while (!stop) {
    }
  });
  std::int64_t missedNs = 0;
  std::uint64_t beginTicks = 0;
  std::uint64_t endTicks = 0;
  std::thread([&] {
    stayOn(core);
    beginTicks = base::ticks();
    CoreWait::ofThisThread().tell(rank.lane, 6);
    const std::int64_t begin = base::monotonicNs() - cpuNs();
    computeForNs(30'000'000);
    missedNs = base::monotonicNs() - cpuNs() - begin;
    CoreWait::ofThisThread().tell(rank.lane, 7);
    CoreWait::ofThisThread().tell(rank.lane, 7);  // too soon to look again
    endTicks = base::ticks();
  }).join();
  stop = true;
  rival.join();
  const std::vector<Event> events = rank.drain();
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(EventKind::kOffCore));
  EXPECT_EQ(events[0].step, 7);
  EXPECT_GE(events[0].startTicks, beginTicks);
  EXPECT_LE(events[0].startTicks + events[0].durationTicks, endTicks);
  EXPECT_GT(missedNs, 3'000'000) << "the rival had its share";
  EXPECT_NEAR(static_cast<double>(events[0].value), static_cast<double>(missedNs),
              0.1 * static_cast<double>(missedNs) + 1e6);
}

TEST(CoreWaitTest, SaysNothingWhereNothingIsRecorded) {
  Lane silent;
  CoreWait::ofThisThread().tell(silent, 0);
}

}  // namespace
}  // namespace lockstep::trace
