#include "engine/analysis/WhatIfCap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RunAnalysis.h"

namespace lockstep::analysis {
namespace {

using ReadyTimes = std::map<std::uint32_t, std::uint64_t>;

base::Error cannot(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

ReadyTimes readyTimes(const ReadyOrder& order) {
  ReadyTimes times;
  for (const ReadyGradient& gradient : order.gradients) {
    times[gradient.parameter] = gradient.ticks;
  }
  return times;
}

/// When the last of these gradients was ready; nothing where one never was.
std::optional<std::uint64_t> fullTicks(const ReadyTimes& ready,
                                       const std::vector<std::uint32_t>& parameters) {
  std::uint64_t last = 0;
  for (const std::uint32_t parameter : parameters) {
    const auto at = ready.find(parameter);
    if (at == ready.end()) {
      return std::nullopt;
    }
    last = std::max(last, at->second);
  }
  return last;
}

bool isWhole(const BucketLife& life) {
  return life.metTicks.has_value() && !life.ranks.empty() &&
         std::all_of(life.ranks.begin(), life.ranks.end(), [](const BucketTimes& times) {
           return times.launchedTicks && times.beganTicks && times.endedTicks;
         });
}

/// What one rank's buckets took, and how much of it lay behind its last gradient.
struct RankShare {
  double inFlight = 0;
  double exposed = 0;
};

RankShare shareOf(std::vector<Interval> inFlight, std::uint64_t lastGradient) {
  const Intervals all = unite(std::move(inFlight));
  const std::uint64_t end = all.empty() ? lastGradient : std::max(lastGradient, all.back().end);
  return {static_cast<double>(length(all)),
          static_cast<double>(length(clip(all, {lastGradient, end})))};
}

void sumUp(CapOutcome& outcome, const std::vector<RankShare>& ranks) {
  std::vector<double> inFlight;
  std::vector<double> exposed;
  for (const RankShare& rank : ranks) {
    inFlight.push_back(rank.inFlight);
    exposed.push_back(rank.exposed);
  }
  outcome.inFlightTicks = median(inFlight).value_or(0);
  outcome.exposedTicks = median(exposed).value_or(0);
  if (outcome.inFlightTicks > 0) {
    outcome.overlapPercent = 100 * (1 - outcome.exposedTicks / outcome.inFlightTicks);
  }
  for (const BucketMoments& bucket : outcome.buckets) {
    outcome.endTicks = std::max(outcome.endTicks, bucket.endedTicks);
  }
}

/// The order in which the rebuild saw the gradients: that of the buckets it made.
std::vector<std::uint32_t> rebuildOrder(const trace::BucketsMessage& layout) {
  std::vector<std::uint32_t> order;
  for (const auto& bucket : layout.buckets) {
    order.insert(order.end(), bucket.parameters.begin(), bucket.parameters.end());
  }
  return order;
}

/// The measured buckets can be computed anew, so others can be too.
base::Status isReproducible(const MeasuredStep& step,
                            const std::vector<buckets::TensorSpec>& tensors) {
  if (step.layout.layout == 0) {
    return cannot("this iteration used the buckets of the construction, which no cap made");
  }
  const std::vector<std::uint32_t> order = rebuildOrder(step.layout);
  std::vector<bool> seen(tensors.size(), false);
  for (const std::uint32_t parameter : order) {
    if (parameter >= tensors.size() || seen[parameter]) {
      return cannot("the buckets name parameters that the run does not");
    }
    seen[parameter] = true;
  }
  bool same = order.size() == tensors.size();
  if (same) {
    const buckets::BucketPlan plan = buckets::planRebuild(tensors, order, step.caps);
    same = plan.buckets.size() == step.layout.buckets.size();
    for (std::size_t b = 0; same && b < plan.buckets.size(); ++b) {
      same = plan.buckets[b].parameters == step.layout.buckets[b].parameters;
    }
  }
  if (!same) {
    return cannot(
        "the buckets are not what these caps alone make of one kind of dense gradients, so that "
        "those of another cap cannot be told");
  }
  return {};
}

/// Lets buckets wait for their turn: at most so many are in flight at once.
class Channels {
 public:
  explicit Channels(std::size_t count) : free_(std::max<std::size_t>(count, 1), 0) {}

  [[nodiscard]] std::uint64_t next() const { return *std::min_element(free_.begin(), free_.end()); }
  void take(std::uint64_t until) { *std::min_element(free_.begin(), free_.end()) = until; }

 private:
  std::vector<std::uint64_t> free_;
};

std::uint64_t later(std::uint64_t ticks, double by) {
  return ticks + static_cast<std::uint64_t>(std::llround(std::max(by, 0.0)));
}

}  // namespace

std::vector<CostSample> costSamples(const MeasuredStep& step) {
  std::vector<CostSample> samples;
  for (std::size_t b = 0; b < step.lives.size() && b < step.layout.buckets.size(); ++b) {
    if (!isWhole(step.lives[b])) {
      continue;
    }
    std::uint64_t ended = 0;
    for (const BucketTimes& times : step.lives[b].ranks) {
      ended = std::max(ended, *times.endedTicks);
    }
    if (ended > *step.lives[b].metTicks) {
      samples.push_back(
          {step.layout.buckets[b].bytes, static_cast<double>(ended - *step.lives[b].metTicks)});
    }
  }
  return samples;
}

LaunchHabits launchHabits(const MeasuredStep& step) {
  std::vector<double> launchDelays;
  std::vector<double> startDelays;
  LaunchHabits habits;
  const std::size_t ranks = step.lives.empty() ? 0 : step.lives.front().ranks.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    std::uint64_t before = 0;
    std::vector<Interval> inFlight;
    for (const BucketLife& life : step.lives) {
      const BucketTimes& times = life.ranks[r];
      if (times.launchedTicks && times.lastGradientTicks) {
        const std::uint64_t possible = std::max(before, *times.lastGradientTicks);
        launchDelays.push_back(static_cast<double>(*times.launchedTicks) -
                               static_cast<double>(possible));
        before = *times.launchedTicks;
      }
      if (times.launchedTicks && times.beganTicks && !times.queuedBehind) {
        startDelays.push_back(static_cast<double>(*times.beganTicks) -
                              static_cast<double>(*times.launchedTicks));
      }
      if (times.beganTicks && times.endedTicks) {
        inFlight.push_back({*times.beganTicks, *times.endedTicks});
      }
    }
    for (const Interval& one : inFlight) {
      const auto beside = std::count_if(
          inFlight.begin(), inFlight.end(),
          [&](const Interval& other) { return other.begin <= one.begin && one.begin < other.end; });
      habits.atOnce = std::max(habits.atOnce, static_cast<std::size_t>(beside));
    }
  }
  habits.launchDelayTicks = std::max(median(launchDelays).value_or(0), 0.0);
  habits.startDelayTicks = std::max(median(startDelays).value_or(0), 0.0);
  return habits;
}

base::Result<CapOutcome> measuredOutcome(const MeasuredStep& step) {
  CapOutcome outcome;
  std::vector<std::vector<Interval>> inFlight(step.orders.size());
  for (std::size_t b = 0; b < step.layout.buckets.size(); ++b) {
    if (b >= step.lives.size() || !isWhole(step.lives[b]) ||
        step.lives[b].ranks.size() != step.orders.size()) {
      return cannot("not every rank recorded the communication of every bucket in this iteration");
    }
    const BucketLife& life = step.lives[b];
    BucketMoments& bucket = outcome.buckets.emplace_back();
    bucket.parameters = step.layout.buckets[b].parameters;
    bucket.bytes = step.layout.buckets[b].bytes;
    bucket.beganTicks = *life.metTicks;
    for (std::size_t r = 0; r < life.ranks.size(); ++r) {
      const BucketTimes& times = life.ranks[r];
      bucket.fullTicks = std::max(bucket.fullTicks, times.lastGradientTicks.value_or(0));
      bucket.launchedTicks = std::max(bucket.launchedTicks, *times.launchedTicks);
      bucket.endedTicks = std::max(bucket.endedTicks, *times.endedTicks);
      inFlight[r].push_back({*times.beganTicks, *times.endedTicks});
    }
  }
  std::vector<RankShare> ranks;
  for (std::size_t r = 0; r < step.orders.size(); ++r) {
    if (step.orders[r].gradients.empty()) {
      return cannot("a rank recorded no gradients in this iteration");
    }
    const std::uint64_t last = step.orders[r].gradients.back().ticks;
    outcome.lastGradientTicks = std::max(outcome.lastGradientTicks, last);
    ranks.push_back(shareOf(std::move(inFlight[r]), last));
  }
  sumUp(outcome, ranks);
  return outcome;
}

base::Result<CapOutcome> forecast(const MeasuredStep& step, const CommunicationCost& cost,
                                  std::uint64_t capBytes) {
  std::vector<buckets::TensorSpec> tensors;
  for (const auto& parameter : step.parameters) {
    tensors.push_back({static_cast<std::uint64_t>(parameter.bytes), parameter.dtype});
  }
  if (const base::Status same = isReproducible(step, tensors); !same.ok()) {
    return same.error();
  }
  buckets::BucketCaps caps = step.caps;
  caps.capBytes = capBytes;
  const buckets::BucketPlan plan = buckets::planRebuild(tensors, rebuildOrder(step.layout), caps);

  const LaunchHabits habits = launchHabits(step);
  const std::size_t ranks = step.orders.size();
  std::vector<ReadyTimes> ready;
  for (const ReadyOrder& order : step.orders) {
    ready.push_back(readyTimes(order));
  }
  CapOutcome outcome;
  std::vector<std::uint64_t> launched(ranks, 0);
  std::vector<Channels> channels(ranks, Channels(habits.atOnce));
  std::vector<std::vector<Interval>> inFlight(ranks);
  for (const buckets::BucketPlan::Bucket& planned : plan.buckets) {
    BucketMoments& bucket = outcome.buckets.emplace_back();
    bucket.parameters = planned.parameters;
    bucket.bytes = planned.bytes;
    std::vector<std::uint64_t> began(ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto full = fullTicks(ready[r], planned.parameters);
      if (!full) {
        return cannot("not every rank recorded every gradient in this iteration");
      }
      launched[r] = later(std::max(launched[r], *full), habits.launchDelayTicks);
      began[r] = std::max(later(launched[r], habits.startDelayTicks), channels[r].next());
      bucket.fullTicks = std::max(bucket.fullTicks, *full);
      bucket.launchedTicks = std::max(bucket.launchedTicks, launched[r]);
      bucket.beganTicks = std::max(bucket.beganTicks, began[r]);
    }
    bucket.endedTicks = later(bucket.beganTicks, cost.ticks(planned.bytes));
    for (std::size_t r = 0; r < ranks; ++r) {
      channels[r].take(bucket.endedTicks);
      inFlight[r].push_back({began[r], bucket.endedTicks});
    }
  }
  std::vector<RankShare> shares;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::uint64_t last = step.orders[r].gradients.back().ticks;
    outcome.lastGradientTicks = std::max(outcome.lastGradientTicks, last);
    shares.push_back(shareOf(std::move(inFlight[r]), last));
  }
  sumUp(outcome, shares);
  return outcome;
}

}  // namespace lockstep::analysis
