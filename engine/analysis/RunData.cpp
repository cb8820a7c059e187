#include "engine/analysis/RunData.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/trace/Event.h"

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
    case EventKind::kGradientCheck:
    case EventKind::kFingerprint:
    case EventKind::kOffCore:
    case EventKind::kGradientReady:
    case EventKind::kWait:
    case EventKind::kCopyOut:
    case EventKind::kFinalize:
    case EventKind::kHookEncode:
    case EventKind::kHookCommunicate:
    case EventKind::kHookDecode:
    case EventKind::kCollective:
    case EventKind::kCollectiveQueued:
    case EventKind::kChecked:
    case EventKind::kShaped:
    case EventKind::kKernels:
    case EventKind::kFault:
    case EventKind::kGap:
      return true;
    default:
      return false;
  }
}

void takeSamples(trace::RunUpdate& update, RunData& data) {
  const auto append = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  if (update.parameters.has_value()) {
    data.parameters = *update.parameters;
  }
  append(update.fingerprints, data.fingerprints);
  append(update.sketches, data.sketches);
  append(update.gradients, data.gradients);
  for (const trace::MetricRow& metric : update.metrics) {
    if (metric.name == "loss") {
      data.losses.push_back(metric);
    } else if (metric.name == name(trace::CounterId::kStolenPercent)) {
      data.stolen.push_back(metric);
    }
  }
}

base::Result<RunData> readRunData(trace::RunFileReader& reader, std::size_t spansAtOnce) {
  RunData data;
  while (true) {
    auto polled = reader.poll(spansAtOnce);
    if (!polled.ok()) {
      return polled.error();
    }
    trace::RunUpdate& update = polled.value();
    data.doubt.take(update);
    if (update.tracks) {
      data.tracks = std::move(*update.tracks);
    }
    if (update.layouts) {
      data.layouts = std::move(*update.layouts);
    }
    data.clock = update.clock.value_or(data.clock);
    takeSamples(update, data);
    std::copy_if(update.spans.begin(), update.spans.end(), std::back_inserter(data.spans),
                 isAnalysed);
    if (update.spans.size() < spansAtOnce) {
      return data;
    }
  }
}

}  // namespace lockstep::analysis
