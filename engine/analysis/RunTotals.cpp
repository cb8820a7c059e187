#include "engine/analysis/RunTotals.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory_resource>
#include <set>
#include <utility>

#include "engine/analysis/GrowingFigure.h"
#include "engine/base/InHalves.h"

namespace lockstep::analysis {
namespace {

constexpr std::size_t kStepsWorthTwoThreads = 2000;

/// Those of steps from which means can be taken: a step that is kept since it is unlike the rest is
/// no sample.
std::vector<CollectiveTimes> typical(const StepStretch& stretch) {
  std::set<std::uint32_t> others;
  for (const StepTicks& step : stretch.steps) {
    if (!isTypical(step.kept)) {
      others.insert(step.step);
    }
  }
  std::vector<CollectiveTimes> collectives = stretch.collectives;
  std::erase_if(collectives, [&](const CollectiveTimes& one) { return others.contains(one.step); });
  return collectives;
}

}  // namespace

StepStretch StepStretch::takeBelow(std::uint32_t next) {
  return {analysis::takeBelow(steps, next), analysis::takeBelow(collectives, next),
          analysis::takeBelow(checks, next)};
}

void RunTotals::addSteps(const StepStretch& stretch, const std::vector<CollectiveTimes>& sampled) {
  const PeersByStep peers(sampled);
  for (const StepTicks& step : stretch.steps) {
    stepTicks_ += step.duration();
    OfRank& rank = ranks_[step.rank];
    if (step.step < firstMeasured_) {
      continue;
    }
    rank.beginTicks = std::min(rank.beginTicks, step.startTicks);
    rank.endTicks = std::max(rank.endTicks, step.endTicks);
    if (step.incomplete) {
      rank.incomplete += 1;
      continue;
    }
    rank.measured += 1;
    rank.ticks += step.duration();
    const auto add = [&](Figure figure, auto value) {
      rank.medians.add(figure, static_cast<double>(value));
    };
    add(kStep, step.duration());
    add(kForward, step.forward);
    add(kBackward, step.backward);
    add(kOptimizer, step.optimizer);
    add(kCoreWait, step.coreWait);
    if (step.inFlight != 0) {
      add(kOverlapLeast, *step.percentOfFlight(step.overlapLeast));
      add(kOverlapMost, *step.percentOfFlight(step.overlapMost));
      add(kOverlap, *step.percentOfFlight(step.overlap));
      add(kInFlight, step.inFlight);
      add(kExposed, step.exposed());
    }
    const PeerTicks* of = peers.of(step.rank, step.step);
    if (of != nullptr && of->known) {
      add(kWaiting, of->waiting);
      add(kTransfer, of->transfer);
    }
  }
}

/// Adds up what was waited for each rank, over the collectives of the steps after the warm-up. One
/// that a rank has no record of blames nobody, and one whose last rank the clocks cannot tell only
/// adds to what was waited in all.
void RunTotals::addWaits(const std::vector<CollectiveTimes>& collectives) {
  struct Waited {
    std::uint64_t ticks = 0;  // until when
    std::uint64_t all = 0;
  };
  std::pmr::monotonic_buffer_resource room;
  std::pmr::map<std::uint32_t, Waited> steps(&room);
  std::pmr::map<std::pair<std::uint32_t, int>, std::uint64_t> byLast(&room);  // by step and rank
  for (const CollectiveTimes& collective : collectives) {
    if (collective.step < firstMeasured_ || !collective.complete) {
      continue;
    }
    std::uint64_t waiting = 0;
    Waited& step = steps[collective.step];
    for (const Arrival& arrival : collective.arrivals) {
      waiting += arrival.waitingTicks();
      step.ticks = std::max(step.ticks, arrival.endTicks);
    }
    step.all += waiting;
    waitingTicks_ += waiting;
    if (collective.lastRank.has_value()) {
      OfRank& last = ranks_[*collective.lastRank];
      last.lastArrivals += 1;
      last.waitingCaused += waiting;
      byLast[{collective.step, *collective.lastRank}] += waiting;
    }
  }
  for (auto& [number, step] : steps) {
    // A step may end before the one before it, by a collective that outlasted that.
    step.ticks = std::max(step.ticks, waits_.empty() ? 0 : waits_.back().ticks);
    waits_.push_back({step.ticks, static_cast<double>(step.all)});
  }
  for (const auto& [key, waiting] : byLast) {
    waitsFor_[key.second].push_back({steps[key.first].ticks, static_cast<double>(waiting)});
  }
}

void RunTotals::add(StepStretch stretch) {
  std::erase_if(stretch.collectives,
                [](const CollectiveTimes& one) { return one.arrivals.size() < 2; });
  const bool allAlike = std::all_of(stretch.steps.begin(), stretch.steps.end(),
                                    [](const StepTicks& step) { return isTypical(step.kept); });
  const std::vector<CollectiveTimes> some =
      allAlike ? std::vector<CollectiveTimes>() : typical(stretch);
  const std::vector<CollectiveTimes>& sampled = allAlike ? stretch.collectives : some;
  const auto when =
      stretch.steps.size() < kStepsWorthTwoThreads ? std::launch::deferred : std::launch::async;
  auto beside = std::async(when, [&] {
    lateness_.add(stretch.steps, sampled);
    for (const StepTicks& step : stretch.steps) {
      steps_.push_back(step.rank, step);
    }
  });
  addSteps(stretch, sampled);
  addWaits(sampled);
  for (const CollectiveTimes& check : stretch.checks) {
    if (check.complete && check.arrivals.size() >= 2) {
      checks_.calls += 1;
      for (const Arrival& arrival : check.arrivals) {
        checks_.own += arrival.transferTicks();
        checks_.waiting += arrival.waitingTicks();
      }
    }
  }
  beside.get();
  for (CollectiveTimes& collective : stretch.collectives) {
    collectives_.push_back(collective.group, std::move(collective));
  }
}

void RunTotals::settle() {
  for (auto& [number, rank] : ranks_) {
    rank.medians.settle();
  }
}

RankAnalysis RunTotals::figuresOf(int number, const OfRank& rank,
                                  const base::ClockCalibration& clock) const {
  const auto median = [&](Figure figure) { return rank.medians.median(figure); };
  const auto medianMs = [&](Figure figure) {
    std::optional<double> ticks = median(figure);
    return ticks ? std::optional(*ticks * clock.nsPerTick / 1e6) : std::nullopt;
  };
  RankAnalysis figures;
  figures.rank = number;
  figures.measuredSteps = rank.measured;
  figures.incompleteSteps = rank.incomplete;
  figures.stepMs = medianMs(kStep);
  figures.forwardMs = medianMs(kForward);
  figures.backwardMs = medianMs(kBackward);
  figures.optimizerMs = medianMs(kOptimizer);
  figures.coreWaitMs = medianMs(kCoreWait).value_or(0);
  figures.overlapPercent = median(kOverlap);
  figures.overlapLeastPercent = median(kOverlapLeast);
  figures.overlapMostPercent = median(kOverlapMost);
  figures.inFlightMs = medianMs(kInFlight);
  figures.exposedMs = medianMs(kExposed);
  figures.waitingMs = medianMs(kWaiting);
  figures.transferMs = medianMs(kTransfer);
  const auto perSecond = [&](std::uint32_t steps, std::uint64_t ticks) {
    return ticks > 0 ? std::optional(1e9 * steps / clock.durationNs(ticks)) : std::nullopt;
  };
  figures.stepsPerSecond = perSecond(rank.measured, rank.ticks);
  figures.wallStepsPerSecond =
      perSecond(rank.measured + rank.incomplete,
                rank.endTicks > rank.beginTicks ? rank.endTicks - rank.beginTicks : 0);
  figures.lastArrivals = rank.lastArrivals;
  figures.waitingCausedMs = clock.durationNs(rank.waitingCaused) / 1e6;
  return figures;
}

std::optional<CheckCost> RunTotals::costOfChecks(double nsPerTick) const {
  if (checks_.calls == 0 || stepTicks_ == 0) {
    return std::nullopt;
  }
  const auto own = static_cast<double>(checks_.own);
  const auto waiting = static_cast<double>(checks_.waiting);
  const auto steps = static_cast<double>(stepTicks_);
  return CheckCost{checks_.calls, own * nsPerTick / 1e6, waiting * nsPerTick / 1e6,
                   100 * own / steps, 100 * waiting / steps};
}

RunAnalysis RunTotals::figures(WarmUp warmUp, const base::ClockCalibration& clock,
                               double stolenShare) && {
  RunAnalysis run;
  run.warmUp = std::move(warmUp);
  run.stepRows = std::move(steps_);
  run.collectives = std::move(collectives_);
  run.waits = std::move(waits_);
  run.waitsFor = std::move(waitsFor_);
  run.nsPerTick = clock.nsPerTick;
  run.stolenShare = stolenShare;
  run.checks = costOfChecks(clock.nsPerTick);
  run.lateness = lateness_.judge(clock.nsPerTick, stolenShare);
  const RankLateness* latest = nullptr;
  for (const RankLateness& rank : run.lateness) {
    if (rank.late && (latest == nullptr || rank.meanMs > latest->meanMs)) {
      latest = &rank;
    }
  }
  if (latest != nullptr && waitingTicks_ > 0) {
    run.lateRank = latest->rank;
    const auto late = ranks_.find(latest->rank);
    run.lateShare = late == ranks_.end() ? 0
                                         : static_cast<double>(late->second.waitingCaused) /
                                               static_cast<double>(waitingTicks_);
  }
  const auto slower = [](std::optional<double>& slowest, const std::optional<double>& rate) {
    if (rate) {
      slowest = std::min(slowest.value_or(*rate), *rate);
    }
  };
  // The medians of each rank are a sort each.
  constexpr std::size_t kWorthTwoThreads = 16;
  std::vector<std::pair<int, const OfRank*>> ranks;
  for (const auto& [number, ofRank] : ranks_) {
    ranks.emplace_back(number, &ofRank);
  }
  run.ranks.resize(ranks.size());
  base::inHalves(ranks.size(), kWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      run.ranks[i] = figuresOf(ranks[i].first, *ranks[i].second, clock);
    }
  });
  for (const RankAnalysis& rank : run.ranks) {
    slower(run.stepsPerSecond, rank.stepsPerSecond);
    slower(run.wallStepsPerSecond, rank.wallStepsPerSecond);
    if (rank.exposedMs && *rank.exposedMs > run.exposedMs.value_or(-1)) {
      run.exposedRank = rank.rank;
      run.exposedMs = rank.exposedMs;
      run.overlapPercent = rank.overlapPercent;
    }
  }
  return run;
}

}  // namespace lockstep::analysis
