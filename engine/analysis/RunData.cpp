#include "engine/analysis/RunData.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::analysis {

using trace::EventKind;

bool isAnalysed(const trace::SpanRow& span) {
  switch (span.kind) {
    case EventKind::kStep:
    case EventKind::kForward:
    case EventKind::kBackward:
    case EventKind::kOptimizer:
    case EventKind::kBroadcastBuffers:
    case EventKind::kRebuildBuckets:
    case EventKind::kSearchUnused:
    case EventKind::kUsedMap:
    case EventKind::kSyncBatchNorm:
    case EventKind::kZeroBroadcast:
    case EventKind::kScatter:
    case EventKind::kReplicate:
    case EventKind::kGather:
    case EventKind::kReduceGradients:
    case EventKind::kBucketOptimizer:
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched:
    case EventKind::kCopyIn:
    case EventKind::kWait:
    case EventKind::kCopyOut:
    case EventKind::kFinalize:
    case EventKind::kHookEncode:
    case EventKind::kHookCommunicate:
    case EventKind::kHookDecode:
    case EventKind::kCollective:
    case EventKind::kChecked:
    case EventKind::kShaped:
    case EventKind::kGap:
      return true;
    default:
      return false;
  }
}

base::Result<RunData> readRunData(trace::RunFileReader& reader) {
  constexpr std::size_t kSpansAtOnce = 200'000;
  RunData data;
  while (true) {
    auto polled = reader.poll(kSpansAtOnce);
    if (!polled.ok()) {
      return polled.error();
    }
    trace::RunUpdate& update = polled.value();
    data.tracks = update.tracks.has_value() ? std::move(*update.tracks) : std::move(data.tracks);
    data.layouts =
        update.layouts.has_value() ? std::move(*update.layouts) : std::move(data.layouts);
    data.clock = update.clock.value_or(data.clock);
    std::copy_if(update.spans.begin(), update.spans.end(), std::back_inserter(data.spans),
                 isAnalysed);
    if (update.spans.size() < kSpansAtOnce) {
      return data;
    }
  }
}

}  // namespace lockstep::analysis
