#include "engine/analysis/Lateness.h"

#include <algorithm>
#include <map>
#include <memory_resource>
#include <set>
#include <utility>
#include <vector>

#include "engine/analysis/MissedArrivals.h"

namespace lockstep::analysis {
namespace {

/// What each rank waited for cores in each step, in ticks; only of steps that all ranks have whole.
using CoreWaits = std::pmr::map<std::uint32_t, std::pmr::vector<std::pair<int, double>>>;

/// By step, then rank. `room` outlives what is returned.
CoreWaits coreWaits(const std::vector<StepTicks>& steps, std::uint32_t firstMeasured,
                    std::pmr::memory_resource& room) {
  CoreWaits waits(&room);
  std::set<std::uint32_t> left;
  for (const StepTicks& step : steps) {
    if (step.step < firstMeasured || step.incomplete) {
      left.insert(step.step);
    }
    auto& ranks = waits[step.step];  // the steps are by rank
    if (ranks.empty() || ranks.back().first != step.rank) {
      ranks.emplace_back(step.rank, 0);
    }
    ranks.back().second += step.coreWait;
  }
  // A step that one rank has not whole is left out for all: peers are compared within a step.
  std::erase_if(waits, [&](const auto& step) { return left.contains(step.first); });
  return waits;
}

}  // namespace

void LatenessSamples::add(const std::vector<StepTicks>& steps,
                          const std::vector<CollectiveTimes>& collectives) {
  std::pmr::monotonic_buffer_resource room;
  const CoreWaits waits = coreWaits(steps, firstMeasured_, room);
  std::vector<std::pair<int, double>> late;  // of a step
  eachStepOf(collectives, [&](std::uint32_t number, CollectivesOfStep ofStep) {
    const auto waited = waits.find(number);
    const auto missed =
        waited == waits.end() ? std::nullopt : missedArrivals(ofStep, Doubtful::kLeftOut);
    if (!missed || missed->size() < 2) {
      return;
    }
    late.clear();
    double sum = 0;
    auto core = waited->second.begin();
    for (const auto& [rank, missedTicks] : *missed) {
      while (core != waited->second.end() && core->first < rank) {
        ++core;
      }
      const bool known = core != waited->second.end() && core->first == rank;
      const auto ticks = static_cast<double>(missedTicks);
      late.emplace_back(rank, std::max(0.0, ticks - (known ? core->second : 0)));
      sum += late.back().second;
    }
    for (const auto& [rank, ticks] : late) {
      const double against = ticks - (sum - ticks) / static_cast<double>(late.size() - 1);
      ranks_[rank].add(against);
    }
  });
  for (const auto& [step, ranks] : waits) {
    double longest = 0;
    for (const auto& [rank, ticks] : ranks) {
      longest = std::max(longest, ticks);
    }
    longestWaits_ += longest;
  }
  steps_ += waits.size();
  for (const StepTicks& step : steps) {
    if (waits.contains(step.step)) {
      stepsOfRanks_ += 1;
      ticks_ += step.duration();
    }
  }
}

std::vector<RankLateness> LatenessSamples::judge(double nsPerTick, double stolenShare) const {
  const double toMs = nsPerTick / 1e6;
  const auto mean = [](double sum, std::size_t count) {
    return count == 0 ? 0 : sum / static_cast<double>(count);
  };
  const double stepMs = mean(static_cast<double>(ticks_) * toMs, stepsOfRanks_);
  const double waitMs = mean(longestWaits_ * toMs, steps_);
  const double least =
      std::max({kLateMs, kLateShare * stepMs, kCoreWaits * (waitMs + stolenShare * stepMs)});
  std::vector<RankLateness> all;
  cost::MeanIntervals intervals;
  for (const auto& [rank, ticks] : ranks_) {
    if (ticks.size() < cost::kFewestForBootstrap) {
      continue;
    }
    RankLateness of{rank, mean(ticks.sum(), ticks.size()) * toMs};
    if (of.meanMs > least) {
      of.interval =
          ticks.interval(cost::kAccusedByChance / static_cast<double>(ranks_.size()), intervals);
      for (double* value : {&of.interval->mean, &of.interval->low, &of.interval->high}) {
        *value *= toMs;
      }
      of.late = of.interval->low > least;
    }
    all.push_back(of);
  }
  return all;
}

}  // namespace lockstep::analysis
