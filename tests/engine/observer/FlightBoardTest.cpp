// What the board tells of a communication hook, in whatever order the threads come that tell it,
// and of collectives whose threads tell themselves when they begin and end.

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
  FlightBoard() : segment_(trace::Segment::create({8, 64, 64}).value()), reader_(segment_) {
    const char* why = nullptr;
    observer_.reset(lk_observer_open(
        segment_.fd(),
        base::clockSource() == base::ClockSource::kTsc ? LK_CLOCK_TSC : LK_CLOCK_MONOTONIC, &why));
    EXPECT_NE(observer_, nullptr) << why;
    lk_board_make(board_.get(), observer_.get(), "gloo", 1, 0, 4, nullptr);
  }

  int hookBegins(int bucket) { return lk_board_hook_begins(board_.get(), bucket, 4096); }
  std::uint32_t lifeOf(int call) const { return board_->calls[call].life; }
  void hookReturns(int call) { lk_board_hook_returns(board_.get(), call, 0); }
  void hookFails(int call) { lk_board_hook_returns(board_.get(), call, 1); }
  void hookDone(int call, std::uint32_t life) { lk_board_hook_done(board_.get(), call, life); }

  lk_flight* allreduceBegins(long long key) {
    return lk_board_begin(board_.get(), key, lk_observer_ticks(observer_.get()), kAllreduce, 4096,
                          -1);
  }
  void ends(lk_flight* flight) { lk_board_end(board_.get(), flight); }

  // A thread of Gloo's begins with what is next, and ends it later.
  lk_teller heardBegin() {
    lk_teller thread{-1, -1, 0};
    heardBegin(thread);
    return thread;
  }
  void heardBegin(lk_teller& thread) { lk_board_heard_begin(board_.get(), &thread); }
  void heardEnd(lk_teller thread) { lk_board_heard_end(board_.get(), &thread); }

  // A backward of two buckets, whose collectives are about these, -1 being about none. Returns
  // whether nobody looked at them; holds_ is what the board said at its end.
  bool unseenIn(const std::vector<int>& buckets) {
    const std::uint64_t elements[] = {1024, 512};
    lk_board_expect(board_.get(), elements, 2);
    const bool unseen = lk_board_assumes(board_.get()) != 0;
    for (const int bucket : buckets) {
      const std::uint64_t now = lk_observer_ticks(observer_.get());
      if (unseen) {
        lk_board_take(board_.get(), now, 1);
      } else {
        lk_board_begin(board_.get(), 0, now, kAllreduce, bucket < 0 ? 4 : 4 * elements[bucket],
                       bucket);
      }
      heardEnd(heardBegin());
    }
    holds_ = lk_board_waited(board_.get()) != 0;
    return unseen;
  }

  // The phases of the hook, or the collectives, that have been told since the last call.
  std::vector<trace::Event> phases() { return told("hook"); }
  std::vector<trace::Event> collectives() { return told("gloo 0"); }

  std::vector<trace::Event> told(const std::string& name) {
    std::vector<trace::Event> events;
    for (std::uint32_t lane = 0; lane < reader_.lanes(); ++lane) {
      if (reader_.laneName(lane) == name) {
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
  bool holds_ = true;
};

const auto kThreePhases =
    ElementsAre(EventKind::kHookEncode, EventKind::kHookCommunicate, EventKind::kHookDecode);

TEST_F(FlightBoard, OfAnAllreduceARankSendsWhatARingWould) {
  ends(allreduceBegins(1));
  EXPECT_EQ(segment_.header().sentBytes.load(), 2u * 3 * 4096 / 4);
  board_->ranks = 1;
  ends(allreduceBegins(2));
  EXPECT_EQ(segment_.header().sentBytes.load(), 2u * 3 * 4096 / 4) << "alone there is nobody";
}
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

TEST_F(FlightBoard, AHeardAllreduceStandsFromWhereItsThreadBeganToWhereItEnded) {
  lk_board_hear(board_.get(), 1);
  const lk_flight* first = allreduceBegins(0);
  allreduceBegins(0);
  EXPECT_FALSE(lk_board_follows(board_.get())) << "nobody has to follow a future";
  const std::uint64_t queued = first->queued;
  const lk_teller one = heardBegin();
  const lk_teller other = heardBegin();
  ASSERT_NE(one.place, other.place);
  heardEnd(other);
  heardEnd(one);
  const std::vector<trace::Event> told = collectives();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].value >> 40, 1u) << "the second was over first";
  EXPECT_EQ(told[1].value >> 40, 0u);
  EXPECT_GT(told[0].startTicks, queued);
  EXPECT_EQ(heardBegin().place, -1) << "nothing is queued";
}

