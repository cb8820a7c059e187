#include "engine/simulate/RankNoise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "engine/simulate/Draws.h"

namespace lockstep::simulate {
namespace {

constexpr double kMean = 1000;

struct Planted {
  std::size_t ranks = 4;
  std::size_t steps = 64;
  double rankSpread = 0;
  double hostSpread = 0;  // of two ranks each
  double common = 0;
  double residual = 10;
};

OwnWork workOf(const Planted& planted, std::uint64_t seed) {
  Draws draws(seed, 0);
  OwnWork work(planted.ranks);
  std::vector<double> effects;
  double host = 0;
  for (std::size_t r = 0; r < planted.ranks; ++r) {
    host = r % 2 == 0 ? planted.hostSpread * draws.normal() : host;
    effects.push_back(host + planted.rankSpread * draws.normal());
  }
  for (std::size_t t = 0; t < planted.steps; ++t) {
    const double common = planted.common * draws.normal();
    for (std::size_t r = 0; r < planted.ranks; ++r) {
      work[r].push_back(kMean + effects[r] + common + planted.residual * draws.normal());
    }
  }
  return work;
}

std::vector<std::size_t> upTo(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

RankNoise noiseOf(const Planted& planted, std::uint64_t seed, const std::vector<int>& hosts = {}) {
  return fitNoise(workOf(planted, seed), upTo(planted.steps), hosts, upTo(planted.ranks));
}

double spreadOf(const OwnWork& residuals) {
  double squares = 0;
  std::size_t count = 0;
  for (const auto& rank : residuals) {
    for (const double residual : rank) {
      squares += residual * residual;
      ++count;
    }
  }
  return std::sqrt(squares / static_cast<double>(count));
}

TEST(RankNoise, EffectsAndResidualsAddUpToTheWork) {
  Planted planted;
  planted.rankSpread = 20;
  const OwnWork work = workOf(planted, 1);
  const RankNoise noise = fitNoise(work, upTo(64), {}, upTo(4));
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t t = 0; t < 64; ++t) {
      EXPECT_NEAR(noise.meanNs + noise.effectNs[r] + noise.commonNs[t] + noise.residualNs[r][t],
                  work[r][t], 1e-6);
    }
  }
}

// A mean over 64 steps errs by 10 / 8: ranks that are alike differ by that much.
TEST(RankNoise, RanksThatDifferByChanceHaveNoEffectOfTheirOwn) {
  double alike = 0;
  double unlike = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Planted planted;
    alike += noiseOf(planted, seed).rankSpreadNs / 100;
    planted.rankSpread = 20;
    unlike += noiseOf(planted, seed).rankSpreadNs / 100;
  }
  EXPECT_LT(alike, 1);
  EXPECT_NEAR(unlike, 20, 3);
}

TEST(RankNoise, WhatAllRanksOfAStepShareIsNoResidual) {
  double shared = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Planted planted;
    planted.common = 30;
    const RankNoise noise = noiseOf(planted, seed);
    EXPECT_NEAR(spreadOf(noise.residualNs), 10, 3);
    for (const double common : noise.commonNs) {
      shared += common * common / (20 * 64);
    }
  }
  EXPECT_NEAR(std::sqrt(shared), 30, 5);
}

TEST(RankNoise, RanksThatShareNothingHaveAllOfItAsResiduals) {
  Planted planted;
  planted.ranks = 2;
  double spread = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    spread += spreadOf(noiseOf(planted, seed).residualNs) / 20;
  }
  EXPECT_NEAR(spread, 10, 0.5);
}

TEST(RankNoise, HostsThatDifferAreToldFromRanksThatDo) {
  Planted planted;
  planted.ranks = 8;
  planted.hostSpread = 40;
  planted.rankSpread = 5;
  double host = 0;
  double rank = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RankNoise noise = noiseOf(planted, seed, {0, 0, 1, 1, 2, 2, 3, 3});
    host += noise.hostSpreadNs / 200;
    rank += noise.rankSpreadNs / 200;
  }
  EXPECT_NEAR(host, 40, 6);
  EXPECT_NEAR(rank, 5, 1.5);
  EXPECT_EQ(noiseOf(planted, 1).hostSpreadNs, 0);
}

TEST(RankNoise, TooFewStepsHaveNoTail) {
  Planted planted;
  EXPECT_TRUE(noiseOf(planted, 1).tail);
  planted.ranks = 2;
  planted.steps = 12;
  EXPECT_FALSE(noiseOf(planted, 1).tail);
}

TEST(RankNoise, IsFittedToTheStepsThatWereDrawn) {
  Planted planted;
  const OwnWork work = workOf(planted, 3);
  const std::vector<std::size_t> drawn{5, 6, 7, 8, 5, 6, 7, 8};
  const RankNoise noise = fitNoise(work, drawn, {}, upTo(4));
  EXPECT_EQ(noise.steps, drawn);
  EXPECT_EQ(noise.commonNs.size(), 8u);
  EXPECT_NEAR(noise.residualNs[2][0], noise.residualNs[2][4], 1e-9);
}

}  // namespace
}  // namespace lockstep::simulate
