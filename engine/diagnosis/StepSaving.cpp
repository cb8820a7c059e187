#include "engine/diagnosis/StepSaving.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/cost/Replay.h"
#include "engine/diagnosis/Finding.h"

namespace lockstep::diagnosis {
namespace {

constexpr double kNsPerMs = 1e6;

/// A rank that takes results before it waits for them has them by then.
void keepWaitsBehind(cost::StepRecord& step, std::size_t r) {
  double taken = -std::numeric_limits<double>::infinity();
  for (const cost::BucketRecord& bucket : step.buckets) {
    const cost::BucketPart& part = bucket.parts[r];
    taken = std::max(taken, std::isnan(part.copiedOutNs) ? part.endedNs : part.copiedOutNs);
  }
  if (!step.buckets.empty() && taken < step.ranks[r].waitsNs) {
    step.buckets.back().parts[r].copiedOutNs = step.ranks[r].waitsNs;
  }
}

void takePartOut(cost::StepRecord& step, std::size_t r, const WorkPart& part, double ns) {
  cost::RankStep& rank = step.ranks[r];
  switch (part.kind) {
    case WorkPart::Kind::kData:
    case WorkPart::Kind::kForward:
      takeOut(rank, rank.beginNs + std::max(ns, 0.0), ns);
      break;
    case WorkPart::Kind::kGradient:
      if (part.parameter < rank.filledNs.size() && !std::isnan(rank.filledNs[part.parameter])) {
        takeOut(rank, rank.filledNs[part.parameter], ns);
      }
      break;
    case WorkPart::Kind::kOptimizer:
      rank.endNs -= ns;
      break;
  }
}

double meanStepNs(const cost::StepOutcome& outcome) {
  double sum = 0;
  for (const cost::RankOutcome& rank : outcome.ranks) {
    sum += rank.stepNs;
  }
  return sum / static_cast<double>(outcome.ranks.size());
}

/// By how much the replay of the run's own steps is off, as a part of them.
double missedShare(const cost::Forecaster& forecaster) {
  double missed = 0;
  for (const cost::RankForecast& own : forecaster.own()) {
    missed =
        std::max(missed, std::abs(own.replayedStepNs - own.measuredStepNs) / own.measuredStepNs);
  }
  return missed;
}

}  // namespace

void takeOut(cost::RankStep& rank, double untilNs, double ns) {
  const auto moved = [&](double at) {
    return at >= untilNs ? at - ns : std::min(at, std::max(untilNs - ns, at - ns));
  };
  for (double& filled : rank.filledNs) {
    filled = moved(filled);
  }
  rank.lastGradientNs = moved(rank.lastGradientNs);
  rank.waitsNs = moved(rank.waitsNs);
  for (cost::Stretch& stretch : rank.computing) {
    stretch = {moved(stretch.begin), moved(stretch.end)};
  }
}

std::optional<cost::MeanInterval> savingWithout(const cost::Forecaster& forecaster, int rank,
                                                const std::vector<Excess>& excess) {
  const auto plan = cost::planOf(forecaster.steps().front());
  cost::ReplayedSteps own(forecaster.habits(), forecaster.line(), plan);
  cost::ReplayedSteps without(forecaster.habits(), forecaster.line(), plan);
  std::vector<double> savedMs;
  for (const cost::StepRecord& step : forecaster.steps()) {
    const auto at = std::find_if(step.ranks.begin(), step.ranks.end(),
                                 [&](const cost::RankStep& of) { return of.rank == rank; });
    if (at == step.ranks.end()) {
      return std::nullopt;
    }
    const auto r = static_cast<std::size_t>(at - step.ranks.begin());
    cost::StepRecord changed = step;
    keepWaitsBehind(changed, r);
    for (const Excess& part : excess) {
      const auto found = std::lower_bound(part.steps.begin(), part.steps.end(), step.step);
      if (found != part.steps.end() && *found == step.step) {
        const double ms = part.ms[static_cast<std::size_t>(found - part.steps.begin())];
        takePartOut(changed, r, part.part, ms * kNsPerMs);
      }
    }
    const double measuredNs = meanStepNs(own.next(step));
    const double changedNs = meanStepNs(without.next(step, changed));
    savedMs.push_back((measuredNs - changedNs) / kNsPerMs);
  }
  auto saving = cost::meanInterval(savedMs, kIntervalTail);
  if (saving) {
    const double wider = missedShare(forecaster) * std::abs(saving->mean);
    saving->low -= wider;
    saving->high += wider;
  }
  return saving;
}

std::optional<cost::MeanInterval> savingOf(const std::vector<cost::RankForecast>& ranks) {
  if (ranks.empty()) {
    return std::nullopt;
  }
  cost::MeanInterval saving;
  for (const cost::RankForecast& of : ranks) {
    saving.mean += of.measuredStepNs - of.stepNs.value;
    saving.low += of.measuredStepNs - of.stepNs.high;
    saving.high += of.measuredStepNs - of.stepNs.low;
  }
  const double perRank = kNsPerMs * static_cast<double>(ranks.size());
  return cost::MeanInterval{saving.mean / perRank, saving.low / perRank, saving.high / perRank};
}

}  // namespace lockstep::diagnosis
