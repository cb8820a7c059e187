#include "engine/analysis/StepTimes.h"

#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"

namespace lockstep::analysis {

using trace::EventKind;
using trace::SpanRow;

std::optional<double> StepTicks::percentOfFlight(std::uint64_t part) const {
  return inFlight == 0
             ? std::nullopt
             : std::optional(100.0 * static_cast<double>(part) / static_cast<double>(inFlight));
}

StepTimes timesOf(const StepTicks& step, double nsPerTick, double stolenShare) {
  const auto toMs = [&](auto ticks) { return static_cast<double>(ticks) * nsPerTick / 1e6; };
  StepTimes times;
  times.rank = step.rank;
  times.step = step.step;
  times.startTicks = step.startTicks;
  times.endTicks = step.endTicks;
  times.stepMs = toMs(step.duration());
  times.forwardMs = toMs(step.forward);
  times.backwardMs = toMs(step.backward);
  times.optimizerMs = toMs(step.optimizer);
  times.inFlightMs = toMs(step.inFlight);
  times.computingMs = toMs(step.computing);
  times.overlapMs = toMs(step.overlap);
  times.exposedMs = toMs(step.exposed());
  times.offCoreMs = toMs(step.offCore);
  times.coreWaitMs = toMs(step.coreWait);
  times.stolenMs = stolenShare * times.stepMs;
  times.overlapLeastMs = toMs(step.overlapLeast);
  times.overlapMostMs = toMs(step.overlapMost);
  times.overlapPercent = step.percentOfFlight(step.overlap);
  times.incomplete = step.incomplete;
  times.kept = step.kept;
  return times;
}

/// They come by step, but for a few.
StepPieces::Phases& StepPieces::phasesOf(std::uint32_t step) {
  const auto at =
      std::ranges::lower_bound(phases_, step, {}, &std::pair<std::uint32_t, Phases>::first);
  return at != phases_.end() && at->first == step ? at->second
                                                  : phases_.emplace(at, step, Phases())->second;
}

bool StepPieces::add(const SpanRow& span) {
  const Interval window{span.startTicks, span.startTicks + span.durationTicks};
  switch (span.kind) {
    case EventKind::kStep:
      steps_.push_back({window, span.step});
      break;
    case EventKind::kForward:
      phasesOf(span.step).forward += span.durationTicks;
      break;
    case EventKind::kBackward:
      phasesOf(span.step).backward += span.durationTicks;
      break;
    case EventKind::kOptimizer:
      phasesOf(span.step).optimizer += span.durationTicks;
      break;
    case EventKind::kGap:
      gaps_.push_back(window);
      gapSteps_.insert(span.step);
      break;
    default:
      return true;
  }
  return span.step >= next_ && span.startTicks >= before_;
}

bool StepPieces::add(const trace::StepSumsRow& sums) {
  sums_[sums.step] = sums;
  return sums.step >= next_;
}

std::vector<StepTicks> StepPieces::measure(const RankActivity& activity) const {
  std::vector<Step> steps = steps_;
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.window.begin < b.window.begin; });
  const Intervals gaps = unite(gaps_);
  std::vector<StepTicks> all;
  for (const auto& [window, number] : steps) {
    StepTicks& step = all.emplace_back();
    step.rank = activity.rank;
    step.step = number;
    step.startTicks = window.begin;
    step.endTicks = window.end;
    step.incomplete = !clip(gaps, window).empty() || gapSteps_.contains(number);
    if (const auto sums = sums_.find(number); sums != sums_.end()) {
      static_cast<trace::StepSums&>(step) = sums->second;
      step.coreWait = static_cast<double>(sums->second.coreWait);
      step.kept = sums->second.kept;
      continue;
    }
    const Intervals flying = clip(activity.inFlight, window);
    const Intervals busy = clip(activity.computing, window);
    const auto phases =
        std::ranges::lower_bound(phases_, number, {}, &std::pair<std::uint32_t, Phases>::first);
    if (phases != phases_.end() && phases->first == number) {
      step.forward = phases->second.forward;
      step.backward = phases->second.backward;
      step.optimizer = phases->second.optimizer;
    }
    step.inFlight = length(flying);
    step.computing = length(busy);
    step.overlap = length(intersect(flying, busy));
    step.offCore = length(clip(activity.offCore, window));
    const OverlapBounds bounds = overlapBounds(activity, window);
    step.overlapLeast = bounds.least;
    step.overlapMost = bounds.most;
    step.coreWait = coreWaitTicks(activity, window);
  }
  return all;
}

void StepPieces::forget(std::uint32_t next, std::uint64_t before) {
  next_ = next;
  before_ = std::max(before_, before);
  std::erase_if(steps_, [&](const Step& step) { return step.step < next_; });
  std::erase_if(gaps_, [&](const Interval& gap) { return gap.end <= before_; });
  gapSteps_.erase(gapSteps_.begin(), gapSteps_.lower_bound(next_));
  sums_.erase(sums_.begin(), sums_.lower_bound(next_));
  phases_.erase(phases_.begin(), std::ranges::lower_bound(
                                     phases_, next_, {}, &std::pair<std::uint32_t, Phases>::first));
}

std::optional<double> stolenPercent(const RunData& data) {
  std::optional<double> most;
  for (const auto& [rank, sum] : data.stolen) {
    most = std::max(most.value_or(0), sum.percent / sum.values);
  }
  return most;
}

}  // namespace lockstep::analysis
