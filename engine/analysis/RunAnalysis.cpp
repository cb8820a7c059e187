#include "engine/analysis/RunAnalysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::analysis {
namespace {

/// What a rank's collectives of one step cost it.
struct PeerTimes {
  double waitingMs = 0;
  double transferMs = 0;
  bool known = true;  ///< false: one of them has a rank without a record
};
using PeerTimesByStep = std::map<std::pair<int, std::uint32_t>, PeerTimes>;

PeerTimesByStep addUpByStep(const std::vector<CollectiveTimes>& collectives) {
  PeerTimesByStep sums;
  for (const CollectiveTimes& collective : collectives) {
    for (const Arrival& arrival : collective.arrivals) {
      PeerTimes& sum = sums[{arrival.rank, collective.step}];
      sum.waitingMs += arrival.waitingMs;
      sum.transferMs += arrival.transferMs;
      sum.known = sum.known && collective.complete;
    }
  }
  return sums;
}

/// The values of the measured steps of one rank.
struct Samples {
  std::vector<double> step, forward, backward, optimizer, overlapPercent, inFlight, exposed;
  std::vector<double> coreWait, overlapLeast, overlapMost;
  std::vector<double> waiting, transfer;
  double totalMs = 0;

  void add(const StepTimes& times) {
    step.push_back(times.stepMs);
    forward.push_back(times.forwardMs);
    backward.push_back(times.backwardMs);
    optimizer.push_back(times.optimizerMs);
    coreWait.push_back(times.coreWaitMs);
    totalMs += times.stepMs;
    if (times.overlapPercent.has_value()) {
      overlapLeast.push_back(100 * times.overlapLeastMs / times.inFlightMs);
      overlapMost.push_back(100 * times.overlapMostMs / times.inFlightMs);
      overlapPercent.push_back(*times.overlapPercent);
      inFlight.push_back(times.inFlightMs);
      exposed.push_back(times.exposedMs);
    }
  }
};

/// The time that a rank's steps take with what is between them.
struct WallClock {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  std::uint32_t steps = 0;

  void add(const StepTimes& step) {
    begin = std::min(begin, step.startTicks);
    end = std::max(end, step.endTicks);
    steps += 1;
  }
  [[nodiscard]] std::optional<double> stepsPerSecond(const base::ClockCalibration& clock) const {
    return end > begin ? std::optional(1e9 * steps / clock.durationNs(end - begin)) : std::nullopt;
  }
};

void summarise(RankAnalysis& rank, Samples samples) {
  rank.measuredSteps = static_cast<std::uint32_t>(samples.step.size());
  if (samples.totalMs > 0) {
    rank.stepsPerSecond = 1e3 * rank.measuredSteps / samples.totalMs;
  }
  rank.stepMs = median(std::move(samples.step));
  rank.forwardMs = median(std::move(samples.forward));
  rank.backwardMs = median(std::move(samples.backward));
  rank.optimizerMs = median(std::move(samples.optimizer));
  rank.coreWaitMs = median(std::move(samples.coreWait)).value_or(0);
  rank.overlapPercent = median(std::move(samples.overlapPercent));
  rank.overlapLeastPercent = median(std::move(samples.overlapLeast));
  rank.overlapMostPercent = median(std::move(samples.overlapMost));
  rank.inFlightMs = median(std::move(samples.inFlight));
  rank.exposedMs = median(std::move(samples.exposed));
  rank.waitingMs = median(std::move(samples.waiting));
  rank.transferMs = median(std::move(samples.transfer));
}

/// Adds up what was waited for each rank, over the collectives of the steps after the warm-up. One
/// that a rank has no record of blames nobody, and one whose last rank the clocks cannot tell only
/// adds to what was waited in all. Then names the latest of the ranks that are late.
void blame(RunAnalysis& run, std::map<int, RankAnalysis>& ranks, double nsPerTick) {
  double totalMs = 0;
  for (const CollectiveTimes& collective : run.collectives) {
    if (collective.step < run.warmUp.firstMeasured || !collective.complete) {
      continue;
    }
    double waitedMs = 0;
    for (const Arrival& arrival : collective.arrivals) {
      waitedMs += arrival.waitingMs;
    }
    totalMs += waitedMs;
    if (collective.lastRank.has_value()) {
      RankAnalysis& last = ranks[*collective.lastRank];
      last.rank = *collective.lastRank;
      last.lastArrivals += 1;
      last.waitingCausedMs += waitedMs;
    }
  }
  run.lateness = lateness(run.steps, run.collectives, run.warmUp.firstMeasured, nsPerTick);
  const RankLateness* latest = nullptr;
  for (const RankLateness& rank : run.lateness) {
    if (rank.late && (latest == nullptr || rank.meanMs > latest->meanMs)) {
      latest = &rank;
    }
  }
  if (latest != nullptr && totalMs > 0) {
    run.lateRank = latest->rank;
    run.lateShare = ranks[latest->rank].waitingCausedMs / totalMs;
  }
}

std::optional<CheckCost> costOfChecks(const RunData& data, const std::vector<StepTimes>& steps) {
  CheckCost cost;
  for (const CollectiveTimes& check : checkTimes(data)) {
    if (check.complete) {
      cost.calls += 1;
      for (const Arrival& arrival : check.arrivals) {
        cost.ownMs += arrival.transferMs;
        cost.waitingMs += arrival.waitingMs;
      }
    }
  }
  double stepsMs = 0;
  for (const StepTimes& step : steps) {
    stepsMs += step.stepMs;
  }
  if (cost.calls == 0 || stepsMs <= 0) {
    return std::nullopt;
  }
  cost.ownPercent = 100 * cost.ownMs / stepsMs;
  cost.waitingPercent = 100 * cost.waitingMs / stepsMs;
  return cost;
}

}  // namespace

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  // The greatest of the lower half is the other one of the middle two: what stands before `middle`
  // is not larger than it, in any order.
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

