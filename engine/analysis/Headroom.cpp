#include "engine/analysis/Headroom.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/analysis/SlowLink.h"
#include "engine/cost/BlockBootstrap.h"

namespace lockstep::analysis {
namespace {

constexpr double kRunsDiffer = 1.25;
// Of a step: without it, the step would be 10 % faster.
constexpr double kBottleneckShare = 1 - 1 / 1.10;

/// The values of one rank's steps.
struct HeadroomSamples {
  std::vector<double> step, forward, backward, optimizer, idle, noop;
  std::vector<double> overlapPercent, inFlight, exposed, waiting, transfer;
  std::vector<double> headroom, headroomPercent, hidden, perfect;
  std::vector<double> coreWait;
  std::vector<double> surely, atMost;  // exposed transfer beyond kBottleneckShare

  void add(const StepOverlap& of, double coreWaitMs) {
    coreWait.push_back(coreWaitMs);
    step.push_back(of.times.stepMs);
    forward.push_back(of.times.forwardMs);
    backward.push_back(of.times.backwardMs);
    optimizer.push_back(of.times.optimizerMs);
    // Of a step whose sums alone are there the exposed part cannot be divided.
    const bool divided = trace::isTypical(of.times.kept);
    if (divided) {
      addTransfer(of, coreWaitMs);
    }
    // The lists from here on may be shorter: a step without communication has no part in them.
    if (!of.times.overlapPercent) {
      return;
    }
    overlapPercent.push_back(*of.times.overlapPercent);
    inFlight.push_back(of.times.inFlightMs);
    exposed.push_back(of.times.exposedMs);
    if (divided) {
      waiting.push_back(of.waitingMs);
      transfer.push_back(of.transferMs);
      if (of.carriedMs) {
        addHeadroom(of, *of.carriedMs);
      }
    }
  }

 private:
  void addTransfer(const StepOverlap& of, double coreWaitMs) {
    // `surely` above 0: transfer is more than kBottleneckShare of the step, even if another run had
    // less of it by kRunsDiffer and all waits for cores were in it. `atMost` below 0: it is less
    // than that share, even if there were more of it by as much. Between the two nothing is said.
    const double moved = of.transferMs + of.undividedMs;
    const double bound = kBottleneckShare * of.times.stepMs;
    surely.push_back(moved / kRunsDiffer - coreWaitMs - bound);
    atMost.push_back(moved * kRunsDiffer + coreWaitMs - bound);
    idle.push_back(of.idleMs);
    noop.push_back(of.times.stepMs - of.transferMs - of.undividedMs);
  }

  void addHeadroom(const StepOverlap& of, double carriedMs) {
    // min(b, c): no more than all of the backward can hide, and no more than all that is carried.
    const double most = std::min(of.backwardComputingMs, carriedMs);
    const double hiddenMs = carriedMs - of.carriedExposedMs;
    const double all = of.forwardComputingMs + of.backwardComputingMs + carriedMs;
    headroom.push_back(most);
    headroomPercent.push_back(all > 0 ? 100 * most / all : 0);
    hidden.push_back(hiddenMs);
    // What is hidden under the forward or the optimizer counts too: it may be more than the most.
    perfect.push_back(of.times.stepMs - std::max(0.0, most - hiddenMs));
  }
};

std::optional<bool> bottleneckOf(const HeadroomSamples& samples, double tail) {
  const auto surely = cost::meanInterval(samples.surely, tail);
  const auto atMost = cost::meanInterval(samples.atMost, tail);
  if (surely && surely->low > 0) {
    return true;
  }
  return atMost && atMost->high < 0 ? std::optional(false) : std::nullopt;
}

RankOverlap mediansOf(int rank, HeadroomSamples samples) {
  RankOverlap of;
  of.rank = rank;
  of.steps = static_cast<std::uint32_t>(samples.step.size());
  of.stepMs = *median(std::move(samples.step));
  of.forwardMs = *median(std::move(samples.forward));
  of.backwardMs = *median(std::move(samples.backward));
  of.optimizerMs = *median(std::move(samples.optimizer));
  of.idleMs = median(std::move(samples.idle)).value_or(0);
  of.coreWaitMs = *median(std::move(samples.coreWait));
  of.noopMs = median(std::move(samples.noop)).value_or(of.stepMs);
  of.noopFasterPercent = of.noopMs > 0 ? 100 * (of.stepMs / of.noopMs - 1) : 0;
  of.overlapPercent = median(std::move(samples.overlapPercent));
  of.inFlightMs = median(std::move(samples.inFlight));
  of.exposedMs = median(std::move(samples.exposed));
  of.waitingMs = median(std::move(samples.waiting));
  of.transferMs = median(std::move(samples.transfer));
  of.headroomMs = median(std::move(samples.headroom));
  of.headroomPercent = median(std::move(samples.headroomPercent));
  of.hiddenMs = median(std::move(samples.hidden));
  of.perfectMs = median(std::move(samples.perfect));
  return of;
}

}  // namespace

std::vector<RankOverlap> rankOverlaps(const std::vector<StepOverlap>& steps,
                                      std::uint32_t firstStep) {
  const std::map<std::uint32_t, double> waits = longestCoreWaits(steps);
  std::map<int, HeadroomSamples> ranks;
  for (const StepOverlap& step : steps) {
    if (step.times.step >= firstStep && !step.times.incomplete) {
      ranks[step.times.rank].add(step, waits.at(step.times.step));
    }
  }
  std::vector<RankOverlap> all;
  for (auto& [rank, samples] : ranks) {
    const auto bottleneck =
        bottleneckOf(samples, cost::kAccusedByChance / static_cast<double>(ranks.size()));
    all.push_back(mediansOf(rank, std::move(samples)));
    all.back().bottleneck = bottleneck;
  }
  return all;
}

}  // namespace lockstep::analysis
