#include "engine/analysis/Headroom.h"

#include <algorithm>
#include <utility>

#include "engine/analysis/SlowLink.h"
#include "engine/base/InHalves.h"

namespace lockstep::analysis {
namespace {

constexpr double kRunsDiffer = 1.25;
// Of a step: without it, the step would be 10 % faster.
constexpr double kBottleneckShare = 1 - 1 / 1.10;

constexpr std::uint32_t kJudgedAnew = 8;  // when there are so many a part more steps

}  // namespace

void HeadroomSamples::add(const StepOverlap& of, double coreWaitMs, OfRank& rank) {
  const auto add = [&rank](Figure figure, double value) { rank.medians.add(figure, value); };
  rank.steps += 1;
  add(kCoreWait, coreWaitMs);
  add(kStep, of.times.stepMs);
  add(kForward, of.times.forwardMs);
  add(kBackward, of.times.backwardMs);
  add(kOptimizer, of.times.optimizerMs);
  // Of a step whose sums alone are there the exposed part cannot be divided.
  const bool divided = trace::isTypical(of.times.kept);
  if (divided) {
    // `surely` above 0: transfer is more than kBottleneckShare of the step, even if another run had
    // less of it by kRunsDiffer and all waits for cores were in it. `atMost` below 0: it is less
    // than that share, even if there were more of it by as much. Between the two nothing is said.
    const double moved = of.transferMs + of.undividedMs;
    const double bound = kBottleneckShare * of.times.stepMs;
    rank.surely.add(moved / kRunsDiffer - coreWaitMs - bound);
    rank.atMost.add(moved * kRunsDiffer + coreWaitMs - bound);
    add(kIdle, of.idleMs);
    add(kNoop, of.times.stepMs - of.transferMs - of.undividedMs);
  }
  // From here on there may be fewer: a step without communication has no part in these.
  if (!of.times.overlapPercent) {
    return;
  }
  add(kOverlapPercent, *of.times.overlapPercent);
  add(kInFlight, of.times.inFlightMs);
  add(kExposed, of.times.exposedMs);
  if (!divided) {
    return;
  }
  add(kWaiting, of.waitingMs);
  add(kTransfer, of.transferMs);
  if (of.carriedMs) {
    // min(b, c): no more than all of the backward can hide, and no more than all that is carried.
    const double most = std::min(of.backwardComputingMs, *of.carriedMs);
    const double hiddenMs = *of.carriedMs - of.carriedExposedMs;
    const double all = of.forwardComputingMs + of.backwardComputingMs + *of.carriedMs;
    add(kHeadroom, most);
    add(kHeadroomPercent, all > 0 ? 100 * most / all : 0);
    add(kHidden, hiddenMs);
    // What is hidden under the forward or the optimizer counts too: it may be more than the most.
    add(kPerfect, of.times.stepMs - std::max(0.0, most - hiddenMs));
  }
}

void HeadroomSamples::add(const std::vector<StepOverlap>& steps) {
  const LongestCoreWaits waits = longestCoreWaits(steps);
  for (const StepOverlap& step : steps) {
    if (step.times.step >= firstStep_ && !step.times.incomplete) {
      add(step, waits.at(step.times.step), ranks_[step.times.rank]);
    }
  }
}

void HeadroomSamples::settle() {
  for (auto& [number, rank] : ranks_) {
    rank.medians.settle();
  }
}

std::optional<bool> HeadroomSamples::isBottleneck(const OfRank& rank, std::size_t ranks,
                                                  cost::MeanIntervals& intervals) {
  const double tail = cost::kAccusedByChance / static_cast<double>(ranks);
  const auto surely = rank.surely.sum() > 0 ? rank.surely.interval(tail, intervals) : std::nullopt;
  const auto atMost = rank.atMost.sum() < 0 ? rank.atMost.interval(tail, intervals) : std::nullopt;
  return surely && surely->low > 0    ? std::optional(true)
         : atMost && atMost->high < 0 ? std::optional(false)
                                      : std::nullopt;
}

std::optional<bool> HeadroomSamples::bottleneckOf(int number, const OfRank& rank,
                                                  cost::MeanIntervals& intervals) const {
  Verdict& verdict = (*verdicts_)[number];
  if (verdict.steps == 0 || rank.steps >= verdict.steps + verdict.steps / kJudgedAnew + 1) {
    verdict = {rank.steps, isBottleneck(rank, ranks_.size(), intervals)};
  }
  return verdict.bottleneck;
}

RankOverlap HeadroomSamples::overlapOf(int number, const OfRank& rank) {
  const auto median = [&medians = rank.medians](Figure figure) { return medians.median(figure); };
  RankOverlap of;
  of.rank = number;
  of.steps = rank.steps;
  of.stepMs = *median(kStep);
  of.forwardMs = *median(kForward);
  of.backwardMs = *median(kBackward);
  of.optimizerMs = *median(kOptimizer);
  of.idleMs = median(kIdle).value_or(0);
  of.coreWaitMs = *median(kCoreWait);
  of.noopMs = median(kNoop).value_or(of.stepMs);
  of.noopFasterPercent = of.noopMs > 0 ? 100 * (of.stepMs / of.noopMs - 1) : 0;
  of.overlapPercent = median(kOverlapPercent);
  of.inFlightMs = median(kInFlight);
  of.exposedMs = median(kExposed);
  of.waitingMs = median(kWaiting);
  of.transferMs = median(kTransfer);
  of.headroomMs = median(kHeadroom);
  of.headroomPercent = median(kHeadroomPercent);
  of.hiddenMs = median(kHidden);
  of.perfectMs = median(kPerfect);
  return of;
}

std::vector<RankOverlap> HeadroomSamples::medians() const {
  std::vector<RankOverlap> all;
  cost::MeanIntervals intervals;
  for (const auto& [number, rank] : ranks_) {
    all.push_back(overlapOf(number, rank));
    all.back().bottleneck = bottleneckOf(number, rank, intervals);
  }
  return all;
}

std::vector<RankOverlap> HeadroomSamples::ofAll(const std::vector<const StepOverlap*>& steps,
                                                std::uint32_t firstStep) {
  const LongestCoreWaits waits = longestCoreWaits(steps);
  std::map<int, std::vector<const StepOverlap*>> byRank;
  for (const StepOverlap* step : steps) {
    if (step->times.step >= firstStep && !step->times.incomplete) {
      byRank[step->times.rank].push_back(step);
    }
  }
  const std::vector<std::pair<int, std::vector<const StepOverlap*>>> ranks(byRank.begin(),
                                                                           byRank.end());
  std::vector<RankOverlap> all(ranks.size());
  base::inHalves(ranks.size(), 2, [&](std::size_t from, std::size_t to) {
    cost::MeanIntervals intervals;
    for (std::size_t i = from; i < to; ++i) {
      const auto& [number, own] = ranks[i];
      OfRank rank;
      for (const StepOverlap* step : own) {
        add(*step, waits.at(step->times.step), rank);
      }
      all[i] = overlapOf(number, rank);
      all[i].bottleneck = isBottleneck(rank, ranks.size(), intervals);
    }
  });
  return all;
}

std::vector<RankOverlap> rankOverlaps(const std::vector<StepOverlap>& steps,
                                      std::uint32_t firstStep) {
  return HeadroomSamples::ofAll(pointersTo(steps), firstStep);
}

}  // namespace lockstep::analysis
