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

}  // namespace

LongestCoreWaits longestCoreWaits(const std::vector<StepOverlap>& steps) {
  return longestCoreWaits(pointersTo(steps));
}

LongestCoreWaits longestCoreWaits(const std::vector<const StepOverlap*>& steps) {
  LongestCoreWaits longest;
  for (const StepOverlap* step : steps) {
    double& ms = longest[step->times.step];
    ms = std::max(ms, step->times.coreWaitMs + step->times.stolenMs);
  }
  return longest;
}

void TransferSamples::add(const std::vector<StepOverlap>& steps, std::uint32_t firstMeasured) {
  add(pointersTo(steps), firstMeasured);
}

void TransferSamples::add(const std::vector<const StepOverlap*>& steps,
                          std::uint32_t firstMeasured) {
  const LongestCoreWaits waits = longestCoreWaits(steps);
  for (const StepOverlap* step : steps) {
    const StepTimes& times = step->times;
    if (times.step >= firstMeasured && !times.incomplete) {
      OfRank& rank = ranks_[times.rank];
      // A thread without a core, on any rank, makes every rank's transfer longer by as much at
      // most.
      const double beyondMs = muchTransferMs(*step) - waits.at(times.step);
      rank.beyondMs.push_back(beyondMs);
      rank.sumMs += beyondMs;
      rank.stepMs += times.stepMs;
    }
  }
}

bool TransferSamples::isTelling(const OfRank& rank) const {
  const double leastMs = kTellingShare * rank.stepMs;
  if (rank.sumMs <= leastMs) {
    return false;  // whatever chance explains
  }
  const auto interval =
      cost::meanInterval({rank.beyondMs.begin(), rank.beyondMs.end()},
                         cost::kAccusedByChance / static_cast<double>(ranks_.size()));
  return interval && interval->low > leastMs / static_cast<double>(rank.beyondMs.size());
}

// One rank on which it is telling is enough: the transfers are the same ones on all.
bool TransferSamples::telling() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [this](const auto& rank) { return isTelling(rank.second); });
}

void markTransfers(std::span<StepOverlap> steps, bool crossesLink) {
  for (StepOverlap& step : steps) {
    for (TailItem& item : step.tail) {
      if (item.cause == TailCause::kMuchTransfer) {
        item.cause = crossesLink ? TailCause::kSlowLink : TailCause::kMuchTransfer;
        item.telling = true;
      }
    }
  }
}

}  // namespace lockstep::analysis
