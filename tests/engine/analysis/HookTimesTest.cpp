#include "engine/analysis/HookTimes.h"

#include <gmock/gmock.h>

#include "engine/analysis/HookBuckets.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

/// Step 1 of each rank takes 0..20 ms; step 0 is the warm-up and not here. In HandMadeRun a tick
/// is a microsecond.
class HookRun {
 public:
  explicit HookRun(int ranks = 1) : run_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      run_.add(rank, EventKind::kStep, 0, 10, 0);
      run_.add(rank, EventKind::kStep, 100, 20'000, 1);
    }
  }

  HookRun& phase(int rank, EventKind kind, std::uint64_t begin, std::uint64_t end,
                 std::uint16_t bucket = 3, std::uint32_t step = 1) {
    run_.add(rank, kind, begin, end, step);
    run_.spans.back().bucket = bucket;
    return *this;
  }

  /// Of 400 bytes.
  HookRun& collective(int rank, std::uint64_t begin, std::uint64_t end, std::uint64_t sequence,
                      std::uint16_t bucket = 3,
                      trace::Operation operation = trace::Operation::kAllreduce) {
    run_.addCollective(rank, begin, end, sequence, 1, operation);
    run_.spans.back().bucket = bucket;
    return *this;
  }

  HookRun& layout(std::vector<std::uint64_t> sizes) {
    trace::BucketsMessage message;
    for (const std::uint64_t bytes : sizes) {
      message.buckets.push_back({{}, {}, bytes, 0, "float32"});
    }
    run_.tables.layouts.push_back(message);
    return *this;
  }

  [[nodiscard]] HookTimes times() const { return hookTimes(run_.data(), analyse(run_.data())); }
  [[nodiscard]] HookCall only() const {
    const HookTimes all = times();
    EXPECT_EQ(all.calls.size(), 1u);
    return all.calls.at(0);
  }

  HandMadeRun run_;
};

TEST(HookTimesTest, EveryMomentOfACallBelongsToOnePhase) {
  // Encode 1..3, queued 3..4, in flight 4..9, the peer comes at 6: waiting 2, transfer 3; queued
  // 9..10 for the hook's thread, decode 10..12. In all 11 ms.
  HookRun run(2);
  run.phase(0, EventKind::kHookEncode, 1'000, 3'000)
      .phase(0, EventKind::kHookCommunicate, 3'000, 9'000)
      .collective(0, 4'000, 9'000, 0)
      .collective(1, 6'000, 9'000, 0)
      .phase(0, EventKind::kHookDecode, 10'000, 12'000);
  const HookCall call = run.only();
  EXPECT_EQ(call.rank, 0);
  EXPECT_EQ(call.bucket, 3);
  EXPECT_EQ(call.of(HookPhase::kEncode), 2);
  EXPECT_EQ(call.of(HookPhase::kQueued), 2);
  EXPECT_EQ(call.of(HookPhase::kWaiting), 2);
  EXPECT_EQ(call.of(HookPhase::kTransfer), 3);
  EXPECT_EQ(call.of(HookPhase::kDecode), 2);
  EXPECT_EQ(call.totalMs, 11);
  EXPECT_EQ(call.payloadBytes, 400u);
}

