#include "engine/diagnosis/StepSaving.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "engine/cost/Replay.h"
#include "engine/diagnosis/Finding.h"

namespace lockstep::diagnosis {
namespace {

constexpr double kNsPerMs = 1e6;

cost::RankExcess::Where whereOf(WorkPart::Kind kind) {
  switch (kind) {
    case WorkPart::Kind::kGradient:
      return cost::RankExcess::Where::kGradient;
    case WorkPart::Kind::kOptimizer:
      return cost::RankExcess::Where::kEnd;
    case WorkPart::Kind::kData:
    case WorkPart::Kind::kForward:
      break;
  }
  return cost::RankExcess::Where::kBegin;
}

double meanStepNs(const cost::StepOutcome& outcome) {
  double sum = 0;
  for (const cost::RankOutcome& rank : outcome.ranks) {
    sum += rank.stepNs;
  }
  return sum / static_cast<double>(outcome.ranks.size());
}

double meanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

/// How far an interval reaches from its mean, on its wider side.
double reachOf(const cost::MeanInterval& interval) {
  return std::max(interval.mean - interval.low, interval.high - interval.mean);
}

/// The steps of a run as they were, replayed as they were, and without a cause; in ms.
struct StepSeries {
  std::vector<double> measured, replayed, without;

  void add(double measuredNs, double replayedNs, double withoutNs) {
    measured.push_back(measuredNs / kNsPerMs);
    replayed.push_back(replayedNs / kNsPerMs);
    without.push_back(withoutNs / kNsPerMs);
  }

  /// Without the cause, and with all that the replay misses left in each.
  [[nodiscard]] std::vector<double> measuredWithout() const {
    std::vector<double> left;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      left.push_back(measured[i] - replayed[i] + without[i]);
    }
    return left;
  }
};

/// As Note [What a cause costs] says it.
std::optional<cost::MeanInterval> savingOf(const StepSeries& steps, double driftMs) {
  std::vector<double> saved;
  for (std::size_t i = 0; i < steps.measured.size(); ++i) {
    saved.push_back(steps.replayed[i] - steps.without[i]);
  }
  const auto ofSteps = cost::meanInterval(saved, kIntervalTail);
  const auto ofRuns =
      cost::differenceInterval(steps.measuredWithout(), steps.measured, kIntervalTail);
  if (!ofSteps || !ofRuns) {
    return std::nullopt;
  }
  const double missed = meanOf(steps.measured) - meanOf(steps.replayed);
  const double withCause = missed * ofSteps->mean / meanOf(steps.replayed);
  const double differ =
      std::hypot(reachOf(*ofRuns), driftMs, cost::kRunsDifferStep * meanOf(steps.without));
  // From the centre to where none of what is missed goes with the cause, and to where all does.
  const auto [less, more] = std::minmax({-withCause, missed - withCause});
  const double mean = ofSteps->mean + withCause;
  return cost::MeanInterval{
      mean, mean - std::hypot(ofSteps->mean - ofSteps->low, differ, std::min(less, 0.0)),
      mean + std::hypot(ofSteps->high - ofSteps->mean, differ, std::max(more, 0.0))};
}

/// What the measured steps of all ranks took in the mean, in ms.
std::vector<double> stepMeansMs(const Evidence& evidence) {
  std::map<std::uint32_t, std::pair<double, int>> sums;  // by step: ms, ranks
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (evidence.isMeasured(step.times)) {
      auto& [ms, ranks] = sums[step.times.step];
      ms += step.times.stepMs;
      ranks += 1;
    }
  }
  std::vector<double> means;
  for (const auto& [number, sum] : sums) {
    means.push_back(sum.first / sum.second);
  }
  return means;
}

}  // namespace

cost::RankExcess rankExcess(int rank, const std::vector<Excess>& excess) {
  cost::RankExcess all{rank, {}};
  for (const Excess& of : excess) {
    auto& part = all.parts.emplace_back();
    part.where = whereOf(of.part.kind);
    part.parameter = of.part.parameter;
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
      part.nsByStep[of.steps[i]] = of.ms[i] * kNsPerMs;
    }
  }
  return all;
}

std::optional<cost::MeanInterval> savingWithout(const cost::Forecaster& forecaster, int rank,
                                                const std::vector<Excess>& excess) {
  const auto plan = cost::planOf(forecaster.steps().front());
  cost::ReplayedSteps own(forecaster.habits(), forecaster.line(), plan);
  cost::ReplayedSteps without(forecaster.habits(), forecaster.line(), plan);
  StepSeries series;
  cost::StepChange change;
  change.without = rankExcess(rank, excess);
  for (const cost::StepRecord& step : forecaster.steps()) {
    if (std::none_of(step.ranks.begin(), step.ranks.end(),
                     [&](const cost::RankStep& of) { return of.rank == rank; })) {
      return std::nullopt;
    }
    const cost::StepRecord changed = cost::changedStep(step, change);
    series.add(meanStepNs(cost::measuredOutcome(step)), meanStepNs(own.next(step)),
               meanStepNs(without.next(step, changed)));
  }
  double driftNs = 0;
  for (const cost::RankForecast& of : forecaster.own()) {
    driftNs += of.driftStepNs / static_cast<double>(forecaster.own().size());
  }
  return savingOf(series, driftNs / kNsPerMs);
}

std::optional<cost::MeanInterval> timeOf(const std::vector<Excess>& excess) {
  std::map<std::uint32_t, double> ms;  // by step
  for (const Excess& of : excess) {
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
      ms[of.steps[i]] += of.ms[i];
    }
  }
  return cost::meanInterval(StepValues(ms).values, kIntervalTail);
}

cost::MeanInterval savingOfTime(const Evidence& evidence, const cost::MeanInterval& spent) {
  const std::vector<double> steps = stepMeansMs(evidence);
  const auto ofRuns = cost::differenceInterval(steps, steps, kIntervalTail);
  const double differ =
      std::hypot(ofRuns ? reachOf(*ofRuns) : 0.0,
                 cost::kRunsDifferStep * std::max(meanOf(steps) - spent.mean, 0.0));
  // A step that takes longer without it is no saving of it.
  const double least = std::min(spent.low, 0.0);
  return {spent.mean, std::max(spent.mean - std::hypot(spent.mean - spent.low, differ), least),
          spent.mean + std::hypot(spent.high - spent.mean, differ)};
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
