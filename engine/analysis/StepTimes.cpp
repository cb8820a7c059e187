#include "engine/analysis/StepTimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// What one rank's step thread says, and where its lanes lost events.
struct StepSpans {
  std::vector<SpanRow> steps;
  std::vector<Interval> gaps;
  std::set<std::uint32_t> gapSteps;
  struct Phases {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    std::uint64_t optimizer = 0;
  };
  std::unordered_map<std::uint32_t, Phases> phases;  // ticks by step: micro-batches add up

  void take(const SpanRow& span) {
    switch (span.kind) {
      case EventKind::kStep:
        steps.push_back(span);
        break;
      case EventKind::kForward:
        phases[span.step].forward += span.durationTicks;
        break;
      case EventKind::kBackward:
        phases[span.step].backward += span.durationTicks;
        break;
      case EventKind::kOptimizer:
        phases[span.step].optimizer += span.durationTicks;
        break;
      case EventKind::kGap:
        gaps.push_back({span.startTicks, span.startTicks + span.durationTicks});
        gapSteps.insert(span.step);
        break;
      default:
        break;
    }
  }
};

std::map<int, StepSpans> stepSpansByRank(const RunData& data) {
  const auto rankOf = data.rankOfTrack();
  std::map<int, StepSpans> ranks;
  for (const SpanRow& span : data.spans) {
    if (const auto at = rankOf.find(span.track); at != rankOf.end()) {
      ranks[at->second].take(span);
    }
  }
  return ranks;
}

}  // namespace

std::vector<StepTimes> stepTimes(const RunData& data) {
  std::map<int, StepSpans> ranks = stepSpansByRank(data);
  const auto toMs = [&](std::uint64_t ticks) { return data.clock.durationNs(ticks) / 1e6; };
  const double stolenShare = stolenPercent(data).value_or(0) / 100;
  std::vector<StepTimes> all;
  for (const RankActivity& activity : rankActivity(data)) {
    StepSpans& rank = ranks[activity.rank];
    const Intervals gaps = unite(std::move(rank.gaps));
    std::sort(rank.steps.begin(), rank.steps.end(),
              [](const SpanRow& a, const SpanRow& b) { return a.startTicks < b.startTicks; });
    for (const SpanRow& span : rank.steps) {
      const Interval window{span.startTicks, span.startTicks + span.durationTicks};
      const Intervals flying = clip(activity.inFlight, window);
      const Intervals busy = clip(activity.computing, window);
      const std::uint64_t flyingTicks = length(flying);
      const std::uint64_t overlapTicks = length(intersect(flying, busy));
      const StepSpans::Phases phases = rank.phases[span.step];
      StepTimes& step = all.emplace_back();
      step.rank = activity.rank;
      step.step = span.step;
      step.startTicks = window.begin;
      step.endTicks = window.end;
      step.stepMs = toMs(span.durationTicks);
      step.forwardMs = toMs(phases.forward);
      step.backwardMs = toMs(phases.backward);
      step.optimizerMs = toMs(phases.optimizer);
      step.inFlightMs = toMs(flyingTicks);
      step.computingMs = toMs(length(busy));
      step.overlapMs = toMs(overlapTicks);
      step.exposedMs = toMs(flyingTicks - overlapTicks);
      step.offCoreMs = toMs(length(clip(activity.offCore, window)));
      step.coreWaitMs = coreWaitTicks(activity, window) * data.clock.nsPerTick / 1e6;
      // /proc/stat says how much a core lost a second, never when: each step gets the run's mean.
      step.stolenMs = stolenShare * step.stepMs;
      const OverlapBounds bounds = overlapBounds(activity, window);
      step.overlapLeastMs = toMs(bounds.least);
      step.overlapMostMs = toMs(bounds.most);
      if (flyingTicks != 0) {
        step.overlapPercent =
            100.0 * static_cast<double>(overlapTicks) / static_cast<double>(flyingTicks);
      }
      // A gap lasts from the first event that was lost to the next that was written, and has the
      // step of the latter: its window finds the steps before that.
      step.incomplete = !clip(gaps, window).empty() || rank.gapSteps.contains(span.step);
    }
  }
  return all;
}

std::optional<double> stolenPercent(const RunData& data) {
  std::map<int, std::pair<double, double>> ranks;  // the sum of its rows, and their number
  for (const trace::MetricRow& row : data.stolen) {
    ranks[row.rank].first += row.value;
    ranks[row.rank].second += 1;
  }
  std::optional<double> most;
  for (const auto& [rank, sum] : ranks) {
    most = std::max(most.value_or(0), sum.first / sum.second);
  }
  return most;
}

}  // namespace lockstep::analysis
