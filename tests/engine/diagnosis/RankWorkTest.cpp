#include "engine/diagnosis/RankWork.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::diagnosis {
namespace {

using Kind = WorkPart::Kind;
using trace::EventKind;

/// Ten steps of 100 ms: 5 of data, 20 of forward of which 8 broadcast buffers, gradients of
/// parameters 1 and 0 after 10 and 15 of the backward. Rank 2 needs 30 more before parameter 0.
analysis::RunData threeRanks() {
  analysis::HandMadeRun run(3);
  for (std::uint32_t step = 0; step < 10; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      const std::uint64_t at = step * 100'000;
      const std::uint64_t later = rank == 2 ? 30'000 : 0;
      run.add(rank, EventKind::kStep, at, at + 100'000, step);
      run.add(rank, EventKind::kData, at, at + 5'000, step);
      run.add(rank, EventKind::kForward, at + 5'000, at + 25'000, step);
      run.add(rank, EventKind::kBroadcastBuffers, at + 6'000, at + 14'000, step);
      run.add(rank, EventKind::kBackward, at + 25'000, at + 80'000, step);
      run.add(rank, EventKind::kGradientReady, at + 35'000, at + 35'000, step, 1);
      run.add(rank, EventKind::kGradientReady, at + 40'000 + later, at + 40'000 + later, step, 0);
      run.add(rank, EventKind::kOptimizer, at + 90'000, at + 92'000, step);
    }
  }
  return run.data();
}

TEST(RankWorkTest, IsWithoutWhatWaitsForOthers) {
  const auto work = rankWork(threeRanks(), 0);
  ASSERT_EQ(work.size(), 3u);
  EXPECT_EQ(work[0].ms(4, {Kind::kData, 0}), 5);
  EXPECT_EQ(work[0].ms(4, {Kind::kForward, 0}), 12);
  EXPECT_EQ(work[0].ms(4, {Kind::kGradient, 1}), 10);
  EXPECT_EQ(work[0].ms(4, {Kind::kGradient, 0}), 5);
  EXPECT_EQ(work[0].ms(4, {Kind::kOptimizer, 0}), 2);
}

TEST(RankWorkTest, KnowsPartsAndStepsInWhateverOrderTheyCome) {
  RankWork work(3);
  work.set(7, {Kind::kGradient, 2}, 72);
  work.set(7, {Kind::kOptimizer, 0}, 7);
  work.set(5, {Kind::kGradient, 2}, 52);
  work.set(5, {Kind::kData, 0}, 5);
  work.set(5, {Kind::kData, 0}, 6);
  EXPECT_EQ(work.steps(), (std::vector<std::uint32_t>{5, 7}));
  EXPECT_EQ(work.parts().size(), 3u);
  EXPECT_EQ(work.ms(7, {Kind::kGradient, 2}), 72);
  EXPECT_EQ(work.ms(7, {Kind::kOptimizer, 0}), 7);
  EXPECT_EQ(work.ms(5, {Kind::kGradient, 2}), 52);
  EXPECT_EQ(work.ms(5, {Kind::kData, 0}), 6);
  EXPECT_FALSE(work.ms(7, {Kind::kData, 0})) << "the step has no such part";
  EXPECT_FALSE(work.ms(6, {Kind::kData, 0}));
  EXPECT_FALSE(work.ms(5, {Kind::kForward, 0}));
}

TEST(RankWorkTest, LeavesOutStepsBeforeTheFirstAndStepsThatGoOn) {
  auto data = threeRanks();
  const auto work = rankWork(data, 3);
  EXPECT_EQ(work[0].steps().front(), 3u);
  EXPECT_EQ(work[0].steps().size(), 7u);
}

TEST(ExcessTest, NamesTheGradientThatOneRankTakesLongerFor) {
  const auto excess = Excesses(rankWork(threeRanks(), 0)).of(2);
  ASSERT_FALSE(excess.empty());
  EXPECT_EQ(excess.front().part, (WorkPart{Kind::kGradient, 0}));
  EXPECT_EQ(excess.front().meanMs, 30);
  EXPECT_EQ(excess.front().steps.size(), 10u);
  for (const Excess& other : excess) {
    EXPECT_TRUE(other.part == excess.front().part || other.meanMs == 0);
  }
}

TEST(ExcessTest, IsTakenFromTheMiddleOneOfTheOthers) {
  const auto excess = Excesses(rankWork(threeRanks(), 0)).of(0);
  // Of ranks 1 and 2, which take 5 and 35 ms for it, the middle is 20.
  EXPECT_EQ(excess.back().part, (WorkPart{Kind::kGradient, 0}));
  EXPECT_EQ(excess.back().meanMs, 5 - 20);
}

/// The same by its words: every rank's, sorted anew.
double meanExcess(const std::vector<RankWork>& work, std::size_t own, std::uint32_t steps) {
  double sum = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<double> others;
    for (const RankWork& of : work) {
      if (&of != &work[own]) {
        others.push_back(*of.ms(step, {Kind::kForward, 0}));
      }
    }
    std::ranges::sort(others);
    const std::size_t half = others.size() / 2;
    const double middle =
        others.size() % 2 == 1 ? others[half] : (others[half] + others[half - 1]) / 2;
    sum += *work[own].ms(step, {Kind::kForward, 0}) - middle;
  }
  return sum / steps;
}

TEST(ExcessTest, OfEachRankIsTakenFromTheOthersWhereverItStandsAmongThem) {
  for (const int ranks : {2, 3, 4, 5, 8, 9}) {
    std::vector<RankWork> work;
    for (int rank = 0; rank < ranks; ++rank) {
      work.emplace_back(rank);
      for (std::uint32_t step = 0; step < 6; ++step) {
        // Some ranks take equally long.
        work.back().set(step, {Kind::kForward, 0}, (rank * 5 + static_cast<int>(step) * 3) % 7);
      }
    }
    const Excesses excesses(work);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto excess = excesses.of(rank);
      ASSERT_EQ(excess.size(), 1u);
      EXPECT_EQ(excess.front().steps.size(), 6u);
      EXPECT_DOUBLE_EQ(excess.front().meanMs, meanExcess(work, static_cast<std::size_t>(rank), 6))
          << "rank " << rank << " of " << ranks;
    }
  }
}