TEST_F(FlightBoard, WhatAThreadIsLateToEndStandsWhereItBeganWhateverTheOtherThreadDid) {
  lk_board_make(board_.get(), observer_.get(), "two", 2, 0, 2, nullptr);
  lk_board_hear(board_.get(), 1);
  for (int i = 0; i < 4; ++i) {
    allreduceBegins(0);
  }
  lk_teller prompt = heardBegin();
  lk_teller late = heardBegin();
  heardEnd(prompt);
  const std::uint64_t otherEnded = lk_observer_ticks(observer_.get());
  for (int i = 0; i < 2; ++i) {
    heardBegin(prompt);
    heardEnd(prompt);
  }
  heardEnd(late);
  const std::vector<trace::Event> ofPrompt = told("two 0");
  const std::vector<trace::Event> ofLate = told("two 1");
  ASSERT_EQ(ofPrompt.size(), 3u) << "a thread's flights stand in one lane";
  ASSERT_EQ(ofLate.size(), 1u);
  EXPECT_EQ(ofLate[0].value >> 40, 1u);
  EXPECT_LT(ofLate[0].startTicks, otherEnded) << "it was under way by then";
  EXPECT_GE(ofPrompt[1].startTicks, otherEnded);
}

// What a listener was asked for, and whether it says that this thread can be heard.
struct Asked {
  static inline std::vector<int> listens;
  static inline int hears = 1;
};

const lk_listener kListener = {[] { return Asked::hears; },
                               [](int listens) { Asked::listens.push_back(listens); }};

TEST_F(FlightBoard, ListensToWhatItQueuesAndToNothingElseOfABackward) {
  Asked::listens.clear();
  lk_board_hear(board_.get(), 1);
  board_->listener = &kListener;
  const std::uint64_t elements[] = {1024};
  lk_board_expect(board_.get(), elements, 1);
  EXPECT_THAT(Asked::listens, ElementsAre(0)) << "what was left on by an allreduce before it";
  allreduceBegins(0);
  EXPECT_THAT(Asked::listens, ElementsAre(0, 1));
  ends(lk_board_begin(board_.get(), 5, lk_observer_ticks(observer_.get()), 1, 64, -1));
  EXPECT_THAT(Asked::listens, ElementsAre(0, 1)) << "a broadcast is followed by its future";
}

TEST_F(FlightBoard, OfAThreadThatCannotBeHeardAllreducesAreFollowed) {
  Asked::listens.clear();
  lk_board_hear(board_.get(), 1);
  board_->listener = &kListener;
  Asked::hears = 0;
  EXPECT_FALSE(lk_board_hears(board_.get(), kAllreduce));
  lk_flight* allreduce = allreduceBegins(6);
  EXPECT_TRUE(lk_board_follows(board_.get()));
  EXPECT_THAT(Asked::listens, IsEmpty());
  ends(allreduce);
  Asked::hears = 1;
  EXPECT_TRUE(lk_board_hears(board_.get(), kAllreduce));
}

TEST_F(FlightBoard, WhileAnotherCollectiveIsFollowedAnAllreduceIsFollowedToo) {
  lk_board_hear(board_.get(), 1);
  EXPECT_TRUE(lk_board_hears(board_.get(), kAllreduce));
  lk_flight* broadcast =
      lk_board_begin(board_.get(), 5, lk_observer_ticks(observer_.get()), 1, 64, -1);
  EXPECT_TRUE(lk_board_follows(board_.get()));
  EXPECT_FALSE(lk_board_hears(board_.get(), kAllreduce)) << "it may queue an allreduce of its own";
  lk_flight* allreduce = allreduceBegins(6);
  EXPECT_EQ(heardBegin().place, -1);
  ends(broadcast);
  EXPECT_FALSE(lk_board_hears(board_.get(), kAllreduce));
  ends(allreduce);
  EXPECT_TRUE(lk_board_hears(board_.get(), kAllreduce));
}

TEST_F(FlightBoard, TakesABackwardsCollectivesForItsBucketsUnseenOnceThoseBeforeWere) {
  lk_board_hear(board_.get(), 1);
  EXPECT_FALSE(unseenIn({0, 1}));
  EXPECT_FALSE(unseenIn({0, 1}));
  EXPECT_FALSE(unseenIn({0, 1}));
  collectives();
  EXPECT_TRUE(unseenIn({0, 1}));
  const std::vector<trace::Event> told = collectives();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].bucket, 0);
  EXPECT_EQ(told[1].bucket, 1);
  EXPECT_EQ(told[1].value & 0xFFFFFFFFFFu, 2048u);
}

TEST_F(FlightBoard, LooksAtABackwardEverySoOftenAllTheSame) {
  lk_board_hear(board_.get(), 1);
  int looked = 0;
  for (int backward = 0; backward < 200; ++backward) {
    looked += unseenIn({0, 1}) ? 0 : 1;
    collectives();
    told("gloo queue");
  }
  EXPECT_EQ(looked, 3 + 3);
}

