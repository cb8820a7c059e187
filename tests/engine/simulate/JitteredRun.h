#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/cost/Sample.h"
#include "engine/cost/StepRecord.h"
#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::simulate::test {

/// Steps of `ranks` ranks that each are late by up to `jitterNs`, drawn evenly in each step.
inline std::vector<cost::StepRecord> jittered(cost::test::SleepingRun run, std::size_t ranks,
                                              std::uint32_t count, double jitterNs,
                                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> late(0, jitterNs);
  std::vector<cost::StepRecord> steps;
  for (std::uint32_t number = 0; number < count; ++number) {
    run.lateNs.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      run.lateNs.push_back(jitterNs > 0 ? late(random) : 0);
    }
    steps.push_back(run.step(number, random));
  }
  return steps;
}

/// The same run with what a ring of `ranks` takes, where its own cost is that of a ring of 2.
inline cost::test::SleepingRun onRingOf(cost::test::SleepingRun run, int ranks) {
  run.latencyNs *= ranks - 1;
  run.nsPerByte *= 2.0 * (ranks - 1) / ranks;
  return run;
}

/// The median over the steps of the mean over the ranks.
inline double stepOf(const std::vector<cost::StepRecord>& steps) {
  std::vector<double> means;
  for (const cost::StepRecord& step : steps) {
    double sum = 0;
    for (const cost::RankStep& rank : step.ranks) {
      sum += rank.endNs - rank.beginNs;
    }
    means.push_back(sum / static_cast<double>(step.ranks.size()));
  }
  return cost::median(means).value_or(0);
}

}  // namespace lockstep::simulate::test
