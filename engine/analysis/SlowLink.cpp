#include "engine/analysis/SlowLink.h"

#include <algorithm>
#include <numeric>

#include "engine/cost/BlockBootstrap.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

/// Of the measured steps of one rank, in their order.
struct TransferSamples {
  std::vector<double> beyondMs;
  double stepMs = 0;
};

// Ranks on several hosts have clocks in doubt; a shaped link leaves spans of its own.
bool crossesLink(const RunData& data) {
  return !data.doubt.none() ||
         std::any_of(data.spans.begin(), data.spans.end(), [](const trace::SpanRow& span) {
           return span.kind == trace::EventKind::kShaped;
         });
}

double muchTransferMs(const StepOverlap& step) {
  return std::accumulate(step.tail.begin(), step.tail.end(), 0.0,
                         [](double ms, const TailItem& item) {
                           return ms + (item.cause == TailCause::kMuchTransfer ? item.ms : 0);
                         });
}

bool isTelling(const TransferSamples& samples, std::size_t ranks) {
  const auto interval =
      cost::meanInterval(samples.beyondMs, cost::kAccusedByChance / static_cast<double>(ranks));
  return interval && interval->low > kTellingShare * samples.stepMs /
                                         static_cast<double>(samples.beyondMs.size());
}

}  // namespace

std::map<std::uint32_t, double> longestCoreWaits(const std::vector<StepOverlap>& steps) {
  std::map<std::uint32_t, double> longest;
  for (const StepOverlap& step : steps) {
    double& ms = longest[step.times.step];
    ms = std::max(ms, step.times.coreWaitMs + step.times.stolenMs);
  }
  return longest;
}

void judgeTransfers(std::vector<StepOverlap>& steps, const RunData& data,
                    std::uint32_t firstMeasured) {
  const std::map<std::uint32_t, double> waits = longestCoreWaits(steps);
  std::map<int, TransferSamples> ranks;
  for (const StepOverlap& step : steps) {
    if (step.times.step >= firstMeasured && !step.times.incomplete) {
      TransferSamples& rank = ranks[step.times.rank];
      // A thread without a core, on any rank, makes every rank's transfer longer by as much at
      // most.
      rank.beyondMs.push_back(muchTransferMs(step) - waits.at(step.times.step));
      rank.stepMs += step.times.stepMs;
    }
  }
  // One rank on which it is telling is enough: the transfers are the same ones on all.
  if (std::none_of(ranks.begin(), ranks.end(),
                   [&](const auto& rank) { return isTelling(rank.second, ranks.size()); })) {
    return;
  }
  const TailCause cause = crossesLink(data) ? TailCause::kSlowLink : TailCause::kMuchTransfer;
  for (StepOverlap& step : steps) {
    for (TailItem& item : step.tail) {
      if (item.cause == TailCause::kMuchTransfer) {
        item.cause = cause;
        item.telling = true;
      }
    }
  }
}

}  // namespace lockstep::analysis