TEST_F(FlightBoard, LooksAtAllOfABackwardThatAsksForMoreThanItsBuckets) {
  lk_board_hear(board_.get(), 1);
  for (int backward = 0; backward < 8; ++backward) {
    EXPECT_FALSE(unseenIn({0, -1, 1}));
  }
}

TEST_F(FlightBoard, SaysWhereABackwardAskedForMoreThanWasAssumedAndAssumesNoMore) {
  lk_board_hear(board_.get(), 1);
  for (int backward = 0; backward < 5; ++backward) {
    unseenIn({0, 1});
    EXPECT_TRUE(holds_);
  }
  collectives();
  EXPECT_TRUE(unseenIn({0, -1, 1}));
  EXPECT_FALSE(holds_);
  const std::vector<trace::Event> told = collectives();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].bucket, trace::kNoBucket);
  EXPECT_EQ(told[2].value & 0xFFFFFFFFFFu, 0u);
  for (int backward = 0; backward < 5; ++backward) {
    EXPECT_FALSE(unseenIn({0, 1}));
    EXPECT_TRUE(holds_);
  }
}

TEST_F(FlightBoard, SaysWhereABackwardAskedForSomethingElseThanAnAllreduce) {
  lk_board_hear(board_.get(), 1);
  for (int backward = 0; backward < 5; ++backward) {
    unseenIn({0, 1});
  }
  collectives();
  const std::uint64_t elements[] = {1024, 512};
  lk_board_expect(board_.get(), elements, 2);
  ASSERT_TRUE(lk_board_assumes(board_.get()));
  lk_board_take(board_.get(), lk_observer_ticks(observer_.get()), 0);
  EXPECT_FALSE(lk_board_waited(board_.get()));
  EXPECT_THAT(collectives(), IsEmpty());
}

TEST_F(FlightBoard, SaysWhereThreadsFellSilentInABackwardThatNobodyLooksAt) {
  lk_board_hear(board_.get(), 1);
  for (int backward = 0; backward < 5; ++backward) {
    unseenIn({0, 1});
  }
  collectives();
  std::uint64_t second = 0;
  while (second == 0) {  // the clock's rate is known a millisecond after the opening
    second = lk_observer_ticks_of(observer_.get(), 1'000'000'000);
  }
  const std::uint64_t elements[] = {1024, 512};
  lk_board_expect(board_.get(), elements, 2);
  ASSERT_TRUE(lk_board_assumes(board_.get()));
  const std::uint64_t now = lk_observer_ticks(observer_.get());
  lk_board_take(board_.get(), now, 1);
  lk_board_take(board_.get(), now + 2 * second, 1);
  EXPECT_FALSE(lk_board_hears(board_.get(), kAllreduce));
  EXPECT_EQ(collectives().size(), 1u) << "nobody tells when the second ends";
  EXPECT_FALSE(lk_board_follows(board_.get()));
  EXPECT_FALSE(lk_board_waited(board_.get()));
}

TEST_F(FlightBoard, LooksAtBackwardsThatNobodyHears) {
  for (int backward = 0; backward < 5; ++backward) {
    const std::uint64_t elements[] = {1024};
    lk_board_expect(board_.get(), elements, 1);
    ends(lk_board_begin(board_.get(), backward, lk_observer_ticks(observer_.get()), kAllreduce,
                        4096, 0));
    EXPECT_TRUE(lk_board_waited(board_.get()));
  }
  lk_board_hear(board_.get(), 1);
  EXPECT_FALSE(unseenIn({0, 1}));
}

TEST_F(FlightBoard, LooksAgainWhereTheBucketsAreOthers) {
  lk_board_hear(board_.get(), 1);
  for (int backward = 0; backward < 5; ++backward) {
    unseenIn({0, 1});
  }
  const std::uint64_t rebuilt[] = {512, 1024};
  lk_board_expect(board_.get(), rebuilt, 2);
  EXPECT_FALSE(lk_board_assumes(board_.get()));
}

TEST_F(FlightBoard, ThreadsThatTellNothingOfABackwardAreNotReliedOnAnyMore) {
  lk_board_hear(board_.get(), 1);
  const std::uint64_t elements[] = {1024};
  lk_board_expect(board_.get(), elements, 1);
  const std::uint64_t queued = lk_observer_ticks(observer_.get());
  lk_board_begin(board_.get(), 0, queued, kAllreduce, 4096,
                 lk_board_bucket_of(board_.get(), kAllreduce, 1024));
  const std::uint64_t end = lk_observer_ticks(observer_.get());
  const std::uint64_t ready[] = {0};
  lk_board_tell_buckets(board_.get(), lk_observer_lane(observer_.get(), "ddp"), ready, queued, end);
  const std::vector<trace::Event> told = collectives();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(endOf(told[0]), end) << "DDP had waited for it";
  EXPECT_FALSE(lk_board_hears(board_.get(), kAllreduce));
}

}  // namespace
}  // namespace lockstep
