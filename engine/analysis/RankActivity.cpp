#include "engine/analysis/RankActivity.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// What one rank's lanes say, all lanes together.
struct ActivityPieces {
  std::vector<Interval> inFlight;
  std::vector<Interval> work;
  std::vector<Interval> backward;         // of work, by the host's clock
  std::vector<std::uint64_t> gradients;   // when each was ready
  std::vector<Interval> service;          // for the communication's sake
  std::vector<Interval> serviceOfDevice;  // of these, by the device's clock
  bool computesOnDevice = false;          // the device's clock says when it worked
  std::vector<Interval> kernels;          // that compute, where each is recorded
  std::vector<Interval> aside;            // work of another thread, whatever the step thread does
  std::vector<CoreWait> coreWaits;
};

// The bit kByDevice means something else in the detail of other kinds.
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

void sortIn(ActivityPieces& rank, const SpanRow& span, double nsPerTick) {
  const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
  const Counted counted = countedAs(span);
  if (counted.inFlight) {
    rank.inFlight.push_back(interval);
  }
  const bool byDevice = isByDevice(span);
  if (counted.work) {
    // A backward by the host's clock is cut at its last gradient (addBackwards). The host's
    // gradients say nothing of when a device is done, so that a device's backward counts to its
    // end.
    (span.kind == EventKind::kBackward && !byDevice ? rank.backward : rank.work)
        .push_back(interval);
    rank.computesOnDevice = rank.computesOnDevice || byDevice;
  }
  if (counted.service) {
    (byDevice ? rank.serviceOfDevice : rank.service).push_back(interval);
  }
  if (counted.aside) {
    rank.aside.push_back(interval);
  }
  if (span.kind == EventKind::kKernels) {
    rank.kernels.push_back(interval);
  }
  if (span.kind == EventKind::kGradientReady) {
    rank.gradients.push_back(span.startTicks);
  } else if (span.kind == EventKind::kOffCore && span.durationTicks > 0) {
    // The kernel counts in ns. Its count and the recorder's clock may differ by a little, and a
    // wait is not longer than its span.
    const auto ticks = static_cast<std::uint64_t>(static_cast<double>(span.value) / nsPerTick);
    rank.coreWaits.push_back({interval, std::min(ticks, span.durationTicks)});
  }
}

/// Ends each backward with its last gradient.
void addBackwards(ActivityPieces& rank) {
  std::sort(rank.gradients.begin(), rank.gradients.end());
  for (Interval backward : rank.backward) {
    const auto after = std::upper_bound(rank.gradients.begin(), rank.gradients.end(), backward.end);
    // The last gradient up to the end of this backward, if it is of this one: else it made none.
    if (after != rank.gradients.begin() && *(after - 1) >= backward.begin) {
      backward.end = *(after - 1);
    }
    rank.work.push_back(backward);
  }
}

// A wait of 2 in a span of 10 becomes ticks 4 to 6 of it. Where the wait really was, is not known:
// overlapBounds() says what that may change.
Intervals inTheMiddle(const std::vector<CoreWait>& waits) {
  std::vector<Interval> pieces;
  pieces.reserve(waits.size());
  for (const CoreWait& wait : waits) {
    const std::uint64_t begin =
        wait.window.begin + (wait.window.end - wait.window.begin - wait.ticks) / 2;
    pieces.push_back({begin, begin + wait.ticks});
  }
  return unite(std::move(pieces));
}

