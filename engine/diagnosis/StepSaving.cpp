#include "engine/diagnosis/StepSaving.h"

#include <algorithm>
#include <cmath>
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
  std::vector<double> savedMs;
  cost::StepChange change;
  change.without = rankExcess(rank, excess);
  for (const cost::StepRecord& step : forecaster.steps()) {
    if (std::none_of(step.ranks.begin(), step.ranks.end(),
                     [&](const cost::RankStep& of) { return of.rank == rank; })) {
      return std::nullopt;
    }
    const cost::StepRecord changed = cost::changedStep(step, change);
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
