#include "engine/analysis/Lateness.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "engine/analysis/Intervals.h"

namespace lockstep::analysis {
namespace {

/// What came before each rank in one step.
struct StepArrivals {
  bool known = true;
  std::map<int, std::vector<Interval>> missed;  // by rank: the first had come, it had not
  std::map<int, Interval> bucket;               // the same of the bucket it came latest to
};

std::map<std::uint32_t, StepArrivals> arrivalsByStep(
    const std::vector<CollectiveTimes>& collectives) {
  std::map<std::uint32_t, StepArrivals> steps;
  for (const CollectiveTimes& collective : collectives) {
    StepArrivals& step = steps[collective.step];
    // One collective without all its ranks, and no rank of this step can be judged: it may have
    // been the one to which the late one came last.
    step.known = step.known && collective.complete;
    if (!collective.complete || !collective.lastRank) {
      continue;
    }
    std::uint64_t first = collective.arrivals.front().startTicks;
    for (const Arrival& arrival : collective.arrivals) {
      first = std::min(first, arrival.startTicks);
    }
    for (const Arrival& arrival : collective.arrivals) {
      const Interval missed{first, arrival.startTicks};
      if (collective.bucket == trace::kNoBucket) {
        step.missed[arrival.rank].push_back(missed);
        continue;
      }
      const auto [latest, isFirst] = step.bucket.try_emplace(arrival.rank, missed);
      // Of the buckets only the one that it came latest to (Note [Lateness]).
      if (!isFirst && missed.end - missed.begin > latest->second.end - latest->second.begin) {
        latest->second = missed;
      }
    }
  }
  for (auto& [number, step] : steps) {
    for (const auto& [rank, missed] : step.bucket) {
      step.missed[rank].push_back(missed);
    }
  }
  return steps;
}

/// What each rank waited for cores in each step; only of steps that all ranks have whole.
using CoreWaitMs = std::map<std::uint32_t, std::map<int, double>>;

CoreWaitMs coreWaits(const std::vector<StepTimes>& steps, std::uint32_t firstMeasured) {
  CoreWaitMs waits;
  std::set<std::uint32_t> left;
  for (const StepTimes& step : steps) {
    if (step.step < firstMeasured || step.incomplete) {
      left.insert(step.step);
    }
    waits[step.step][step.rank] += step.coreWaitMs;
  }
  // A step that one rank has not whole is left out for all: peers are compared within a step.
  std::erase_if(waits, [&](const auto& step) { return left.contains(step.first); });
  return waits;
}

double meanLongest(const CoreWaitMs& waits) {
  double sum = 0;
  for (const auto& [step, ranks] : waits) {
    double longest = 0;
    for (const auto& [rank, ms] : ranks) {
      longest = std::max(longest, ms);
    }
    sum += longest;
  }
  return waits.empty() ? 0 : sum / static_cast<double>(waits.size());
}

}  // namespace

std::vector<RankLateness> lateness(const std::vector<StepTimes>& steps,
                                   const std::vector<CollectiveTimes>& collectives,
                                   std::uint32_t firstMeasured, double nsPerTick) {
  const CoreWaitMs waits = coreWaits(steps, firstMeasured);
  std::map<int, std::vector<double>> samples;  // by rank, in the order of steps
  for (auto& [number, arrivals] : arrivalsByStep(collectives)) {
    const auto waited = waits.find(number);
    if (!arrivals.known || waited == waits.end() || arrivals.missed.size() < 2) {
      continue;
    }
    std::map<int, double> lateMs;
    double sum = 0;
    // Collectives overlap, and what was missed of several at once counts once: hence the union.
    for (auto& [rank, missed] : arrivals.missed) {
      const double ms = static_cast<double>(length(unite(std::move(missed)))) * nsPerTick / 1e6;
      const auto core = waited->second.find(rank);
      lateMs[rank] = std::max(0.0, ms - (core == waited->second.end() ? 0 : core->second));
      sum += lateMs[rank];
    }
    for (const auto& [rank, ms] : lateMs) {
      // Against the mean of the others, so that these add up to 0 over the ranks of a step: of 6, 0
      // and 0 ms they are 6, -3 and -3.
      samples[rank].push_back(ms - (sum - ms) / static_cast<double>(lateMs.size() - 1));
    }
  }
  double stepMs = 0;
  double stolenMs = 0;
  std::size_t measured = 0;
  for (const StepTimes& step : steps) {
    if (waits.contains(step.step)) {
      stepMs += step.stepMs;
      stolenMs += step.stolenMs;
      measured += 1;
    }
  }
  const double perStep = measured == 0 ? 0 : 1 / static_cast<double>(measured);
  const double least = std::max({kLateMs, kLateShare * stepMs * perStep,
                                 kCoreWaits * (meanLongest(waits) + stolenMs * perStep)});
  std::vector<RankLateness> all;
  for (const auto& [rank, values] : samples) {
    if (values.size() < kFewestForBootstrap) {
      continue;
    }
    RankLateness of{rank, std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size())};
    // The low end of an interval lies below the mean: who has no mean above `least` needs no 4000
    // draws.
    if (of.meanMs > least) {
      const auto interval =
          meanInterval(values, kAccusedByChance / static_cast<double>(samples.size()));
      of.interval = interval;
      of.late = interval && interval->low > least;
    }
    all.push_back(of);
  }
  return all;
}

}  // namespace lockstep::analysis
