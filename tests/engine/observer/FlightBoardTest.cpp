// What the board tells of a communication hook, in whatever order the threads come that tell it.

#include "engine/observer/native/flight_board.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "engine/trace/Segment.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using trace::EventKind;

class FlightBoard : public testing::Test {
 protected:
  FlightBoard() : segment_(trace::Segment::create({4, 64, 64}).value()), reader_(segment_) {
    const char* why = nullptr;
    observer_.reset(lk_observer_open(
        segment_.fd(),
        base::clockSource() == base::ClockSource::kTsc ? LK_CLOCK_TSC : LK_CLOCK_MONOTONIC, &why));
    EXPECT_NE(observer_, nullptr) << why;
    lk_board_make(board_.get(), observer_.get(), "gloo", 1, 0, nullptr);
  }

  int hookBegins(int bucket) { return lk_board_hook_begins(board_.get(), bucket, 4096); }
  std::uint32_t lifeOf(int call) const { return board_->calls[call].life; }
  void hookReturns(int call) { lk_board_hook_returns(board_.get(), call, 0); }
  void hookFails(int call) { lk_board_hook_returns(board_.get(), call, 1); }
  void hookDone(int call, std::uint32_t life) { lk_board_hook_done(board_.get(), call, life); }

  lk_flight* allreduceBegins(long long key) {
    lk_flight* flight = lk_board_place(board_.get(), key);
    flight->queued = lk_observer_ticks(observer_.get());
    lk_board_begin(board_.get(), flight, kAllreduce, 4096, -1);
    return flight;
  }
  void ends(lk_flight* flight) { lk_board_end(board_.get(), flight); }

  // The phases of the hook that have been told since the last call.
  std::vector<trace::Event> phases() {
    std::vector<trace::Event> events;
    for (std::uint32_t lane = 0; lane < reader_.lanes(); ++lane) {
      if (reader_.laneName(lane) == "hook") {
        reader_.drainLane(lane, [&](const trace::Event& event) { events.push_back(event); });
      }
    }
    return events;
  }

  static std::vector<EventKind> kinds(const std::vector<trace::Event>& events) {
    std::vector<EventKind> kinds;
    for (const trace::Event& event : events) {
      kinds.push_back(static_cast<EventKind>(event.kind));
    }
    return kinds;
  }

  static std::uint64_t endOf(const trace::Event& event) {
    return event.startTicks + event.durationTicks;
  }

  struct Close {
    void operator()(lk_observer* observer) const { lk_observer_close(observer); }
  };
  trace::Segment segment_;
  trace::SegmentReader reader_;
  std::unique_ptr<lk_observer, Close> observer_;
  std::unique_ptr<lk_board> board_ = std::make_unique<lk_board>();
};

const auto kThreePhases =
    ElementsAre(EventKind::kHookEncode, EventKind::kHookCommunicate, EventKind::kHookDecode);

TEST_F(FlightBoard, ToldOfAHookIsWhenItEncodedCommunicatedAndDecoded) {
  const int call = hookBegins(3);
  lk_flight* flight = allreduceBegins(7);
  hookReturns(call);
  ends(flight);
  EXPECT_THAT(phases(), IsEmpty()) << "its result is not there";
  hookDone(call, lifeOf(call));
  const std::vector<trace::Event> told = phases();
  ASSERT_THAT(kinds(told), kThreePhases);
  for (const trace::Event& event : told) {
    EXPECT_EQ(event.bucket, 3);
    EXPECT_EQ(event.value, 4096u);
  }
  EXPECT_EQ(endOf(told[0]), told[1].startTicks);
  EXPECT_EQ(endOf(told[1]), told[2].startTicks);
}

TEST_F(FlightBoard, AHookWhoseResultIsHeardOfBeforeItsCollectiveEndsCommunicatedNonetheless) {
  const int call = hookBegins(0);
  lk_flight* flight = allreduceBegins(1);
  hookReturns(call);
  hookDone(call, lifeOf(call));
  EXPECT_THAT(phases(), IsEmpty()) << "its collective is under way";
  ends(flight);
  const std::vector<trace::Event> told = phases();
  ASSERT_THAT(kinds(told), kThreePhases);
  EXPECT_EQ(told[2].durationTicks, 0u) << "it ended no later than its result";
}

TEST_F(FlightBoard, ACallThatIsHeardOfLateIsNotTakenForTheNextOneOfItsBucket) {
  const int first = hookBegins(0);
  const std::uint32_t firstLife = lifeOf(first);
  lk_flight* flight = allreduceBegins(1);
  hookReturns(first);
  ends(flight);
  board_->step = 1;
  const int second = hookBegins(0);
  const std::uint32_t secondLife = lifeOf(second);
  lk_flight* next = allreduceBegins(2);
  hookReturns(second);
  hookDone(first, firstLife);
  std::vector<trace::Event> told = phases();
  ASSERT_THAT(kinds(told), kThreePhases);
  EXPECT_EQ(told[0].step, 0u);
  ends(next);
  hookDone(second, secondLife);
  told = phases();
  ASSERT_THAT(kinds(told), kThreePhases);
  EXPECT_EQ(told[0].step, 1u);
}

TEST_F(FlightBoard, AHookThatSendsNothingEncodes) {
  const int call = hookBegins(0);
  hookReturns(call);
  hookDone(call, lifeOf(call));
  EXPECT_THAT(kinds(phases()), ElementsAre(EventKind::kHookEncode));
}

TEST_F(FlightBoard, OfAHookThatFailsNothingIsToldNorOfTheNextCallInItsPlace) {
  const int failed = hookBegins(0);
  const std::uint32_t failedLife = lifeOf(failed);
  lk_flight* flight = allreduceBegins(1);
  hookFails(failed);
  const int next = hookBegins(0);
  ASSERT_EQ(next, failed) << "the place is not free";
  lk_flight* itsOwn = allreduceBegins(2);
  hookReturns(next);
  ends(flight);
  hookDone(next, failedLife);
  hookDone(next, lifeOf(next));
  EXPECT_THAT(phases(), IsEmpty()) << "a collective of its own is under way";
  ends(itsOwn);
  EXPECT_THAT(kinds(phases()), kThreePhases);
}

TEST_F(FlightBoard, CallsBeyondThoseThatHaveAPlaceAreNotToldOf) {
  std::vector<int> calls;
  for (int bucket = 0; bucket < kOpen; ++bucket) {
    calls.push_back(hookBegins(bucket));
    hookReturns(calls.back());
  }
  EXPECT_EQ(hookBegins(kOpen), -1);
  hookReturns(-1);
  hookDone(calls[5], lifeOf(calls[5]));
  EXPECT_EQ(hookBegins(kOpen), calls[5]);
}

}  // namespace
}  // namespace lockstep
