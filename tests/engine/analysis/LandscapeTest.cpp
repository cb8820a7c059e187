#include "engine/analysis/Landscape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

// Steps of 20 ms of three ranks. Rank 1 comes 2 ms after the others to the one collective, which
// takes 3 ms more, and 1 ms longer on rank 2.
HandMadeRun threeRanks(std::uint32_t steps) {
  HandMadeRun run(3);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t at = step * 30'000;
    for (int rank = 0; rank < 3; ++rank) {
      const std::uint64_t arrival = at + 8'000 + (rank == 1 ? 2'000 : 0);
      run.add(rank, EventKind::kStep, at, at + 20'000, step);
      run.add(rank, EventKind::kBackward, at, arrival, step);
      run.addCollective(rank, arrival, at + 13'000 + (rank == 2 ? 1'000 : 0), step + 1, step);
    }
  }
  return run;
}

Landscape whole(const RunAnalysis& run) {
  return landscape(run, allSteps(run));
}

TEST(LandscapeTest, HoldsEachFigureOfEachStepOfEachRank) {
  const RunAnalysis run = analyse(threeRanks(4).data());
  const Landscape table = whole(run);
  EXPECT_EQ(table.ranks, (std::vector<int>{0, 1, 2}));
  ASSERT_EQ(table.columns, 4u);
  EXPECT_EQ(table.stepsAColumn, 1u);
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_FLOAT_EQ(table.at(RankFigure::kStep, 0, step), 20);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kComputing, 0, step), 8);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kComputing, 1, step), 10);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kExposed, 0, step), 5);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kTransfer, 0, step), 3);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kTransfer, 2, step), 4);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kLate, 0, step), 0);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kLate, 1, step), 2);
    EXPECT_FLOAT_EQ(table.at(RankFigure::kCaused, 1, step), 4) << "2 ms of each of two";
    EXPECT_FLOAT_EQ(table.at(RankFigure::kCaused, 0, step), 0);
  }
  EXPECT_FALSE(table.has(RankFigure::kDiffering)) << "no parameter was hashed";
}

TEST(LandscapeTest, KeepsTheLargestWhereAColumnStandsForSeveralSteps) {
  HandMadeRun run = threeRanks(Landscape::kMostColumns + 1);
  // Of rank 2 one step is longer than all others.
  for (trace::SpanRow& span : run.spans) {
    if (span.kind == EventKind::kStep && span.track == 20 && span.step == 101) {
      span.durationTicks = 28'000;
    }
  }
  const Landscape table = whole(analyse(run.data()));
  EXPECT_EQ(table.stepsAColumn, 2u);
  EXPECT_EQ(table.columns, 257u);
  EXPECT_FLOAT_EQ(table.at(RankFigure::kStep, 2, 50), 28);
  EXPECT_FLOAT_EQ(table.at(RankFigure::kStep, 2, 49), 20);
}

TEST(LandscapeTest, KnowsNothingOfAStepThatARankHasNot) {
  HandMadeRun run = threeRanks(4);
  std::erase_if(run.spans,
                [](const trace::SpanRow& span) { return span.step == 2 && span.track / 10 == 1; });
  const Landscape table = whole(analyse(run.data()));
  EXPECT_TRUE(std::isnan(table.at(RankFigure::kStep, 1, 2)));
  EXPECT_FLOAT_EQ(table.at(RankFigure::kStep, 0, 2), 20);
  EXPECT_TRUE(std::isnan(table.at(RankFigure::kLate, 0, 2)))
      << "the rank without a record may have been the first";
}

TEST(LandscapeTest, HoldsTheStepsThatAreAskedForAlone) {
  const Landscape table = landscape(analyse(threeRanks(9).data()), {3, 7});
  EXPECT_EQ(table.steps.first, 3u);
  EXPECT_EQ(table.columns, 4u);
  EXPECT_EQ(landscape(RunAnalysis{}, {}).columns, 0u);
}

TEST(LandscapeTest, TakesWhatOthersKnowOfItsStepsAlone) {
  Landscape table = landscape(analyse(threeRanks(4).data()), {1, 4});
  EXPECT_FALSE(table.has(RankFigure::kMemory));
  table.add(RankFigure::kMemory, 2, 3, 512);
  table.add(RankFigure::kMemory, 2, 3, 500);
  table.add(RankFigure::kMemory, 2, 4, 700);
  table.add(RankFigure::kMemory, 3, 3, 700);
  EXPECT_EQ(table.columnOf(3), 2u);
  EXPECT_EQ(table.columnOf(0), std::nullopt);
  EXPECT_FLOAT_EQ(table.at(RankFigure::kMemory, 2, 2), 512);
  EXPECT_TRUE(std::isnan(table.at(RankFigure::kMemory, 1, 2)));
}

TEST(LandscapeTest, CountsTheParametersThatAreNotThoseOfTheMajority) {
  HandMadeRun run = threeRanks(2);
  run.tables.parameters.resize(2);
  for (int rank = 0; rank < 3; ++rank) {
    for (std::uint32_t parameter = 0; parameter < 2; ++parameter) {
      const std::uint64_t hash = rank == 2 && parameter == 1 ? 5 : 4;
      run.tables.fingerprints.push_back({0, rank, 1, parameter, hash, 1.0});
    }
  }
  const RunData data = run.data();
  const Divergence compared = divergence(data);
  const RunAnalysis analysis = analyse(data);
  const Landscape table = landscape(analysis, allSteps(analysis), &compared.replicas);
  ASSERT_TRUE(table.has(RankFigure::kDiffering));
  EXPECT_FLOAT_EQ(table.at(RankFigure::kDiffering, 2, 1), 1);
  EXPECT_FLOAT_EQ(table.at(RankFigure::kDiffering, 0, 1), 0);
  EXPECT_TRUE(std::isnan(table.at(RankFigure::kDiffering, 2, 0))) << "not sampled";
}

}  // namespace
}  // namespace lockstep::analysis
