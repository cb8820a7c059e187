#include "engine/analysis/StepOverlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/analysis/Headroom.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

/// A run made by hand, with buckets; times in µs.
struct BucketRun : HandMadeRun {
  using HandMadeRun::HandMadeRun;

  /// Forward, backward until `gradients`, waiting until `end`, which ends backward and step too.
  void step(int rank, std::uint64_t forwardEnd, std::uint64_t gradients, std::uint64_t end) {
    add(rank, EventKind::kForward, 0, forwardEnd);
    add(rank, EventKind::kBackward, forwardEnd, end);
    add(rank, EventKind::kWait, gradients, end);
    add(rank, EventKind::kStep, 0, end);
  }
  void bucket(int rank, std::uint16_t bucket, std::uint64_t ready, std::uint64_t launched) {
    add(rank, EventKind::kBucketReady, ready, ready);
    spans.back().bucket = bucket;
    add(rank, EventKind::kBucketLaunched, launched, launched);
    spans.back().bucket = bucket;
  }
  void reduce(int rank, std::uint16_t bucket, std::uint64_t begin, std::uint64_t end) {
    addCollective(rank, begin, end, bucket);
    spans.back().bucket = bucket;
  }

  [[nodiscard]] std::vector<StepOverlap> all() const {
    return stepOverlaps(data(), analyse(data()));
  }
  /// The only step.
  [[nodiscard]] StepOverlap only() const {
    EXPECT_LE(spans.size(), 12);
    const std::vector<StepOverlap> steps = all();
    EXPECT_EQ(steps.size(), 1);
    return steps.at(0);
  }
};