RankActivity activityOf(int number, ActivityPieces& rank) {
  addBackwards(rank);
  RankActivity activity;
  activity.rank = number;
  activity.inFlight = unite(std::move(rank.inFlight));
  // The kernels say all: neither phases nor services nor waits of the host change when a device
  // computes.
  if (!rank.kernels.empty()) {
    activity.computing = unite(std::move(rank.kernels));
    return activity;
  }
  // What the host does meanwhile does not keep a device from computing.
  auto& service = rank.computesOnDevice ? rank.serviceOfDevice : rank.service;
  Intervals own = subtract(unite(std::move(rank.work)), unite(std::move(service)));
  if (!rank.computesOnDevice && !rank.coreWaits.empty()) {
    activity.coreWaits = std::move(rank.coreWaits);
    std::sort(activity.coreWaits.begin(), activity.coreWaits.end(),
              [](const CoreWait& a, const CoreWait& b) { return a.window.begin < b.window.begin; });
    activity.offCore = intersect(own, inTheMiddle(activity.coreWaits));
    own = subtract(own, activity.offCore);
  }
  if (!rank.aside.empty()) {
    own.insert(own.end(), rank.aside.begin(), rank.aside.end());
    own = unite(std::move(own));
    // Another thread computed meanwhile, so that the rank was not idle for want of a core.
    activity.offCore = subtract(activity.offCore, own);
  }
  activity.computing = std::move(own);
  return activity;
}

std::vector<CoreWait>::const_iterator firstWaitIn(const RankActivity& activity,
                                                  const Interval& window) {
  return std::partition_point(
      activity.coreWaits.begin(), activity.coreWaits.end(),
      [&](const CoreWait& wait) { return wait.window.end <= window.begin; });
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
    // Not `work`: it runs in the middle of a wait of finalize, which is service and would be taken
    // from it.
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
  const auto rankOf = data.rankOfTrack();
  std::map<int, ActivityPieces> ranks;
  for (const SpanRow& span : data.spans) {
    if (const auto at = rankOf.find(span.track); at != rankOf.end()) {
      sortIn(ranks[at->second], span, data.clock.nsPerTick);
    }
  }
  std::vector<RankActivity> all;
  for (auto& [number, rank] : ranks) {
    all.push_back(activityOf(number, rank));
  }
  return all;
}

double coreWaitTicks(const RankActivity& activity, const Interval& window) {
  double ticks = 0;
  for (auto wait = firstWaitIn(activity, window);
       wait != activity.coreWaits.end() && wait->window.begin < window.end; ++wait) {
    const std::uint64_t begin = std::max(wait->window.begin, window.begin);
    const std::uint64_t end = std::min(wait->window.end, window.end);
    ticks += static_cast<double>(wait->ticks) * static_cast<double>(end - begin) /
             static_cast<double>(wait->window.end - wait->window.begin);
  }
  return ticks;
}

// Begins with the overlap as if no core had ever been missing, and takes from it what each wait
// must or can have cost. Of a wait's window, `hit` ticks are work in flight and `beside` ticks are
// not. With a wait of 3 ticks, a hit of 4 and 2 beside: at least 1 tick of the wait lay in the hit
// (`most` falls by 3 - 2), at most all 3 did (`least` falls by 3).
OverlapBounds overlapBounds(const RankActivity& activity, const Interval& window) {
  const Intervals flying = clip(activity.inFlight, window);
  const std::uint64_t computing = length(intersect(flying, clip(activity.computing, window)));
  const Intervals offCore = intersect(flying, clip(activity.offCore, window));
  OverlapBounds bounds{computing + length(offCore), computing + length(offCore)};
  const auto first =
      std::partition_point(activity.coreWaits.begin(), activity.coreWaits.end(),
                           [&](const CoreWait& wait) { return wait.window.end <= window.begin; });
  for (auto wait = first; wait != activity.coreWaits.end() && wait->window.begin < window.end;
       ++wait) {
    // Of the window, what is work and in flight: the wait may lie in it or beside it.
    const std::uint64_t hit =
        length(intersect(clip(flying, wait->window), clip(activity.computing, wait->window))) +
        length(clip(offCore, wait->window));
    const std::uint64_t beside = wait->window.end - wait->window.begin - hit;
    bounds.least -= std::min({wait->ticks, hit, bounds.least});
    bounds.most -= wait->ticks > beside ? std::min(wait->ticks - beside, bounds.most) : 0;
  }
  return bounds;
}

}  // namespace lockstep::analysis
