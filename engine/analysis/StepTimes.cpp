#include "engine/analysis/StepTimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/analysis/Intervals.h"
#include "engine/trace/DeviceTimed.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// What one rank's lanes say, all lanes together.
struct SortedSpans {
  std::vector<SpanRow> steps;
  std::vector<Interval> inFlight;
  std::vector<Interval> work;
  std::vector<Interval> service;          // for the communication's sake
  std::vector<Interval> serviceOfDevice;  // of these, by the device's clock
  bool computesOnDevice = false;          // work is told by the device's clock
  std::vector<Interval> aside;            // work of another thread, whatever the step thread does
  std::vector<Interval> gaps;
  std::set<std::uint32_t> gapSteps;
  struct Phases {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    std::uint64_t optimizer = 0;
  };
  std::unordered_map<std::uint32_t, Phases> phases;  // ticks by step: micro-batches add up
};

bool isByDevice(const SpanRow& span) {
  switch (span.kind) {
    case EventKind::kForward:
    case EventKind::kBackward:
    case EventKind::kOptimizer:
    case EventKind::kWait:
    case EventKind::kCopyOut:
    case EventKind::kFinalize:
      return (span.detail & trace::kByDevice) != 0;
    default:
      return false;
  }
}

void sortIn(SortedSpans& rank, const SpanRow& span) {
  const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
  const Counted counted = countedAs(span);
  if (counted.inFlight) {
    rank.inFlight.push_back(interval);
  }
  const bool byDevice = isByDevice(span);
  if (counted.work) {
    rank.work.push_back(interval);
    rank.computesOnDevice = rank.computesOnDevice || byDevice;
  }
  if (counted.service) {
    (byDevice ? rank.serviceOfDevice : rank.service).push_back(interval);
  }
  if (counted.aside) {
    rank.aside.push_back(interval);
  }
  switch (span.kind) {
    case EventKind::kStep:
      rank.steps.push_back(span);
      break;
    case EventKind::kForward:
      rank.phases[span.step].forward += span.durationTicks;
      break;
    case EventKind::kBackward:
      rank.phases[span.step].backward += span.durationTicks;
      break;
    case EventKind::kOptimizer:
      rank.phases[span.step].optimizer += span.durationTicks;
      break;
    case EventKind::kGap:
      rank.gaps.push_back(interval);
      rank.gapSteps.insert(span.step);
      break;
    default:
      break;
  }
}

std::map<int, SortedSpans> spansByRank(const RunData& data) {
  std::unordered_map<std::int32_t, int> rankOf;
  for (const trace::TrackInfo& track : data.tracks) {
    rankOf[track.id] = track.rank;
  }
  std::map<int, SortedSpans> ranks;
  for (const SpanRow& span : data.spans) {
    if (const auto at = rankOf.find(span.track); at != rankOf.end()) {
      sortIn(ranks[at->second], span);
    }
  }
  return ranks;
}

RankActivity activityOf(int number, SortedSpans& rank) {
  // What the host does meanwhile does not keep a device from computing.
  auto& service = rank.computesOnDevice ? rank.serviceOfDevice : rank.service;
  Intervals own = subtract(unite(std::move(rank.work)), unite(std::move(service)));
  own.insert(own.end(), rank.aside.begin(), rank.aside.end());
  return {number, unite(std::move(rank.inFlight)), unite(std::move(own))};
}

}  // namespace

Counted countedAs(const SpanRow& span) {
  switch (span.kind) {
    case EventKind::kCollective:
    case EventKind::kChecked:  // its ranks are compared before its data moves
    case EventKind::kShaped:   // the rest of a collective, on the modelled link
      return {.inFlight = true};
    case EventKind::kScatter:
    case EventKind::kReplicate:
    case EventKind::kGather:
    case EventKind::kReduceGradients:
      return {.inFlight = true, .service = true};
    case EventKind::kBucketOptimizer:
      return {.aside = true};
    case EventKind::kForward:
    case EventKind::kBackward:
    case EventKind::kOptimizer:
      return {.work = true};
    case EventKind::kHookCommunicate:  // without a bucket it is around the step, which waits for it
      return {.service = span.bucket == trace::kNoBucket};
    case EventKind::kCopyIn:
    case EventKind::kGradientCheck:
    case EventKind::kCopyOut:
    case EventKind::kHookEncode:
    case EventKind::kHookDecode:
    case EventKind::kWait:
    case EventKind::kFinalize:
    case EventKind::kBroadcastBuffers:
    case EventKind::kRebuildBuckets:
    case EventKind::kSearchUnused:
    case EventKind::kUsedMap:
    case EventKind::kSyncBatchNorm:
    case EventKind::kZeroBroadcast:
      return {.service = true};
    default:
      return {};
  }
}

std::vector<RankActivity> rankActivity(const RunData& data) {
  std::vector<RankActivity> all;
  for (auto& [number, rank] : spansByRank(data)) {
    all.push_back(activityOf(number, rank));
  }
  return all;
}

std::vector<StepTimes> stepTimes(const RunData& data) {
  std::map<int, SortedSpans> ranks = spansByRank(data);
  const auto toMs = [&](std::uint64_t ticks) { return data.clock.durationNs(ticks) / 1e6; };
  std::vector<StepTimes> all;
  for (auto& [number, rank] : ranks) {
    const RankActivity activity = activityOf(number, rank);
    const Intervals gaps = unite(std::move(rank.gaps));
    std::sort(rank.steps.begin(), rank.steps.end(),
              [](const SpanRow& a, const SpanRow& b) { return a.startTicks < b.startTicks; });
    for (const SpanRow& span : rank.steps) {
      const Interval window{span.startTicks, span.startTicks + span.durationTicks};
      const Intervals flying = clip(activity.inFlight, window);
      const Intervals busy = clip(activity.computing, window);
      const std::uint64_t flyingTicks = length(flying);
      const std::uint64_t overlapTicks = length(intersect(flying, busy));
      const SortedSpans::Phases phases = rank.phases[span.step];
      StepTimes& step = all.emplace_back();
      step.rank = number;
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
      if (flyingTicks != 0) {
        step.overlapPercent =
            100.0 * static_cast<double>(overlapTicks) / static_cast<double>(flyingTicks);
      }
      step.incomplete = !clip(gaps, window).empty() || rank.gapSteps.contains(span.step);
    }
  }
  return all;
}

}  // namespace lockstep::analysis