/// Rank 0 comes at 5, rank 1 at 9, done at 10; its gradients were ready at `ready`. Exposed 6..10:
/// waiting 6..9 = 3, transfer 1, which would have been hidden, too, had rank 1 come at 5.
BucketRun oneRankLast(std::uint64_t ready) {
  BucketRun run(2);
  run.step(0, 2'000, 6'000, 10'000);
  run.bucket(0, 0, 5'000, 5'000);
  run.bucket(1, 0, ready, ready);
  run.reduce(0, 0, 5'000, 10'000);
  run.reduce(1, 0, 9'000, 10'000);
  return run;
}

/// The same step `steps` times, 20 ms apart.
BucketRun repeated(const BucketRun& one, std::uint32_t steps) {
  BucketRun run(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (trace::SpanRow span : one.spans) {
      span.startTicks += std::uint64_t{step} * 20'000;
      span.step = step;
      if (span.kind == EventKind::kCollective) {
        span.value = trace::packCollective(trace::collectiveSequence(span.value) + 100 * step,
                                           trace::collectiveBytes(span.value));
      }
      run.spans.push_back(span);
    }
  }
  return run;
}

/// The same over a shaped link, whose share of a collective does not matter here.
BucketRun overLink(BucketRun run) {
  run.add(0, EventKind::kShaped, 0, 0);
  return run;
}

double sum(const StepOverlap& step) {
  return std::accumulate(step.tail.begin(), step.tail.end(), 0.0,
                         [](double ms, const TailItem& item) { return ms + item.ms; });
}

/// Rank 0: forward 0..4 ms, backward 4..16 of which it waits 12..15, optimizer 16..18, step 0..20.
/// It comes to the collective of bucket 3 at 10, rank 1 at 11, both are done at 15.
///   in flight 10..15     computing 0..12 and 15..18
///   alone 0..10, 15..18 = 13   overlapped 10..12 = 2   exposed 12..15 = 3   other 18..20 = 2
///   waiting for rank 1 was 10..11, all of it hidden; on its way 11..15 = 4, exposed 3 of it
///   computing of the forward 4, of the backward 4..12 and 15..16 = 9
BucketRun oneBucket() {
  BucketRun run(2);
  run.add(0, EventKind::kForward, 0, 4'000);
  run.add(0, EventKind::kBackward, 4'000, 16'000);
  run.add(0, EventKind::kWait, 12'000, 15'000);
  run.add(0, EventKind::kOptimizer, 16'000, 18'000);
  run.add(0, EventKind::kStep, 0, 20'000);
  run.bucket(0, 3, 9'900, 9'950);
  run.reduce(0, 3, 10'000, 15'000);
  run.reduce(1, 3, 11'000, 15'000);
  return run;
}

TEST(StepOverlapTest, CutsAStepIntoPartsThatAddUpToIt) {
  const StepOverlap step = oneBucket().only();
  EXPECT_EQ(step.aloneMs, 13);
  EXPECT_EQ(step.times.overlapMs, 2);
  EXPECT_EQ(step.transferMs, 3);
  EXPECT_EQ(step.waitingMs, 0);
  EXPECT_EQ(step.undividedMs, 0);
  EXPECT_EQ(step.otherMs, 2);
  EXPECT_EQ(step.forwardComputingMs, 4);
  EXPECT_EQ(step.backwardComputingMs, 9);
  EXPECT_EQ(step.carriedMs, 4);
  EXPECT_EQ(step.carriedExposedMs, 3);
}

// min(9, 4) = 4 of 4 + 9 + 4 could be hidden, 1 is; the step less the other 3, and less the 3
// exposed, takes 17; 20 / 17 = 1.17647.
TEST(StepOverlapTest, KnowsTheHeadroomAndTheBoundOfAHookThatSendsNothing) {
  const std::vector<RankOverlap> ranks = rankOverlaps(oneBucket().all(), 0);
  ASSERT_EQ(ranks.size(), 1);
  EXPECT_EQ(ranks[0].headroomMs, 4);
  EXPECT_DOUBLE_EQ(*ranks[0].headroomPercent, 400.0 / 17);
  EXPECT_EQ(ranks[0].hiddenMs, 1);
  EXPECT_EQ(ranks[0].perfectMs, 17);
  EXPECT_EQ(ranks[0].noopMs, 17);
  EXPECT_DOUBLE_EQ(ranks[0].noopFasterPercent, 300.0 / 17);
}

// Ready at 9.9: until it was reduced the backward computed 9.9..12 = 2.1. Had rank 1 come at 10 as
// rank 0 did, the transfer would have ended at 14: of the exposed 12..15 it has 1, the bucket 2.
TEST(StepOverlapTest, BlamesABucketThatWasReadyLate) {
  const StepOverlap step = oneBucket().only();
  ASSERT_EQ(step.tail.size(), 2);
  EXPECT_EQ(step.tail[1].cause, TailCause::kUnevenRanks);
  EXPECT_EQ(step.tail[1].ms, 1);
  EXPECT_EQ(step.tail[0].cause, TailCause::kLateBucket);
  EXPECT_EQ(step.tail[0].bucket, 3);
  EXPECT_EQ(step.tail[0].ms, 2);
  EXPECT_DOUBLE_EQ(step.tail[0].contextMs, 2.1);
  EXPECT_EQ(step.tail[0].transferMs, 4);
  EXPECT_EQ(
      explanation(step.tail[0]),
      "Bucket 3 was ready when the backward had 2.10 ms of computing left, and reduced 5.10 ms "
      "later: 4.00 ms of transfer, 1.10 ms of copies, launch and waiting for other ranks.");
}

// Bucket 1 is ready at 6, bucket 0 at 9: it goes first, 9..10, then bucket 1, 10..14. What is
// exposed is 10..14 = 4, and bucket 1 stood 6..10 = 4.
TEST(StepOverlapTest, BlamesTheOrderWhereABucketStoodBehindAnother) {
  BucketRun run(2);
  run.step(0, 2'000, 10'000, 14'000);
  run.bucket(0, 0, 9'000, 9'000);
  run.bucket(0, 1, 6'000, 9'000);
  for (const int rank : {0, 1}) {
    run.reduce(rank, 0, 9'000, 10'000);
    run.reduce(rank, 1, 10'000, 14'000);
  }
  const StepOverlap step = run.only();
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(step.tail[0].cause, TailCause::kInOrderStall);
  EXPECT_EQ(step.tail[0].ms, 4);
  EXPECT_EQ(title(step.tail[0]), "bucket 1 behind bucket 0");
  EXPECT_EQ(explanation(step.tail[0]),
            "Bucket 1 was ready 3.00 ms before it was launched: bucket 0 ahead of it was not "
            "ready on this rank.");
}

// The backward computes 2..6 = 4 and the transfer takes 3..14 = 11: 7 can never be hidden. Of the
// exposed 6..14 = 8 that leaves 1, since the bucket was ready at 3 and not at 2.
BucketRun muchTransfer() {
  BucketRun run(2);
  run.step(0, 2'000, 6'000, 14'000);
  run.bucket(0, 0, 3'000, 3'000);
  run.reduce(0, 0, 3'000, 14'000);
  run.reduce(1, 0, 3'000, 14'000);
  return run;
}

TEST(StepOverlapTest, KeepsApartWhatNoOrderCouldHide) {
  const StepOverlap step = muchTransfer().only();
  ASSERT_EQ(step.tail.size(), 2);
  EXPECT_EQ(step.tail[0].cause, TailCause::kMuchTransfer);
  EXPECT_EQ(step.tail[0].ms, 7);
  EXPECT_EQ(step.tail[0].transferMs, 11);
  EXPECT_EQ(step.tail[0].contextMs, 4);
  EXPECT_EQ(step.tail[1].cause, TailCause::kLateBucket);
  EXPECT_EQ(step.tail[1].ms, 1);
}

TEST(StepOverlapTest, AccusesALinkWhereTransferCostsAStepBeyondChance) {
  const StepOverlap step = overLink(repeated(muchTransfer(), 12)).all().at(5);
  EXPECT_EQ(title(step.tail[0]), "slow link");
  EXPECT_EQ(accused(step.tail[0]), "link");
  EXPECT_EQ(explanation(step.tail[0]),
            "A step's transfer takes 11.00 ms, its backward computes 4.00 ms: the rest no order of "
            "the buckets could hide. Fewer bytes or a faster link can help if it is the bytes that "
            "take the time, which one transfer a step cannot tell; synchronising fewer steps "
            "(no_sync) helps in any case.");
}

TEST(StepOverlapTest, AccusesNoLinkInTooFewSteps) {
  const StepOverlap step = overLink(repeated(muchTransfer(), 5)).all().at(4);
  EXPECT_EQ(title(step.tail[0]), "much transfer");
  EXPECT_EQ(accused(step.tail[0]), "");
  EXPECT_EQ(explanation(step.tail[0]),
            "A step's transfer takes 11.00 ms, its backward computes 4.00 ms: the rest no order of "
            "the buckets could hide.");
}

TEST(StepOverlapTest, AccusesNoLinkWhereMessagesCrossNone) {
  const StepOverlap step = repeated(muchTransfer(), 12).all().at(5);
  EXPECT_EQ(title(step.tail[0]), "much transfer");
  EXPECT_EQ(accused(step.tail[0]), "");
  EXPECT_EQ(explanation(step.tail[0]),
            "A step's transfer takes 11.00 ms, its backward computes 4.00 ms: the rest no order of "
            "the buckets could hide. Fewer bytes can help if it is the bytes that take the time, "
            "which one transfer a step cannot tell; synchronising fewer steps (no_sync) helps in "
            "any case.");
}

// Of 11 ms of transfer 7 could never be hidden, and another rank had no core for 6 in each step.
TEST(StepOverlapTest, AccusesNoLinkWhereThreadsWaitForCores) {
  BucketRun one = muchTransfer();
  one.add(1, EventKind::kStep, 0, 14'000);
  one.add(1, EventKind::kOffCore, 4'000, 12'000, 0, 6'000'000);
  const std::vector<StepOverlap> steps = overLink(repeated(one, 12)).all();
  for (const TailReason& reason : tailReasons(steps, 1)) {
    EXPECT_EQ(accused(reason.mean), "") << title(reason.mean);
  }
  EXPECT_EQ(rankOverlaps(steps, 1).at(0).bottleneck, std::nullopt);
}

// 7 of 14 ms are transfer that the step waits for.
TEST(StepOverlapTest, CallsTransferABottleneckOrNoneOnlyWithoutDoubt) {
  EXPECT_EQ(rankOverlaps(repeated(muchTransfer(), 12).all(), 1).at(0).bottleneck, true);
  EXPECT_EQ(rankOverlaps(repeated(muchTransfer(), 5).all(), 1).at(0).bottleneck, std::nullopt);
  EXPECT_EQ(rankOverlaps(repeated(oneRankLast(5'000), 12).all(), 1).at(0).bottleneck, std::nullopt)
      << "1 of 10 ms";
  BucketRun hidden = oneRankLast(5'000);
  hidden.add(0, EventKind::kStep, 0, 19'000);
  hidden.spans.erase(std::find_if(hidden.spans.begin(), hidden.spans.end(),
                                  [](const auto& span) { return span.kind == EventKind::kStep; }));
  EXPECT_EQ(rankOverlaps(repeated(hidden, 12).all(), 1).at(0).bottleneck, false) << "1 of 19 ms";
}

/// The backward computes 2..6 ms; `count` buckets of `bytes` each are ready from 3 on and go one
/// after the other, each 0.5 ms whatever its size.
BucketRun tinyBuckets(const std::vector<std::uint64_t>& bytes) {
  BucketRun run(2);
  const std::uint64_t end = 3'000 + 500 * bytes.size();
  run.step(0, 2'000, 6'000, end);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto bucket = static_cast<std::uint16_t>(i);
    run.bucket(0, bucket, 3'000 + i, 3'000 + i);
    for (const int rank : {0, 1}) {
      run.reduce(rank, bucket, 3'000 + 500 * i, 3'500 + 500 * i);
      run.spans.back().value = trace::packCollective(i, bytes[i]);
    }
  }
  return run;
}

TailItem slowLinkOf(const BucketRun& run) {
  std::string others;
  const StepOverlap step = overLink(repeated(run, 12)).all().at(5);
  for (const TailItem& item : step.tail) {
    if (item.cause == TailCause::kSlowLink) {
      return item;
    }
    others += " " + title(item) + " " + std::to_string(item.ms);
  }
  ADD_FAILURE() << "no slow link, but" << others;
  return {};
}

// 20 transfers of 0.5 ms over a link whose cost is its latency: larger buckets would help.
TEST(StepOverlapTest, AdvisesLargerBucketsWhereTransfersCostMuchWhateverTheirSize) {
  std::vector<std::uint64_t> bytes(20, 4'000);
  bytes[7] = 9'000;
  EXPECT_EQ(explanation(slowLinkOf(tinyBuckets(bytes))),
            "A step's 20 transfers take 10.00 ms, its backward computes 4.00 ms: the rest no order "
            "of the buckets could hide. 10.00 ms of the transfers do not depend on the bytes. "
            "Fewer, larger buckets (bucket_cap_mb) or a link of less latency can help.");
}

TEST(StepOverlapTest, DoesNotSayThatOnlyTheLinkCanHelpWhereItCannotTell) {
  EXPECT_EQ(explanation(slowLinkOf(tinyBuckets(std::vector<std::uint64_t>(20, 4'000)))),
            "A step's 20 transfers take 10.00 ms, its backward computes 4.00 ms: the rest no order "
            "of the buckets could hide. Fewer bytes or a faster link can help, and where a "
            "transfer costs much whatever its size, larger buckets.");
}

// 1 KB in 0.1 ms and 10 KB in 1 ms: all of it is bytes.
TEST(StepOverlapTest, AdvisesAFasterLinkWhereTransfersGrowWithTheirBytes) {
  BucketRun run(2);
  run.step(0, 2'000, 2'100, 5'000);
  for (const int rank : {0, 1}) {
    for (const std::uint16_t bucket : {std::uint16_t{0}, std::uint16_t{1}}) {
      run.bucket(rank, bucket, 2'000, 2'000);
      run.reduce(rank, bucket, bucket == 0 ? 2'000 : 2'100, bucket == 0 ? 2'100 : 3'100);
      run.spans.back().value = trace::packCollective(bucket, bucket == 0 ? 1'000 : 10'000);
    }
  }
  EXPECT_EQ(explanation(slowLinkOf(run)),
            "A step's 2 transfers take 1.10 ms, its backward computes 0.10 ms: the rest no order "
            "of the buckets could hide. Fewer bytes or a faster link can help; of the transfers, "
            "0 ms do not depend on the bytes.");
}

// Both buckets are ready at 4 and come to their collectives at once; over a link that carries one
// after the other, 4..5 and 5..9, the second's collective lasts 5 ms, of which 1 is queue.
TEST(StepOverlapTest, TellsTheTransferOfABucketFromItsQueue) {
  BucketRun run(2);
  run.step(0, 2'000, 8'000, 9'000);
  for (const int rank : {0, 1}) {
    run.bucket(rank, 0, 4'000, 4'000);
    run.bucket(rank, 1, 4'000, 4'000);
    run.reduce(rank, 0, 4'000, 5'000);
    run.reduce(rank, 1, 4'001, 9'000);
  }
  const StepOverlap step = run.all().at(0);
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(explanation(step.tail[0]),
            "Bucket 1 was ready when the backward had 4.00 ms of computing left, and reduced 5.00 "
            "ms later: 1.00 ms behind earlier buckets, 4.00 ms of transfer.");
}

TEST(StepOverlapTest, CallsNoRankLateThatWasLastInOneStep) {
  const StepOverlap step = oneRankLast(8'900).only();
  EXPECT_EQ(step.waitingMs, 3);
  EXPECT_EQ(step.transferMs, 1);
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(title(step.tail[0]), "uneven ranks");
  EXPECT_EQ(step.tail[0].ms, 4);
  EXPECT_EQ(explanation(step.tail[0]),
            "The last rank came 4.00 ms later: whether one is always late takes more iterations to "
            "tell.");
  EXPECT_EQ(sum(step), step.times.exposedMs);
}

TEST(StepOverlapTest, BlamesTheRankThatWasWaitedForInEveryStep) {
  const StepOverlap step = repeated(oneRankLast(8'900), 12).all().at(5);
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(step.tail[0].cause, TailCause::kLateRank);
  EXPECT_EQ(title(step.tail[0]), "late rank 1");
  EXPECT_EQ(step.tail[0].ms, 4);
  EXPECT_EQ(explanation(step.tail[0]),
            "Rank 1 came 4.00 ms later to bucket 0: its gradients were ready 3.90 ms later than "
            "on the rank that waited for it.");
}

// Bucket 0 was waited for 1 ms and bucket 1 for 3: the cause is one, and its mean is of neither.
TEST(StepOverlapTest, NamesNoBucketForWhatIsAMeanOverSeveral) {
  BucketRun run(2);
  run.step(0, 2'000, 6'000, 12'000);
  run.bucket(0, 0, 5'000, 5'000);
  run.bucket(1, 0, 7'000, 7'000);
  run.reduce(0, 0, 6'000, 8'000);
  run.reduce(1, 0, 7'000, 8'000);
  run.bucket(0, 1, 6'000, 6'000);
  run.bucket(1, 1, 11'000, 11'000);
  run.reduce(0, 1, 8'000, 12'000);
  run.reduce(1, 1, 11'000, 12'000);
  const std::vector<TailReason> reasons = tailReasons(repeated(run, 12).all(), 1, 0);
  const auto late = std::find_if(reasons.begin(), reasons.end(), [](const TailReason& reason) {
    return reason.mean.cause == TailCause::kLateRank;
  });
  ASSERT_NE(late, reasons.end());
  EXPECT_EQ(explanation(late->mean),
            "Rank 1 came 2.00 ms later to its collectives (mean): its gradients were ready 3.50 ms "
            "later than on the rank that waited for it.");
  EXPECT_EQ(explanation(late->worst),
            "Rank 1 came 3.00 ms later to bucket 1: its gradients were ready 5.00 ms later than on "
            "the rank that waited for it.");
}

TEST(StepOverlapTest, BlamesNobodyWhereTheRanksTakeTurnsBeingLast) {
  BucketRun run = repeated(oneRankLast(8'900), 12);
  for (trace::SpanRow& span : run.spans) {
    if (span.kind == EventKind::kCollective && span.step % 2 == 1) {
      span.track = span.track == 1 ? 11 : 1;
    }
  }
  const std::vector<TailReason> reasons = tailReasons(run.all(), 1);
  ASSERT_FALSE(reasons.empty());
  for (const TailReason& reason : reasons) {
    EXPECT_NE(reason.mean.cause, TailCause::kLateRank);
  }
  EXPECT_EQ(explanation(reasons[0].mean),
            "The last rank came 4.00 ms later: over the run no rank is late beyond chance.");
}

// Rank 1 came 4 ms later, and had no core for 3 of them.
TEST(StepOverlapTest, ARankThatWasKeptFromItsCoreIsNotLate) {
  BucketRun one = oneRankLast(8'900);
  one.add(1, EventKind::kStep, 0, 10'000);
  one.add(1, EventKind::kOffCore, 4'000, 8'000, 0, 3'900'000);
  BucketRun run = repeated(one, 12);
  EXPECT_EQ(analyse(run.data()).lateRank, std::nullopt);
  const std::vector<TailReason> reasons = tailReasons(run.all(), 1, 0);
  ASSERT_EQ(reasons.size(), 2);
  EXPECT_EQ(title(reasons[0].mean), "no core");
  EXPECT_NEAR(reasons[0].mean.ms, 3.9, 0.01);
  EXPECT_EQ(explanation(reasons[0].mean),
            "This rank, or the one that it waited for, was ready to run for 3.90 ms a step and had "
            "no core: more threads want to run than there are cores for them.");
}

// Of the exposed 12..15 nothing is the rank's own; of the overlapped 10..12 it had no core in
// 10.5..11.5, the middle of 10..12.
TEST(StepOverlapTest, BlamesNobodyForTimeInWhichTheRankHadNoCore) {
  BucketRun run = oneBucket();
  run.add(0, EventKind::kOffCore, 10'000, 12'000, 0, 1'000'000);
  const StepOverlap step = run.only();
  EXPECT_EQ(step.times.overlapMs, 1);
  EXPECT_EQ(step.noCoreMs, 1);
  EXPECT_EQ(step.transferMs + step.waitingMs, 3);
  EXPECT_EQ(sum(step), step.times.exposedMs);
  ASSERT_EQ(step.tail.size(), 3);
  const TailItem& noCore =
      *std::find_if(step.tail.begin(), step.tail.end(),
                    [](const TailItem& item) { return item.cause == TailCause::kNoCore; });
  EXPECT_EQ(title(noCore), "no core");
  EXPECT_EQ(noCore.ms, 1);
  EXPECT_EQ(explanation(noCore),
            "This rank, or the one that it waited for, was ready to run for 1.00 ms a step and had "
            "no core: more threads want to run than there are cores for them.");
}

TEST(StepOverlapTest, TellsALateThreadFromLateGradients) {
  const StepOverlap step = repeated(oneRankLast(4'000), 12).all().at(5);
  EXPECT_NE(explanation(step.tail.at(0)).find("ready in time"), std::string::npos);
}

// Two in flight, 5..9 and 6..12, both exposed from 6 on; rank 1 came to the second at 8. The first
// has 6..9, the second 9..12: rank 1 cost nothing.
TEST(StepOverlapTest, GivesAMomentToTheCollectiveThatWasComeToFirst) {
  BucketRun run(2);
  run.step(0, 2'000, 6'000, 12'000);
  run.reduce(0, 0, 5'000, 9'000);
  run.reduce(1, 0, 5'000, 9'000);
  run.reduce(0, 1, 6'000, 12'000);
  run.reduce(1, 1, 8'000, 12'000);
  const StepOverlap step = run.only();
  EXPECT_EQ(step.waitingMs, 0);
  EXPECT_EQ(step.transferMs, 6);
  for (const TailItem& item : step.tail) {
    EXPECT_EQ(item.cause, TailCause::kOutsideBuckets) << "no bucket was seen ready";
    EXPECT_EQ(item.ms, 3);
  }
}

TEST(StepOverlapTest, DoesNotGuessWhoWasLateWhileARankIsMissing) {
  BucketRun run(3);
  run.step(0, 2'000, 6'000, 10'000);
  for (const int rank : {0, 1, 2}) {
    run.reduce(rank, 1, 3'000, 4'000);
  }
  run.reduce(0, 2, 5'000, 10'000);  // rank 2 has no record of it
  run.reduce(1, 2, 9'000, 10'000);
  const StepOverlap step = run.only();
  EXPECT_EQ(step.undividedMs, 4);
  EXPECT_EQ(step.waitingMs + step.transferMs, 0);
  EXPECT_EQ(step.carriedMs, std::nullopt);
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(step.tail[0].cause, TailCause::kUnknown);
  EXPECT_EQ(rankOverlaps(run.all(), 0).at(0).headroomMs, std::nullopt);
}

TEST(StepOverlapTest, NamesTheCopiesOfDataParallel) {
  BucketRun run(1);
  run.add(0, EventKind::kForward, 0, 4'000);
  run.add(0, EventKind::kReplicate, 1'000, 3'000);
  run.add(0, EventKind::kStep, 0, 5'000);
  const StepOverlap step = run.only();
  EXPECT_EQ(step.undividedMs, 2);
  ASSERT_EQ(step.tail.size(), 1);
  EXPECT_EQ(step.tail[0].cause, TailCause::kCopies);
  EXPECT_EQ(step.carriedMs, 2);
}

// Waiting 6..10 while the collective is done at 7: 3 ms go by with nothing in flight.
TEST(StepOverlapTest, ShowsApartWhatAStepWaitsWithNothingInFlight) {
  BucketRun run(2);
  run.step(0, 2'000, 6'000, 10'000);
  run.reduce(0, 0, 5'000, 7'000);
  run.reduce(1, 0, 5'000, 7'000);
  EXPECT_EQ(run.only().idleMs, 3);
  EXPECT_EQ(run.only().otherMs, 3);
}

// Two measured steps of rank 0: exposed 1 and 3 ms after computing 2. Their mean is 2.
TEST(StepOverlapTest, AddsItsCausesUpToTheMeanOfTheExposedTime) {
  BucketRun run(2);
  for (const std::uint32_t step : {0, 1, 2}) {
    const std::uint64_t at = step * 10'000;
    const std::uint64_t done = at + 3'000 + (step == 2 ? 2'000 : 0);
    run.add(0, EventKind::kStep, at, at + 8'000, step);
    run.add(0, EventKind::kForward, at, at + 2'000, step);
    run.addCollective(0, at + 1'000, done, step, step);
    run.addCollective(1, at + 1'000, done, step, step);
  }
  ASSERT_EQ(run.spans.size(), 12);
  const auto reasons = tailReasons(run.all(), 1);
  ASSERT_EQ(reasons.size(), 1);
  EXPECT_EQ(reasons[0].mean.ms, 2);
  EXPECT_EQ(reasons[0].worst.ms, 3);
  EXPECT_EQ(reasons[0].worst.step, 2);
  EXPECT_EQ(reasons[0].share, 1);
  EXPECT_EQ(reasons[0].steps, 2);
  EXPECT_TRUE(tailReasons(run.all(), 1, 1).empty()) << "rank 1 has no step";
  EXPECT_TRUE(tailReasons(run.all(), 7).empty());
}

TEST(StepOverlapTest, TellsTheStepsOfManyRanksInTheOrderOfTheAnalysis) {
  HandMadeRun run = trained(5, 40);
  // Of rank 2 no step is over yet; rank 1, which others wait for, has spans all the same.
  std::erase_if(run.spans, [](const trace::SpanRow& span) {
    return span.kind == EventKind::kStep && (span.track == 20 || span.track == 10);
  });
  const RunData data = run.data();
  const RunAnalysis analysis = analyse(data);
  const std::vector<StepOverlap> steps = stepOverlaps(data, analysis);
  ASSERT_EQ(steps.size(), 3 * 40u);
  EXPECT_TRUE(std::ranges::equal(steps, analysis.steps(), {}, &StepOverlap::times));
  EXPECT_TRUE(std::ranges::any_of(steps.back().tail, [](const TailItem& item) {
    return item.peer == 1 && item.readyLaterMs.known();
  })) << "what is told of a rank that came last is known of one without a step";
}

TEST(StepOverlapTest, SaysNothingOfARunWithoutCommunication) {
  BucketRun run(1);
  run.add(0, EventKind::kForward, 0, 4'000);
  run.add(0, EventKind::kStep, 0, 5'000);
  EXPECT_TRUE(run.only().tail.empty());
  const RankOverlap rank = rankOverlaps(run.all(), 0).at(0);
  EXPECT_EQ(rank.overlapPercent, std::nullopt);
  EXPECT_EQ(rank.headroomMs, std::nullopt);
  EXPECT_EQ(rank.noopMs, 5);
  EXPECT_EQ(rank.noopFasterPercent, 0);
  EXPECT_TRUE(rankOverlaps(run.all(), 3).empty());
}

}  // namespace
}  // namespace lockstep::analysis
