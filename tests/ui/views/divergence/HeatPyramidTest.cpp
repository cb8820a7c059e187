#include "ui/views/divergence/HeatPyramid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/views/divergence/StepSeries.h"

namespace lockstep::ui {
namespace {

TEST(HeatPyramidTest, ABadCellIsSeenAtEveryLevel) {
  const auto facts = test::factsOfRun(test::replicas(1000, 3, 777, 1));
  ASSERT_EQ(facts->hashes.levels(), 11u) << "1000, 500, ..., 1";
  for (std::size_t level = 0; level < facts->hashes.levels(); ++level) {
    const std::size_t block = 777 >> level;
    EXPECT_EQ(facts->hashes.at(level, block, 1), HeatPyramid::kMost) << level;
    EXPECT_EQ(facts->hashes.at(level, block, 0), HeatPyramid::kEqual) << level;
    EXPECT_GT(facts->norms.at(level, block, 1), HeatPyramid::kEqual) << level;
  }
  EXPECT_EQ(facts->hashes.at(0, 776, 1), HeatPyramid::kEqual);
}

TEST(HeatPyramidTest, WhatIsNotComparedIsUnknownAndNotEqual) {
  analysis::RunData data = test::replicas(2, 1, 9, 0);
  test::addFingerprint(data, 0, 20, 0, 1);  // of rank 0 alone
  const auto facts = test::factsOfRun(data);
  EXPECT_EQ(facts->hashes.at(0, 2, 0), HeatPyramid::kUnknown);
  EXPECT_EQ(facts->hashes.at(1, 1, 0), HeatPyramid::kUnknown);
  EXPECT_EQ(facts->hashes.at(2, 0, 0), HeatPyramid::kEqual) << "the others were compared";
}

// All bits are the same on both ranks, and none of them is worth anything.
TEST(HeatPyramidTest, WhatIsNotFiniteIsNotEqualHoweverAlikeTheRanksAre) {
  analysis::RunData data = test::replicas(2, 1, 9, 0);
  for (int rank = 0; rank < 2; ++rank) {
    test::addFingerprint(data, rank, 20, 0, 7, std::nan(""));
  }
  const auto facts = test::factsOfRun(data);
  EXPECT_EQ(facts->hashes.at(0, 2, 0), HeatPyramid::kNotFinite);
  EXPECT_EQ(facts->norms.at(0, 2, 0), HeatPyramid::kNotFinite);
  EXPECT_EQ(facts->hashes.at(2, 0, 0), HeatPyramid::kNotFinite) << "never folded away";
  EXPECT_EQ(facts->hashes.at(0, 1, 0), HeatPyramid::kEqual);
}

TEST(HeatPyramidTest, TakesTheLevelWhoseBlocksAreWideEnough) {
  const auto facts = test::factsOfRun(test::replicas(100, 1, 0, 0));
  EXPECT_EQ(facts->hashes.levelFor(0.1), 0u);
  EXPECT_EQ(facts->hashes.levelFor(3), 2u) << "blocks of 4 are the smallest of at least 3";
  EXPECT_EQ(facts->hashes.levelFor(1e9), facts->hashes.levels() - 1);
}

// Rank 0 has norm 1, rank 1 has 1.5: half of the first rank's apart.
TEST(HeatPyramidTest, NormsAreComparedWithTheFirstRanks) {
  const auto facts = test::factsOfRun(test::replicas(2, 1, 1, 0));
  EXPECT_DOUBLE_EQ(normDifference(facts->divergence.replicas, 0, 0), 0);
  EXPECT_DOUBLE_EQ(normDifference(facts->divergence.replicas, 1, 0), 0.5);
}

TEST(StepSeriesTest, GrowsToWhatItIsMadeOfAtOnce) {
  std::vector<SeriesPoint> points;
  StepSeries grown(3);
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    points.push_back({step, step == 77 ? std::nan("") : std::sin(step)});
    ASSERT_TRUE(grown.add(points.back()));
  }
  EXPECT_FALSE(grown.add({5, 1.0})) << "later ones are there";
  const StepSeries whole(3, points);
  ASSERT_EQ(grown.pieces().size(), whole.pieces().size());
  EXPECT_GT(whole.pieces().size(), StepSeries::kPieces / 2);
  for (std::size_t i = 0; i < whole.pieces().size(); ++i) {
    EXPECT_EQ(grown.pieces()[i].step, whole.pieces()[i].step);
    EXPECT_EQ(grown.pieces()[i].least, whole.pieces()[i].least);
    EXPECT_EQ(grown.pieces()[i].last, whole.pieces()[i].last);
  }
  EXPECT_EQ(grown.firstNotFinite(), 77u);
}

TEST(StepSeriesTest, ACopySharesItsPiecesAndStaysAsItIs) {
  StepSeries series(0);
  for (std::uint32_t step = 0; step < 10'000; ++step) {
    series.add({step, 1.0});
  }
  const StepSeries copy = series;
  const std::size_t pieces = copy.pieces().size();
  for (std::size_t i = 0; i + 1 < pieces; ++i) {
    ASSERT_EQ(&copy.pieces()[i], &series.pieces()[i]) << "not shared";
  }
  StepSeries other = copy;
  other.add({20'000, 5.0});
  series.add({30'000, 7.0});
  ASSERT_EQ(copy.pieces().size(), pieces);
  EXPECT_EQ(copy.pieces().back().lastStep, 9'999u);
  EXPECT_EQ(copy.at(40'000), 1.0);
  EXPECT_EQ(other.at(40'000), 5.0);
  EXPECT_EQ(series.at(40'000), 7.0);
  EXPECT_EQ(&other.pieces()[0], &copy.pieces()[0]) << "not shared";
}

TEST(StepSeriesTest, ALongSeriesKeepsItsExtremes) {
  std::vector<SeriesPoint> points;
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    points.push_back({step, step == 54'321 ? 1000.0 : 1.0});
  }
  const StepSeries series(0, points);
  EXPECT_LE(series.pieces().size(), StepSeries::kPieces);
  float most = 0;
  for (const StepSeries::Piece& piece : series.pieces()) {
    most = std::max(most, piece.most);
  }
  EXPECT_EQ(most, 1000);
}

TEST(StepSeriesTest, AValueOfALongSeriesIsNeverOneOfALaterStep) {
  std::vector<SeriesPoint> points;
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    points.push_back({step, static_cast<double>(step)});
  }
  const StepSeries series(0, points);
  for (std::uint32_t step = 0; step < 100'000; step += 7) {
    ASSERT_LE(*series.at(step), step);
    ASSERT_GT(*series.at(step), static_cast<double>(step) - 32) << "a piece is of 32";
  }
  EXPECT_EQ(series.at(99'999), 99'999);
}

TEST(StepSeriesTest, SaysFromWhereOnAValueWasNoNumber) {
  const StepSeries series(1, {{5, 2}, {3, 1}, {7, std::nan("")}, {9, 4}});
  EXPECT_EQ(series.firstNotFinite(), 7u);
  EXPECT_EQ(series.at(2), std::nullopt);
  EXPECT_EQ(series.at(4), 1);
  EXPECT_EQ(series.at(8), 2) << "the latest number before";
}

}  // namespace
}  // namespace lockstep::ui
