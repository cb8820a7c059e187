#include "engine/analysis/Divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"
#include "tests/engine/run/Changed.h"

namespace lockstep::analysis {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using trace::EventKind;

void addFingerprint(RunData& data, int rank, std::uint32_t step, std::uint32_t parameter,
                    std::uint64_t hash, double norm = 1) {
  data.fingerprints.push_back({0, rank, step, parameter, hash, norm});
}

/// Samples at the given steps of ranks with two parameters each, all equal.
RunData equalReplicas(int ranks, const std::vector<std::uint32_t>& steps) {
  RunData data;
  for (const std::uint32_t step : steps) {
    for (int rank = 0; rank < ranks; ++rank) {
      addFingerprint(data, rank, step, 0, 1'000 + step);
      addFingerprint(data, rank, step, 1, 2'000 + step);
    }
  }
  return data;
}

TEST(DivergenceTest, EqualReplicasShowNoDifference) {
  const Divergence result = divergence(equalReplicas(2, {0, 10}));
  EXPECT_TRUE(result.compared());
  EXPECT_FALSE(result.first.has_value());
  EXPECT_THAT(result.replicas.steps, ElementsAre(0, 10));
  EXPECT_THAT(result.replicas.ranks, ElementsAre(0, 1));
  ASSERT_EQ(result.replicas.parameters, 2);
  EXPECT_EQ(result.replicas.cell(1, 1).present, 2);
  EXPECT_EQ(result.replicas.cell(1, 1).differing, 0);
  EXPECT_EQ(result.replicas.hashes[result.replicas.at(1, 1, 0)], 2'010);
}

TEST(DivergenceTest, TheFirstBadCellIsTheEarliestStepAndThenTheFirstParameter) {
  // Twelve samples of three ranks; rank 2 has another parameter 1 at step 20.
  RunData data = equalReplicas(3, {10, 20});
  run::changeAt(data.fingerprints, data.fingerprints.size() - 1, [](auto& row) { row.hash = 7; });
  const Divergence result = divergence(data);
  ASSERT_TRUE(result.first.has_value());
  EXPECT_EQ(result.first->step, 20);
  EXPECT_EQ(result.first->sample, 1);
  EXPECT_EQ(result.first->lastEqualStep, 10);
  EXPECT_EQ(result.first->parameter, 1);
  EXPECT_EQ(result.first->parametersDiffering, 1);
  EXPECT_THAT(result.first->ranks, ElementsAre(2));
  EXPECT_TRUE(result.first->majority);
}

TEST(DivergenceTest, TheLargestClassIsTheReferenceEvenAgainstRank0) {
  RunData data = equalReplicas(3, {10});
  run::changeAt(data.fingerprints, 0, [](auto& row) { row.hash = 7; });  // rank 0, parameter 0
  const Divergence result = divergence(data);
  ASSERT_TRUE(result.first.has_value());
  EXPECT_THAT(result.first->ranks, ElementsAre(0));
  EXPECT_FALSE(result.first->lastEqualStep.has_value()) << "nothing was compared before";
  EXPECT_EQ(result.replicas.classes[result.replicas.at(0, 0, 0)], 1);
  EXPECT_EQ(result.replicas.classes[result.replicas.at(0, 0, 2)], 0);
}

TEST(DivergenceTest, OfTwoRanksNeitherHasAMajority) {
  RunData data = equalReplicas(2, {10});
  run::changeAt(data.fingerprints, data.fingerprints.size() - 1, [](auto& row) { row.hash = 7; });
  const Divergence result = divergence(data);
  ASSERT_TRUE(result.first.has_value());
  EXPECT_FALSE(result.first->majority);
  EXPECT_THAT(result.first->ranks, ElementsAre(1)) << "rank 0 is what the other is held against";
}

TEST(DivergenceTest, ARankWithoutASampleIsNotCompared) {
  RunData data;
  addFingerprint(data, 0, 10, 0, 1);
  addFingerprint(data, 1, 20, 0, 2);
  const Divergence result = divergence(data);
  EXPECT_FALSE(result.compared());
  EXPECT_FALSE(result.first.has_value());
  EXPECT_TRUE(result.replicas.cell(0, 0).unknown());
  EXPECT_EQ(result.replicas.classes[result.replicas.at(0, 0, 1)], ReplicaMatrix::kAbsent);
}

TEST(DivergenceTest, ANormThatIsNoNumberIsUnknown) {
  RunData data;
  addFingerprint(data, 0, 0, 0, 1, std::nan(""));
  addFingerprint(data, 1, 0, 0, 1, 2.5);
  const Divergence result = divergence(data);
  EXPECT_EQ(result.replicas.norms[0], -1);
  EXPECT_EQ(result.replicas.norms[1], 2.5f);
}

TEST(DivergenceTest, DistancesAreThoseOfTheSketches) {
  // (0, 0) and (3, 4) are 5 apart; their mean is (1.5, 2), 2.5 from both.
  RunData data;
  data.sketches = {{0, 0, 10, {0, 0}}, {0, 1, 10, {3, 4}}};
  const Divergence result = divergence(data);
  ASSERT_EQ(result.consensus.size(), 1);
  EXPECT_EQ(result.consensus[0].step, 10);
  EXPECT_THAT(result.consensus[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(result.consensus[0].distances, ElementsAre(2.5, 2.5));
  EXPECT_THAT(result.consensus[0].pairs, ElementsAre(0, 5, 5, 0));
  EXPECT_EQ(result.consensus[0].spread, 2.5);
  EXPECT_EQ(result.consensusRelativeError, 0.5) << "sqrt(2 / 2) / 2";
}

TEST(DivergenceTest, RanksWithEqualBitsAreNothingApart) {
  RunData data = equalReplicas(2, {10});
  data.sketches = {{0, 0, 10, {1, 2}}, {0, 1, 10, {1, 2.5}}};
  const Divergence result = divergence(data);
  ASSERT_EQ(result.consensus.size(), 1);
  EXPECT_EQ(result.consensus[0].spread, 0);
  EXPECT_THAT(result.consensus[0].pairs, ElementsAre(0, 0, 0, 0));
}

TEST(DivergenceTest, ARankWithoutAFiniteSketchIsLeftOut) {
  RunData data;
  data.sketches = {{0, 0, 10, {0, 0}}, {0, 1, 10, {std::nan(""), 4}}, {0, 2, 10, {0, 2}}};
  const Divergence result = divergence(data);
  ASSERT_EQ(result.consensus.size(), 1);
  EXPECT_THAT(result.consensus[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(result.consensus[0].spread, 1);
}

TEST(DivergenceTest, AGradientNormIsThatOfAllBuckets) {
  RunData data;
  data.gradients = {{0, 1, 5, {0, 3, 1, 0, 0, {}}},
                    {0, 1, 5, {1, 4, 1, 0, 0, {}}},
                    {0, 0, 5, {0, 2, 1, 0, 0, {}}}};
  const Divergence result = divergence(data);
  ASSERT_EQ(result.gradientNorms.size(), 1);
  EXPECT_EQ(result.gradientNorms[0].step, 5);
  EXPECT_THAT(result.gradientNorms[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(result.gradientNorms[0].norms, ElementsAre(2, 5));
  EXPECT_THAT(result.findings, IsEmpty());
}

TEST(DivergenceTest, WhatIsNotFiniteIsFoundByStepRankAndBucket) {
  RunData data;
  data.gradients = {{0, 1, 6, {2, 1, 1, 0, 3, 9u}},
                    {0, 1, 5, {1, 4, 1, 2, 0, 7u}},
                    {0, 0, 6, {0, 2, 1, 1, 0, 1u}}};
  data.losses = {{0, 1, "loss", 7, 0, std::nan("")},
                 {0, 0, "loss", 7, 0, HUGE_VAL},
                 {0, 0, "loss", 6, 0, 0.5}};
  const Divergence result = divergence(data);
  EXPECT_THAT(result.gradientNorms, IsEmpty()) << "no rank has a norm that could be told";
  EXPECT_THAT(result.findings,
              ElementsAre(SanityFinding{5, 1, 1, 7u, 2, 0}, SanityFinding{6, 0, 0, 1u, 1, 0},
                          SanityFinding{6, 1, 2, 9u, 0, 3}));
  ASSERT_TRUE(result.firstBadLoss.has_value());
  EXPECT_EQ(result.firstBadLoss->step, 7);
  EXPECT_EQ(result.firstBadLoss->rank, 0);
}

TEST(DivergenceTest, ParametersThatAreNotFiniteAreFoundThoughTheirBitsAreEqual) {
  RunData data = equalReplicas(2, {10, 20, 30});
  run::changeEach(data.fingerprints, [](trace::FingerprintRow& row) {
    if (row.step >= 20 && row.parameter == 1) {
      row.norm = std::nan("");
    }
  });
  const Divergence result = divergence(data);
  EXPECT_FALSE(result.first.has_value());
  ASSERT_TRUE(result.lost.has_value());
  EXPECT_EQ(result.lost->step, 20);
  EXPECT_EQ(result.lost->parameter, 1);
  EXPECT_EQ(result.lost->rank, 0);
  EXPECT_EQ(result.replicas.cell(1, 1).notFinite, 2);
  EXPECT_EQ(result.replicas.cell(0, 1).notFinite, 0);
}

TEST(DivergenceTest, SamplingCostsItsSpansOfTheTimeOfAllSteps) {
  // 20 of 2000 ticks, and 5 of 2000.
  HandMadeRun run(2);
  run.add(0, EventKind::kStep, 0, 1'000, 0);
  run.add(1, EventKind::kStep, 0, 1'000, 0);
  run.add(0, EventKind::kFingerprint, 100, 112, 0);
  run.add(1, EventKind::kFingerprint, 100, 108, 0);
  run.add(0, EventKind::kGradientCheck, 500, 505, 0);
  const Divergence result = divergence(run.data());
  ASSERT_TRUE(result.cost.has_value());
  EXPECT_THAT(result.cost->fingerprintPercent, DoubleEq(1));
  EXPECT_THAT(result.cost->gradientCheckPercent, DoubleEq(0.25));
  HandMadeRun without(1);
  without.add(0, EventKind::kStep, 0, 1'000, 0);
  EXPECT_FALSE(divergence(without.data()).cost.has_value());
}

}  // namespace
}  // namespace lockstep::analysis
