#include "engine/analysis/Lateness.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/analysis/RunAnalysis.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using LateTicks = std::function<std::uint64_t(int rank, std::uint32_t step)>;

/// Steps of 20 ms of `ranks` ranks that come to one collective at 8 ms or so much later.
HandMadeRun meeting(int ranks, std::uint32_t steps, const LateTicks& late) {
  HandMadeRun run(ranks);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t at = step * 30'000;
    for (int rank = 0; rank < ranks; ++rank) {
      run.add(rank, EventKind::kStep, at, at + 20'000, step);
      run.addCollective(rank, at + 8'000 + late(rank, step), at + 19'000, step, step);
    }
  }
  return run;
}

int lateRanks(const HandMadeRun& run) {
  int late = 0;
  for (const RankLateness& rank : analyse(run.data()).lateness) {
    late += rank.late ? 1 : 0;
  }
  return late;
}

// Eight ranks, each late by chance, up to 6 ms in a step: someone is always last, and by chance one
// of them most often.
TEST(LatenessTest, AccusesNobodyOfWhatChanceDoes) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const HandMadeRun run = meeting(8, 40, [&](int, std::uint32_t) { return random() % 6'000; });
    EXPECT_EQ(lateRanks(run), 0) << seed;
    EXPECT_EQ(analyse(run.data()).lateRank, std::nullopt);
  }
}

TEST(LatenessTest, AccusesNobodyOfABurst) {
  const HandMadeRun run = meeting(2, 40, [](int rank, std::uint32_t step) {
    return rank == 1 && step >= 10 && step < 16 ? 9'000 : 0;
  });
  EXPECT_EQ(lateRanks(run), 0);
}

TEST(LatenessTest, NamesEachRankThatIsLateThroughTheNoise) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const HandMadeRun run = meeting(8, 40, [&](int rank, std::uint32_t) {
      return random() % 2'000 + (rank == 2 ? 5'000 : rank == 6 ? 4'000 : 0);
    });
    const RunAnalysis analysis = analyse(run.data());
    EXPECT_EQ(lateRanks(run), 2) << seed;
    EXPECT_TRUE(analysis.isLate(2));
    EXPECT_TRUE(analysis.isLate(6));
    EXPECT_EQ(analysis.lateRank, 2) << "the latest of them";
  }
}

TEST(LatenessTest, DoesNotCallALatenessThatDoesNotMatterOne) {
  const HandMadeRun run =
      meeting(2, 40, [](int rank, std::uint32_t) { return rank == 1 ? 500 : 0; });
  EXPECT_EQ(lateRanks(run), 0) << "0.5 of 20 ms";
}

// Rank 1 comes 1 ms late to each of four collectives of a step. The backward does not wait for its
// buckets, so to four of these it is late once; other calls have it wait at each.
TEST(LatenessTest, CountsADelayOnceThatManyBucketsSee) {
  for (const bool buckets : {true, false}) {
    HandMadeRun run(2);
    for (std::uint32_t call = 0; call < 160; ++call) {
      const std::uint32_t step = call / 4;
      const std::uint64_t begin = step * 30'000;
      for (int rank = 0; rank < 2; ++rank) {
        if (call % 4 == 0) {
          run.add(rank, EventKind::kStep, begin, begin + 20'000, step);
        }
        const std::uint64_t at = begin + 4'000 * (call % 4 + 1);
        run.addCollective(rank, at + (rank == 1 ? 1'000 : 0), at + 2'000, call, step);
        run.spans.back().bucket = buckets ? static_cast<std::uint16_t>(call % 4) : trace::kNoBucket;
      }
    }
    const std::vector<RankLateness> late = analyse(run.data()).lateness;
    ASSERT_EQ(late.size(), 2U);
    EXPECT_DOUBLE_EQ(late[1].meanMs, buckets ? 1 : 4);
    EXPECT_DOUBLE_EQ(late[0].meanMs, buckets ? -1 : -4);
  }
}

// Rank 1 comes 2 ms late to each collective; rank 0 has no core for 1 ms in each step.
TEST(LatenessTest, DoesNotAccuseARankOfLessThanThreadsWaitForCores) {
  HandMadeRun run = meeting(2, 40, [](int rank, std::uint32_t) { return rank == 1 ? 2'000 : 0; });
  EXPECT_EQ(lateRanks(run), 1);
  for (std::uint32_t step = 0; step < 40; ++step) {
    const std::uint64_t at = step * 30'000;
    run.add(0, EventKind::kOffCore, at + 11'000, at + 19'000, step, 1'000'000);
  }
  EXPECT_EQ(lateRanks(run), 0);
}

// Rank 1 comes 2 ms late to each collective of steps of 20 ms; a hypervisor took 5 % of a core.
TEST(LatenessTest, DoesNotAccuseARankOfWhatAHypervisorTook) {
  HandMadeRun run = meeting(2, 40, [](int rank, std::uint32_t) { return rank == 1 ? 2'000 : 0; });
  for (const double percent : {0.0, 10.0}) {
    run.tables.addStolen(0, percent);
    run.tables.addStolen(1, 0);
  }
  EXPECT_EQ(stolenPercent(run.data()), 5.0) << "the mean of the machine that lost most";
  EXPECT_EQ(lateRanks(run), 0);
  run.tables.stolen = {};
  EXPECT_EQ(stolenPercent(run.data()), std::nullopt);
  EXPECT_EQ(lateRanks(run), 1);
}

// Rank 1 comes 6 ms late to each collective, and had no core for 5.5 of them.
TEST(LatenessTest, DoesNotAccuseARankThatWasKeptFromItsCore) {
  HandMadeRun run = meeting(2, 40, [](int rank, std::uint32_t) { return rank == 1 ? 6'000 : 0; });
  EXPECT_EQ(lateRanks(run), 1);
  for (std::uint32_t step = 0; step < 40; ++step) {
    run.add(1, EventKind::kOffCore, step * 30'000 + 4'000, step * 30'000 + 14'000, step, 5'500'000);
  }
  EXPECT_EQ(lateRanks(run), 0);
}

TEST(LatenessTest, CannotTellByFewSteps) {
  const HandMadeRun run =
      meeting(2, 8, [](int rank, std::uint32_t) { return rank == 1 ? 6'000 : 0; });
  EXPECT_TRUE(analyse(run.data()).lateness.empty()) << "seven, without the warm-up";
}

}  // namespace
}  // namespace lockstep::analysis
