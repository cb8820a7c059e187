#include "engine/analysis/SlowLink.h"

#include <algorithm>
#include <numeric>

#include "engine/analysis/StepOverlap.h"
#include "engine/cost/BlockBootstrap.h"

namespace lockstep::analysis {
namespace {

double muchTransferMs(const StepOverlap& step) {
  return std::accumulate(step.tail.begin(), step.tail.end(), 0.0,
                         [](double ms, const TailItem& item) {
                           return ms + (item.cause == TailCause::kMuchTransfer ? item.ms : 0);
                         });
}

double coreWaitMsOf(const StepOverlap& step) {
  return step.times.coreWaitMs + step.times.stolenMs;
}

void keepLongest(LongestCoreWaits& longest, std::uint32_t step, double waitMs) {
  double& ms = longest[step];
  ms = std::max(ms, waitMs);
}

}  // namespace

void appendTransfers(std::span<const StepOverlap> steps, std::vector<TransferOfStep>& to) {
  for (const StepOverlap& step : steps) {
    const StepTimes& times = step.times;
    to.push_back({times.rank, times.step, times.incomplete, times.stepMs, coreWaitMsOf(step),
                  muchTransferMs(step)});
  }
}

LongestCoreWaits longestCoreWaits(const std::vector<StepOverlap>& steps) {
  return longestCoreWaits(pointersTo(steps));
}

LongestCoreWaits longestCoreWaits(const std::vector<const StepOverlap*>& steps) {
  LongestCoreWaits longest;
  for (const StepOverlap* step : steps) {
    keepLongest(longest, step->times.step, coreWaitMsOf(*step));
  }
  return longest;
}

void TransferSamples::add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured) {
  std::vector<TransferOfStep> transfers;
  appendTransfers(steps, transfers);
  add(transfers, firstMeasured);
}

void TransferSamples::add(std::span<const TransferOfStep> steps, std::uint32_t firstMeasured) {
  LongestCoreWaits waits;
  for (const TransferOfStep& step : steps) {
    keepLongest(waits, step.step, step.coreWaitMs);
  }
  for (const TransferOfStep& step : steps) {
    if (step.step >= firstMeasured && !step.incomplete) {
      OfRank& rank = ranks_[step.rank];
      // A thread without a core, on any rank, makes every rank's transfer longer by as much at
      // most.
      rank.beyondMs.add(step.muchMs - waits.at(step.step));
      rank.stepMs += step.stepMs;
    }
  }
}

bool TransferSamples::isTelling(const OfRank& rank, cost::MeanIntervals& intervals) const {
  const double leastMs = kTellingShare * rank.stepMs;
  if (rank.beyondMs.sum() <= leastMs) {
    return false;  // whatever chance explains
  }
  const auto interval = rank.beyondMs.interval(
      cost::kAccusedByChance / static_cast<double>(ranks_.size()), intervals);
  return interval && interval->low > leastMs / static_cast<double>(rank.beyondMs.size());
}

// One rank on which it is telling is enough: the transfers are the same ones on all.
bool TransferSamples::telling() const {
  cost::MeanIntervals intervals;
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [&](const auto& rank) { return isTelling(rank.second, intervals); });
}

void markTransfer(TailItem& item, TailCause told) {
  if (item.cause == TailCause::kMuchTransfer) {
    item.cause = told;
    item.telling = true;
  }
}

void markTransfers(std::span<StepOverlap> steps, TailCause told) {
  for (StepOverlap& step : steps) {
    for (TailItem& item : step.tail) {
      markTransfer(item, told);
    }
  }
}

}  // namespace lockstep::analysis
