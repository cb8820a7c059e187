#include <gtest/gtest.h>

#include <algorithm>

#include "engine/analysis/BucketDelays.h"
#include "engine/analysis/BucketLife.h"
#include "engine/analysis/Compare.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/StepCauses.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

constexpr std::uint32_t kSteps = 12;

/// Ranks 0 and 1 on the recording host, ranks 2 and 3 on another whose clock is known to ± 300 µs.
/// Every step they come to one collective at 5 ms and as many µs later as `late` says.
HandMadeRun twoHosts(const std::vector<std::uint64_t>& late) {
  HandMadeRun run(4);
  trace::RunUpdate update;
  update.ranks.emplace();
  for (int rank = 0; rank < 4; ++rank) {
    update.ranks->push_back({});
    update.ranks->back().rank = rank;
    update.ranks->back().host = rank / 2;
  }
  update.hosts = std::vector<trace::HostState>{
      {{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
      {{1, "beta", "", "tsc"}, trace::ClockOffset{9'000'000, 300'000}}};
  run.tables.doubt.take(update);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::uint64_t begin = step * 20'000;
    for (int rank = 0; rank < 4; ++rank) {
      const std::uint64_t arrived = begin + 5'000 + late[static_cast<std::size_t>(rank)];
      run.add(rank, trace::EventKind::kStep, begin, begin + 15'000, step);
      run.addCollective(rank, arrived, begin + 10'000, step, step);
    }
  }
  return run;
}

TEST(HostsTest, ALatenessWithinTheDoubtOfTheClocksBlamesNobody) {
  const HandMadeRun run = twoHosts({0, 0, 0, 250});
  const auto collectives = collectiveTimes(run.data());
  ASSERT_EQ(collectives.size(), kSteps);
  EXPECT_TRUE(collectives[0].complete);
  EXPECT_EQ(collectives[0].lastRank, std::nullopt);
  EXPECT_EQ(collectives[0].arrivals[0].waitingTicks(), 0) << "not known to have waited";
  EXPECT_EQ(collectives[0].arrivals[0].transferTicks(), 5000);
  EXPECT_EQ(collectives[0].arrivals[2].waitingTicks(), 250) << "rank 2 shares the clock of rank 3";
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.lateRank, std::nullopt);
  EXPECT_EQ(analysis.ranks[3].lastArrivals, 0);
  EXPECT_EQ(analysis.ranks[0].waitingMs, 0) << "known, other than with a missing record";
}

TEST(HostsTest, ALatenessAboveItNamesTheRank) {
  const RunAnalysis analysis = analyse(twoHosts({0, 0, 0, 350}).data());
  EXPECT_EQ(analysis.collectives.begin()->lastRank, 3);
  EXPECT_EQ(analyse(twoHosts({0, 0, 0, 1'350}).data()).lateRank, 3);
  EXPECT_EQ(analysis.ranks[0].waitingMs, 0.35);
}

TEST(HostsTest, RanksOfOneHostAreToldApartHoweverClose) {
  const RunAnalysis analysis = analyse(twoHosts({0, 1'001, 0, 0}).data());
  EXPECT_EQ(analysis.lateRank, 1);
  EXPECT_EQ(analyse(twoHosts({2'000, 2'001, 0, 0}).data()).lateRank, 1);
}

TEST(HostsTest, WhatIsWaitedForOneOfTwoRanksIsNotLostAndBlamesNeither) {
  // Ranks 1 and 3 come 2 ms late, 100 µs apart: one of them was waited for.
  const HandMadeRun run = twoHosts({0, 2'000, 0, 2'100});
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.lateRank, std::nullopt);
  EXPECT_EQ(analysis.ranks[0].waitingMs, 2.1);
  const auto causes = stepCauses(run.data(), analysis);
  ASSERT_FALSE(causes.empty());
  bool waited = false;
  for (const CauseTime& part : causes[0].parts) {
    if (part.key.cause == Cause::kWaiting) {
      waited = true;
      EXPECT_EQ(part.key.waitedFor, -1);
      EXPECT_NEAR(part.ms, 2.1, 1e-9);
    }
  }
  EXPECT_TRUE(waited);
  const auto reasons = tailReasons(stepOverlaps(run.data(), analysis), 0, 0);
  ASSERT_FALSE(reasons.empty());
  const auto slow = std::find_if(reasons.begin(), reasons.end(), [](const TailReason& reason) {
    return reason.mean.cause == TailCause::kUnevenRanks;
  });
  ASSERT_NE(slow, reasons.end());
  EXPECT_EQ(slow->mean.peer, kUnclearRank);
  EXPECT_EQ(title(slow->mean), "uneven ranks, unclear which");
  EXPECT_NE(explanation(slow->mean).find("different hosts"), std::string::npos);
}

TEST(HostsTest, ADifferenceOfUnclearWaitingNamesNoRank) {
  const RunData a = twoHosts({0, 2'000, 0, 2'100}).data();
  const RunData b = twoHosts({0, 4'000, 0, 4'100}).data();
  const RunAnalysis ofA = analyse(a);
  const RunAnalysis ofB = analyse(b);
  const Comparison comparison = compare({{"a", settingsOf("[train]\nseed = 1\n"), &a, &ofA, {}},
                                         {"b", settingsOf("[train]\nseed = 2\n"), &b, &ofB, {}}});
  std::string all;
  for (const Reason& reason : comparison.why.at(0).reasons) {
    all += reason.sentence + "\n";
  }
  EXPECT_NE(all.find("Exposed waiting for a rank, unclear which, in bucket 3 takes "),
            std::string::npos)
      << all;
}

TEST(HostsTest, UnclearWaitingTakesItsShareOfTheBlameFromTheOthers) {
  HandMadeRun run = twoHosts({0, 2'000, 0, 2'100});
  for (std::uint32_t step = 1; step < kSteps; ++step) {
    const std::uint64_t begin = step * 20'000 + 10'500;
    for (const int rank : {0, 1, 2}) {
      run.addCollective(rank, begin, begin + 4'000, kSteps + step, step);
    }
    run.addCollective(3, begin + 2'000, begin + 4'000, kSteps + step, step);
  }
  const RunAnalysis analysis = analyse(run.data());
  EXPECT_EQ(analysis.lateRank, 3);
  // A step: 6 ms for rank 3 alone; 2.1 of rank 0, 2.1 of rank 2 and none of the two late ones.
  EXPECT_NEAR(analysis.lateShare, 6 / (6 + 4.2), 1e-9);
}

TEST(HostsTest, TheLatenessOfABucketWithinTheDoubtIsNone) {
  const HandMadeRun close = twoHosts({0, 100, 0, 250});
  const BucketDelays within = bucketDelays(close.data(), analyse(close.data()));
  const auto lateness = [](const BucketDelays& delays, std::size_t row) {
    return delays.cell(row, 3).medianMs[static_cast<std::size_t>(BucketMeasure::kLateness)];
  };
  EXPECT_EQ(lateness(within, 3), 0);
  EXPECT_NEAR(*lateness(within, 1), 0.1, 1e-6) << "on the first rank's own host";
  const HandMadeRun far = twoHosts({0, 0, 0, 350});
  EXPECT_NEAR(*lateness(bucketDelays(far.data(), analyse(far.data())), 3), 0.35, 1e-6);
}

TEST(HostsTest, ABucketsLastRankIsUnknownWithinTheDoubt) {
  for (const auto& [late, known] : {std::pair{250u, false}, std::pair{350u, true}}) {
    const HandMadeRun run = twoHosts({0, 0, 0, late});
    std::vector<RankSpans> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      ranks.push_back({rank, {}});
      for (const trace::SpanRow& span : run.spans) {
        if (span.track / 10 == rank) {
          ranks.back().spans.push_back(span);
        }
      }
    }
    trace::BucketsMessage layout;
    layout.buckets.resize(4);
    const auto lives = bucketLives(ranks, 0, layout, readyOrders(ranks, 0, &layout),
                                   {run.tables.doubt, run.tables.clock.nsPerTick});
    EXPECT_TRUE(lives[3].metTicks.has_value());
    EXPECT_EQ(lives[3].lastRank.has_value(), known);
  }
}

}  // namespace
}  // namespace lockstep::analysis
