#include "ui/views/live/LiveBuckets.h"

#include <algorithm>

#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

/// Calls `visit` with the latest spans of a lane, as far back as they belong to `step` or to the
/// one before it: a delayed hook's spans lie among those of the next step.
template <typename Visit>
void eachLatest(const RunModel& model, int laneNumber, std::uint32_t step, const Visit& visit) {
  const Lane* lane = model.lane(laneNumber);
  for (int row = 0; lane != nullptr && row < static_cast<int>(lane->rows.size()); ++row) {
    for (std::size_t i = lane->rows[static_cast<std::size_t>(row)].size(); i-- > 0;) {
      const Span span = model.spanAt(laneNumber, row, i);
      if (span.step + 1 < step) {
        break;
      }
      if (span.step == step) {
        visit(span);
      }
    }
  }
}

// A rank whose first iteration goes on has ended none, but its gradients tell which one it is in.
std::optional<std::uint32_t> latestStep(const RunModel& model, int rank) {
  std::optional<std::uint32_t> latest;
  if (const auto step = model.lastStep(rank)) {
    latest = step->step;
  }
  const int gradients = laneId(rank, LaneRole::kGradients);
  const Lane* lane = model.lane(gradients);
  for (int row = 0; lane != nullptr && row < static_cast<int>(lane->rows.size()); ++row) {
    if (const std::size_t size = lane->rows[static_cast<std::size_t>(row)].size(); size > 0) {
      latest = std::max(latest.value_or(0), model.spanAt(gradients, row, size - 1).step);
    }
  }
  return latest;
}

}  // namespace

// Note [Buckets while they fill]
//
// Nothing says how far a bucket is; it is found from the spans of the iteration alone, newest
// first:
//
//    gradient ready, marked unused     one parameter more
//    bucket ready                      all of them, even where marks of gradients were dropped
//    bucket launched                   in flight
//    a hook's communication, copy out  over: spans come when they end
//    the end of the iteration          over, too, for what was launched
//
// A capture that records little has only some of these, so each counts by itself.
LiveRank bucketsNow(const RunModel& model, int rank) {
  LiveRank now;
  now.rank = rank;
  now.step = latestStep(model, rank);
  if (!now.step) {
    return now;
  }
  // Of the layout in force then: a rebuild makes other buckets from the next iteration on.
  now.stepEnded = model.step(rank, *now.step).has_value();
  const trace::BucketsMessage* layout = model.layoutAt(*now.step);
  if (layout == nullptr) {
    return now;
  }
  for (const auto& bucket : layout->buckets) {
    LiveBucket& of = now.buckets.emplace_back();
    of.bytes = bucket.bytes;
    of.parameters = static_cast<std::uint32_t>(bucket.parameters.size());
  }
  double firstNs = 0;
  bool any = false;
  const auto note = [&](const Span& span) {
    if (span.bucket >= now.buckets.size()) {
      return;
    }
    LiveBucket& bucket = now.buckets[span.bucket];
    switch (span.kind) {
      case EventKind::kGradientReady:
      case EventKind::kMarkedUnused:
        // Never more than there are parameters, whatever came.
        bucket.ready = std::min(bucket.parameters, bucket.ready + 1);
        bucket.readyNs = std::max(bucket.readyNs, span.startNs);
        firstNs = any ? std::min(firstNs, span.startNs) : span.startNs;
        any = true;
        break;
      case EventKind::kBucketReady:
        bucket.ready = bucket.parameters;
        break;
      case EventKind::kBucketLaunched:
        bucket.launched = true;
        break;
      // Spans are known when they end.
      case EventKind::kHookCommunicate:
      case EventKind::kCopyOut:
        bucket.reduced = true;
        break;
      default:
        break;
    }
  };
  for (const LaneRole role : {LaneRole::kGradients, LaneRole::kHook, LaneRole::kPhases}) {
    eachLatest(model, laneId(rank, role), *now.step, note);
  }
  for (LiveBucket& bucket : now.buckets) {
    // From the first gradient of all buckets: how far into the backward this one was filled.
    bucket.readyNs = bucket.readyNs > 0 ? bucket.readyNs - firstNs : 0;
    bucket.reduced = bucket.reduced || (now.stepEnded && bucket.launched);
  }
  return now;
}

}  // namespace lockstep::ui