TEST(HookTimesTest, WorkBesideAnOwnCollectiveInFlightIsWork) {
  // PowerSGD's second matrix: in flight 2..8, encode 0..2 and 4..5.
  HookRun run;
  run.phase(0, EventKind::kHookEncode, 0, 2'000)
      .phase(0, EventKind::kHookCommunicate, 2'000, 8'000)
      .collective(0, 2'000, 8'000, 0)
      .phase(0, EventKind::kHookEncode, 4'000, 5'000);
  const HookCall call = run.only();
  EXPECT_EQ(call.of(HookPhase::kEncode), 3);
  EXPECT_EQ(call.of(HookPhase::kTransfer), 5);
  EXPECT_EQ(call.totalMs, 8);
}

TEST(HookTimesTest, AHookInsideAnotherIsCountedOnce) {
  HookRun run;
  run.phase(0, EventKind::kHookEncode, 0, 4'000)
      .phase(0, EventKind::kHookEncode, 1'000, 3'000)
      .phase(0, EventKind::kHookDecode, 3'500, 6'000);
  const HookCall call = run.only();
  EXPECT_EQ(call.of(HookPhase::kEncode), 4);
  EXPECT_EQ(call.of(HookPhase::kDecode), 2);
}

TEST(HookTimesTest, NothingIsWaitingWhileAPeerIsUnknown) {
  HookRun run(2);
  run.collective(0, 1'000, 2'000, 0).collective(1, 1'000, 2'000, 0);  // both are of the group
  run.phase(0, EventKind::kHookCommunicate, 3'000, 6'000).collective(0, 3'000, 6'000, 1);
  const HookCall call = run.only();
  EXPECT_EQ(call.of(HookPhase::kWaiting), 0);
  EXPECT_EQ(call.of(HookPhase::kTransfer), 3);
}

TEST(HookTimesTest, TheModelledLinkIsTransfer) {
  HookRun run;
  run.phase(0, EventKind::kHookCommunicate, 0, 6'000).collective(0, 0, 2'000, 0);
  run.collective(0, 2'000, 6'000, 0);
  run.run_.spans.back().kind = EventKind::kShaped;
  const HookCall call = run.only();
  EXPECT_EQ(call.of(HookPhase::kTransfer), 6);
  EXPECT_EQ(call.payloadBytes, 400u);
}

TEST(HookTimesTest, AroundTheStepOnlyThePhasesCount) {
  // Before the step 1..2, after it 15..18 with a collective in flight 16..18; one of somebody
  // else at 5..9. A receive moves nothing that this rank handed over.
  HookRun run;
  const std::uint16_t none = trace::kNoBucket;
  run.phase(0, EventKind::kHookEncode, 1'000, 2'000, none)
      .phase(0, EventKind::kHookCommunicate, 15'000, 18'000, none)
      .collective(0, 5'000, 9'000, 0, none)
      .collective(0, 16'000, 18'000, 1, none, trace::Operation::kSend)
      .collective(0, 16'000, 18'000, 2, none, trace::Operation::kRecv);
  const HookCall call = run.only();
  EXPECT_EQ(call.of(HookPhase::kEncode), 1);
  EXPECT_EQ(call.of(HookPhase::kQueued), 1);
  EXPECT_EQ(call.of(HookPhase::kTransfer), 2);
  EXPECT_EQ(call.totalMs, 4);
  EXPECT_EQ(call.payloadBytes, 400u);
}

TEST(HookTimesTest, LeavesOutTheWarmUpAndStepsThatLostEvents) {
  HookRun run(2);
  run.phase(0, EventKind::kHookEncode, 1, 5, 3, 0);
  run.phase(0, EventKind::kHookEncode, 1'000, 2'000).phase(1, EventKind::kHookEncode, 1'000, 2'000);
  run.run_.add(1, EventKind::kGap, 5'000, 6'000, 1, 7);
  const HookTimes times = run.times();
  ASSERT_EQ(times.calls.size(), 1u);
  EXPECT_EQ(times.calls[0].rank, 0);
  EXPECT_EQ(times.measuredSteps, 1u);
  EXPECT_EQ(times.incompleteSteps, 1u);
}

TEST(HookTimesTest, AStepThatIsNotOverDoesNotCountYet) {
  HookRun run;
  run.phase(0, EventKind::kHookEncode, 21'000, 22'000, 3, 2);
  EXPECT_TRUE(run.times().calls.empty());
}

TEST(HookBucketsTest, SumUpByBucketWithSharesSizesAndWhatIsAroundTheStepLast) {
  // Bucket 0: 1 and 3 ms on two ranks, bucket 1: 4 ms, around the step 2 ms: 10 ms in all.
  HookRun run(2);
  run.layout({1'000, 4'000});
  run.phase(0, EventKind::kHookEncode, 1'000, 2'000, 0)
      .phase(1, EventKind::kHookEncode, 1'000, 4'000, 0)
      .phase(0, EventKind::kHookCommunicate, 5'000, 9'000, 1)
      .collective(0, 5'000, 9'000, 0, 1)
      .phase(0, EventKind::kHookDecode, 10'000, 12'000, trace::kNoBucket);
  const auto buckets = HookCalls(run.times()).buckets(run.run_.tables.layouts);
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].bucket, 0);
  EXPECT_EQ(buckets[0].total.count(), 2u);
  EXPECT_EQ(buckets[0].total.p50, 2);
  EXPECT_DOUBLE_EQ(buckets[0].share, 0.4);
  EXPECT_EQ(buckets[0].ratio(), std::nullopt) << "nothing was handed over";
  EXPECT_EQ(buckets[1].gradientBytes, 4'000u);
  EXPECT_EQ(buckets[1].payloadBytes, 400);
  EXPECT_EQ(buckets[1].ratio(), 10);
  EXPECT_TRUE(buckets[1].lacks(HookPhase::kEncode));
  EXPECT_EQ(buckets[2].bucket, trace::kNoBucket);
  EXPECT_EQ(buckets[2].gradientBytes, std::nullopt);
  EXPECT_DOUBLE_EQ(buckets[2].shares[static_cast<std::size_t>(HookPhase::kDecode)], 0.2);
  EXPECT_EQ(HookCalls(run.times()).buckets(run.run_.tables.layouts, 1).size(), 1u);
}

TEST(HookBucketsTest, AStepAddsUpItsBucketsAndTakesTheMedianOfTheRanks) {
  // Rank 0: work 1 + 2 ms, in flight 4; rank 1: work 5. Medians 4 and 2.
  HookRun run(2);
  run.layout({1'000, 4'000});
  run.phase(0, EventKind::kHookEncode, 1'000, 2'000, 0)
      .phase(0, EventKind::kHookDecode, 2'000, 4'000, 1)
      .phase(0, EventKind::kHookCommunicate, 5'000, 9'000, trace::kNoBucket)
      .collective(0, 5'000, 9'000, 0, trace::kNoBucket)
      .phase(1, EventKind::kHookEncode, 1'000, 6'000, 0);
  const HookStep step = HookCalls(run.times()).step(run.run_.tables.layouts);
  EXPECT_EQ(step.workMs, 4);
  EXPECT_EQ(step.gradientBytes, 5'000u);
  EXPECT_EQ(HookCalls(run.times()).step({}).gradientBytes, std::nullopt);
}

TEST(HookBucketsTest, FindsTheLongestCallByPhase) {
  HookRun run(2);
  run.phase(0, EventKind::kHookEncode, 1'000, 2'000, 0)
      .phase(0, EventKind::kHookDecode, 2'000, 9'000, 0)
      .phase(1, EventKind::kHookEncode, 1'000, 4'000, 0);
  const HookCalls calls(run.times());
  EXPECT_EQ(calls.longest(0, HookPhase::kEncode, std::nullopt)->rank, 1);
  EXPECT_EQ(calls.longest(0, std::nullopt, std::nullopt)->rank, 0);
  EXPECT_EQ(calls.longest(0, HookPhase::kEncode, 0)->rank, 0);
  EXPECT_EQ(calls.longest(5, std::nullopt, std::nullopt), nullptr);
}

}  // namespace
}  // namespace lockstep::analysis
