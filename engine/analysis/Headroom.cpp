#include "engine/analysis/Headroom.h"

#include <algorithm>

#include "engine/analysis/SlowLink.h"

namespace lockstep::analysis {
namespace {

constexpr double kRunsDiffer = 1.25;
// Of a step: without it, the step would be 10 % faster.
constexpr double kBottleneckShare = 1 - 1 / 1.10;

constexpr std::uint32_t kJudgedAnew = 8;  // when there are so many a part more steps

}  // namespace

void HeadroomSamples::Beyond::add(double value) {
  ms.push_back(value);
  sum += value;
}

std::optional<cost::MeanInterval> HeadroomSamples::Beyond::interval(double tail) const {
  return cost::meanInterval({ms.begin(), ms.end()}, tail);
}

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
  const std::map<std::uint32_t, double> waits = longestCoreWaits(steps);
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

std::optional<bool> HeadroomSamples::bottleneckOf(int number, const OfRank& rank) const {
  Verdict& verdict = (*verdicts_)[number];
  if (verdict.steps == 0 || rank.steps >= verdict.steps + verdict.steps / kJudgedAnew + 1) {
    const double tail = cost::kAccusedByChance / static_cast<double>(ranks_.size());
    const auto surely = rank.surely.sum > 0 ? rank.surely.interval(tail) : std::nullopt;
    const auto atMost = rank.atMost.sum < 0 ? rank.atMost.interval(tail) : std::nullopt;
    verdict = {rank.steps, surely && surely->low > 0    ? std::optional(true)
                           : atMost && atMost->high < 0 ? std::optional(false)
                                                        : std::nullopt};
  }
  return verdict.bottleneck;
}

std::vector<RankOverlap> HeadroomSamples::medians() const {
  std::vector<RankOverlap> all;
  for (const auto& [number, rank] : ranks_) {
    const auto median = [&medians = rank.medians](Figure figure) { return medians.median(figure); };
    RankOverlap& of = all.emplace_back();
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
    of.bottleneck = bottleneckOf(number, rank);
  }
  return all;
}

std::vector<RankOverlap> rankOverlaps(const std::vector<StepOverlap>& steps,
                                      std::uint32_t firstStep) {
  HeadroomSamples samples(firstStep);
  samples.add(steps);
  return samples.medians();
}

}  // namespace lockstep::analysis
