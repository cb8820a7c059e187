#include "engine/simulate/Simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/cost/Replay.h"
#include "engine/cost/Sample.h"
#include "tests/engine/simulate/JitteredRun.h"

namespace lockstep::simulate {
namespace {

using cost::test::SleepingRun;
using test::jittered;
using test::onRingOf;
using test::stepOf;

/// A recording of two ranks, and what a simulation of it needs.
struct Recording {
  explicit Recording(const std::vector<cost::StepRecord>& of)
      : steps(of), habits(cost::rankHabits(of)), ranks(recordedRanks(of, habits)) {
    std::vector<std::size_t> all(of.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<std::size_t> each(ranks.ranks);
    std::iota(each.begin(), each.end(), std::size_t{0});
    noise = fitNoise(ranks.ownWork(), all, {}, each);
  }

  std::vector<cost::StepRecord> steps;
  std::vector<cost::RankHabits> habits;
  RecordedRanks ranks;
  RankNoise noise;
};

/// So many ranks in a ring on the links of `run`, whose costs are those of a ring of 2.
SimulationSettings ringOf(const SleepingRun& run, int ranks) {
  SimulationSettings settings;
  settings.ranks = ranks;
  settings.network.link = {run.latencyNs / 2, run.nsPerByte};
  settings.network.inside = settings.network.link;
  settings.algorithm = Algorithm::kRing;
  return settings;
}

double middle(const std::vector<double>& values) {
  return cost::median(values).value_or(0);
}

// Rank 1 comes 3 ms late to everything, in each step.
TEST(Simulation, OfTheRecordedRanksIsTheReplayOfTheirSteps) {
  SleepingRun run;
  run.lateNs = {0, 3e6};
  run.nsPerByte = 12;
  const Recording recording(run.steps(20));
  const auto simulated = simulate(recording.ranks, recording.noise, ringOf(run, 2));
  const auto replayed =
      cost::replay(recording.steps[3], recording.habits, {{run.latencyNs, run.nsPerByte, 0}, 1},
                   cost::planOf(recording.steps[3]));
  EXPECT_NEAR(middle(simulated.stepNs), (replayed.ranks[0].stepNs + replayed.ranks[1].stepNs) / 2,
              1);
  EXPECT_NEAR(middle(simulated.exposedNs),
              (replayed.ranks[0].exposedNs + replayed.ranks[1].exposedNs) / 2, 1);
  EXPECT_NEAR(middle(simulated.aloneNs), 10e6 + 20e6 + 1.5e6 + 2e6, 1);
}

TEST(Simulation, MoreRanksWaitForTheSlowestAndForALongerRing) {
  SleepingRun run;
  run.nsPerByte = 12;
  const Recording recording(run.steps(20));
  for (const int ranks : {4, 16, 100}) {
    const auto simulated = simulate(recording.ranks, recording.noise, ringOf(run, ranks));
    EXPECT_NEAR(middle(simulated.stepNs), stepOf(onRingOf(run, ranks).steps(3)), 1) << ranks;
  }
}

// Each of n ranks is late by up to 10 ms: the last of them by 10 n / (n + 1).
TEST(Simulation, TheLatestOfManyRanksIsLaterThanThatOfFew) {
  SleepingRun run;
  run.latencyNs = 1000;
  run.nsPerByte = 0.1;
  const Recording recording(jittered(run, 2, 64, 10e6, 7));
  double before = 0;
  for (const int ranks : {2, 4, 8, 16, 64}) {
    SimulationSettings settings = ringOf(run, ranks);
    settings.steps = 400;
    const double step = middle(simulate(recording.ranks, recording.noise, settings).stepNs);
    const auto truth =
        jittered(onRingOf(run, ranks), static_cast<std::size_t>(ranks), 400, 10e6, 1);
    EXPECT_NEAR(step, stepOf(truth), 0.03 * stepOf(truth)) << ranks;
    EXPECT_GT(step, before);
    before = step;
  }
}

TEST(Simulation, RanksThatAreAllAlikeWaitForNobody) {
  SleepingRun run;
  run.latencyNs = run.nsPerByte = 0;
  const Recording recording(jittered(run, 2, 64, 10e6, 7));
  SimulationSettings settings = ringOf(run, 64);
  settings.allAlike = true;
  const auto simulated = simulate(recording.ranks, recording.noise, settings);
  EXPECT_NEAR(middle(simulated.stepNs), middle(simulated.aloneNs), 0.2e6);
  settings.allAlike = false;
  const auto unlike = simulate(recording.ranks, recording.noise, settings);
  EXPECT_GT(middle(unlike.stepNs), middle(unlike.aloneNs) + 3e6);
}

TEST(Simulation, EqualSeedsGiveEqualSteps) {
  const SleepingRun run;
  const Recording recording(jittered(run, 2, 40, 5e6, 1));
  SimulationSettings settings = ringOf(run, 32);
  const auto first = simulate(recording.ranks, recording.noise, settings);
  EXPECT_EQ(first.stepNs, simulate(recording.ranks, recording.noise, settings).stepNs);
  settings.seed = 1;
  EXPECT_NE(first.stepNs, simulate(recording.ranks, recording.noise, settings).stepNs);
}

TEST(Simulation, HandsOutEachStepWithItsMoments) {
  SleepingRun run;
  run.lateNs = {0, 3e6};
  const Recording recording(run.steps(20));
  std::size_t seen = 0;
  double mean = 0;
  const auto simulated =
      simulate(recording.ranks, recording.noise, ringOf(run, 6), [&](const StepView& view) {
        EXPECT_EQ(view.step, seen++);
        mean = 0;
        for (std::size_t i = 0; i < 6; ++i) {
          mean += (view.endNs[i] - view.beginNs[i]) / 6;
          EXPECT_LE(view.beginNs[i], view.metNs[0]);
        }
        EXPECT_LT(view.metNs[0], view.endedNs[0]);
      });
  EXPECT_EQ(seen, 64u);
  EXPECT_NEAR(simulated.stepNs.back(), mean, 1e-3);
}

}  // namespace
}  // namespace lockstep::simulate