TEST(ExcessTest, IsOfPartsAndStepsThatAllRanksHave) {
  std::vector<RankWork> work;
  for (int rank = 0; rank < 3; ++rank) {
    work.emplace_back(rank);
    for (std::uint32_t step = 0; step < 5; ++step) {
      work.back().set(step, {Kind::kData, 0}, 1);
      if (step != static_cast<std::uint32_t>(rank)) {  // each lacks it in another step
        work.back().set(step, {Kind::kForward, 0}, 2);
      }
    }
  }
  work.back().set(5, {Kind::kData, 0}, 1);
  work.back().set(4, {Kind::kOptimizer, 0}, 1);
  const auto excess = Excesses(work).of(2);
  ASSERT_EQ(excess.size(), 2u);
  EXPECT_EQ(excess[0].part, (WorkPart{Kind::kData, 0}));
  EXPECT_EQ(excess[0].steps, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(excess[1].part, (WorkPart{Kind::kForward, 0}));
  EXPECT_EQ(excess[1].steps, (std::vector<std::uint32_t>{3, 4}));
  EXPECT_TRUE(Excesses(work).of(7).empty());
  EXPECT_TRUE(Excesses({work.front()}).of(0).empty()) << "there is nobody to compare it with";
}

TEST(PeriodTest, IsTheDistanceOfTheFewStepsThatAreFarAboveTheRest) {
  std::vector<std::uint32_t> steps;
  std::vector<double> ms;
  for (std::uint32_t step = 0; step < 40; ++step) {
    steps.push_back(step);
    ms.push_back(step % 8 == 3 ? 30 : 1);
  }
  const auto period = periodOf(steps, ms);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->first, 3u);
  EXPECT_EQ(period->every, 8u);
}

TEST(PeriodTest, IsNoneWhereStepsAreAlikeOrStrikeAtRandom) {
  std::vector<std::uint32_t> steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_FALSE(periodOf(steps, std::vector<double>(12, 5)));
  std::vector<double> random(12, 1);
  random[1] = random[4] = random[10] = 20;
  EXPECT_FALSE(periodOf(steps, random));
  EXPECT_FALSE(periodOf({}, {}));
}

}  // namespace
}  // namespace lockstep::diagnosis
