#include "engine/diagnosis/MostExposedBucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/analysis/RunAnalysis.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::diagnosis {
namespace {

using analysis::HandMadeRun;
using testing::HasSubstr;
using testing::Not;
using trace::EventKind;
using Why = MostExposedBucket::Why;

constexpr std::uint32_t kSteps = 41;  // one of them is warm-up

/// When the ranks come to bucket 3 of a step, and when it ends, in ms after the step's start.
struct Times {
  double first = 0;
  double second = 0;
  double end = 0;
};

/// Two ranks whose steps take 100 ms and compute until 50 ms in them.
HandMadeRun runOf(const std::function<Times(std::uint32_t step)>& timesOf,
                  std::uint32_t steps = kSteps) {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t begin = 100'000ULL * step;
    const Times times = timesOf(step);
    const auto at = [&](double ms) { return begin + static_cast<std::uint64_t>(ms * 1000); };
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, EventKind::kStep, begin, begin + 100'000, step);
      run.add(rank, EventKind::kBackward, begin, begin + 50'000, step);
      run.addCollective(rank, at(rank == 0 ? times.first : times.second), at(times.end), step,
                        step);
    }
  }
  return run;
}

BucketVerdict verdictOf(const HandMadeRun& run) {
  const analysis::RunData data = run.data();
  const analysis::RunAnalysis analysis = analysis::analyse(data);
  return bucketVerdict(analysis::bucketDelays(data, analysis), analysis);
}

TEST(MostExposedBucketTest, NamesTheRankThatIsWaitedForAndHowOften) {
  // Rank 1 comes 20 ms late in three of four steps, and is the first in the others.
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t step) {
    return step % 4 == 0 ? Times{51, 50, 54} : Times{50, 70, 73};
  }));
  ASSERT_TRUE(verdict.mostExposed.has_value());
  EXPECT_EQ(verdict.mostExposed->rank, 0);
  EXPECT_EQ(verdict.mostExposed->bucket, 3);
  EXPECT_EQ(verdict.mostExposed->why, Why::kLateRank);
  // 30 steps of 23 ms, 10 of 3 ms.
  EXPECT_NEAR(verdict.mostExposed->ms, 18, 1e-3);
  EXPECT_EQ(textOf(verdict),
            "Bucket 3 is exposed most, 18.00 ms a step on rank 0: it waits for rank 1, which is "
            "late in 30 of 40 "
            "iterations");
}

TEST(MostExposedBucketTest, AccusesNobodyWhereRanksTakeTurns) {
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t step) {
    return step % 2 == 0 ? Times{70, 50, 73} : Times{50, 70, 73};
  }));
  ASSERT_TRUE(verdict.mostExposed.has_value());
  EXPECT_EQ(verdict.mostExposed->why, Why::kOtherRanks);
  EXPECT_THAT(textOf(verdict), HasSubstr("it waits for other ranks, none of which is late beyond "
                                         "chance"));
}

// Another rank may be late, and still not be what this bucket waits for.
TEST(MostExposedBucketTest, WhereSomebodyIsLateItSaysNoMoreThanThatItWaits) {
  BucketVerdict verdict;
  verdict.canTell = true;
  verdict.mostExposed = MostExposedBucket{.rank = 2, .bucket = 1, .ms = 4, .why = Why::kOtherRanks};
  EXPECT_EQ(textOf(verdict),
            "Bucket 1 is exposed most, 4.00 ms a step on rank 2: it waits for other ranks");
}

TEST(MostExposedBucketTest, SaysThatItIsTheTransfer) {
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t) { return Times{50, 50, 80}; }));
  ASSERT_TRUE(verdict.mostExposed.has_value());
  EXPECT_EQ(verdict.mostExposed->why, Why::kTransfer);
  EXPECT_EQ(textOf(verdict),
            "Bucket 3 is exposed most, 30.00 ms a step on rank 0: most of that is its transfer, "
            "which takes 30.00 "
            "ms");
}

// Rank 1 comes late while rank 0 still computes: what is exposed afterwards is transfer.
TEST(MostExposedBucketTest, WaitingThatIsHiddenIsNoReason) {
  const BucketVerdict verdict = verdictOf(runOf([](std::uint32_t) { return Times{20, 48, 80}; }));
  ASSERT_TRUE(verdict.mostExposed.has_value());
  EXPECT_NE(verdict.mostExposed->why, Why::kLateRank);
  EXPECT_THAT(textOf(verdict), Not(HasSubstr("waits")));
}

TEST(MostExposedBucketTest, NamesNoBucketWithinChance) {
  // 1 ms of 100 is below the share of a step that is spoken of.
  const BucketVerdict small = verdictOf(runOf([](std::uint32_t) { return Times{49, 49, 51}; }));
  EXPECT_FALSE(small.mostExposed.has_value());
  EXPECT_EQ(textOf(small),
            "No bucket stands out: none is exposed for more than 3 % of a step beyond chance");
  // A single step of 40 ms tells nothing about the others.
  const BucketVerdict once = verdictOf(runOf([](std::uint32_t step) {
    return step == 20 ? Times{50, 50, 90} : Times{40, 40, 50};
  }));
  EXPECT_FALSE(once.mostExposed.has_value());
}

TEST(MostExposedBucketTest, SaysThatTooFewIterationsCannotTell) {
  const BucketVerdict verdict = verdictOf(runOf(
      [](std::uint32_t) {
        return Times{50, 70, 73};
      },
      5));
  EXPECT_FALSE(verdict.canTell);
  EXPECT_EQ(textOf(verdict),
            "Which bucket costs most this run cannot tell: 4 iterations of a bucket are measured, "
            "and 8 are needed to tell a cost from chance");
}

}  // namespace
}  // namespace lockstep::diagnosis