WarmUp warmUp(const std::vector<trace::BucketsMessage>& layouts, std::uint32_t firstStep) {
  for (const trace::BucketsMessage& layout : layouts) {
    if (layout.reason == "rebuild" && layout.step > firstStep) {
      return {layout.step + 1,
              fmt::format("steps {} to {} are left out as warm-up: the buckets were rebuilt for "
                          "step {}",
                          firstStep, layout.step, layout.step)};
    }
  }
  return {firstStep + 1, fmt::format("step {} is left out as warm-up", firstStep)};
}

bool RunAnalysis::isLate(int rank) const {
  return std::any_of(lateness.begin(), lateness.end(),
                     [rank](const RankLateness& of) { return of.rank == rank && of.late; });
}

RunAnalysis analyse(const RunData& data) {
  RunAnalysis run;
  run.steps = stepTimes(data);
  const auto first =
      std::min_element(run.steps.begin(), run.steps.end(),
                       [](const StepTimes& a, const StepTimes& b) { return a.step < b.step; });
  run.warmUp = warmUp(data.layouts, first == run.steps.end() ? 0 : first->step);
  run.collectives = collectiveTimes(data);
  run.checks = costOfChecks(data, run.steps);
  const PeerTimesByStep peerTimes = addUpByStep(run.collectives);

  std::map<int, Samples> samples;
  std::map<int, RankAnalysis> ranks;
  std::map<int, WallClock> clocks;
  for (const StepTimes& step : run.steps) {
    RankAnalysis& rank = ranks[step.rank];
    rank.rank = step.rank;
    if (step.step < run.warmUp.firstMeasured) {
      continue;
    }
    // The wall clock counts a step with lost events, too: it took its time all the same.
    clocks[step.rank].add(step);
    if (step.incomplete) {
      rank.incompleteSteps += 1;
      continue;
    }
    Samples& ofRank = samples[step.rank];
    ofRank.add(step);
    const auto at = peerTimes.find({step.rank, step.step});
    // Of a single rank there are no collectives of two: its waiting is unknown, and not 0.
    if (at != peerTimes.end() && at->second.known) {
      ofRank.waiting.push_back(at->second.waitingMs);
      ofRank.transfer.push_back(at->second.transferMs);
    }
  }
  for (auto& [number, ofRank] : samples) {
    summarise(ranks[number], std::move(ofRank));
  }
  blame(run, ranks, data.clock.nsPerTick);
  const auto slower = [](std::optional<double>& slowest, const std::optional<double>& rate) {
    if (rate) {
      slowest = std::min(slowest.value_or(*rate), *rate);
    }
  };
  for (auto& [number, rank] : ranks) {
    rank.wallStepsPerSecond = clocks[number].stepsPerSecond(data.clock);
    slower(run.stepsPerSecond, rank.stepsPerSecond);
    slower(run.wallStepsPerSecond, rank.wallStepsPerSecond);
    if (rank.exposedMs && *rank.exposedMs > run.exposedMs.value_or(-1)) {
      run.exposedRank = number;
      run.exposedMs = rank.exposedMs;
      run.overlapPercent = rank.overlapPercent;
    }
    run.ranks.push_back(std::move(rank));
  }
  return run;
}

}  // namespace lockstep::analysis
