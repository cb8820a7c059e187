#include "engine/analysis/RunData.h"

#include <utility>

#include "engine/trace/Event.h"
#include "engine/trace/WholeRun.h"

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

void RunData::takeTables(const trace::RunUpdate& update) {
  const auto append = [](const auto& from, auto& to) {
    for (const auto& row : from) {
      to.push_back(row);
    }
  };
  const auto replace = [](const auto& fresh, auto& table) {
    if (fresh) {
      table = *fresh;
    }
  };
  doubt.take(update);
  replace(update.tracks, tracks);
  replace(update.layouts, layouts);
  replace(update.parameters, parameters);
  replace(update.clock, clock);
  append(update.fingerprints, fingerprints);
  append(update.sketches, sketches);
  append(update.gradients, gradients);
  for (const trace::MetricRow& metric : update.metrics) {
    if (metric.name == "loss") {
      losses.push_back(metric);
    } else if (metric.name == name(trace::CounterId::kStolenPercent)) {
      stolen.push_back(metric);
    }
  }
}

void RunData::take(const trace::RunUpdate& update) {
  takeTables(update);
  for (const trace::SpanRow& span : update.spans) {
    if (isAnalysed(span)) {
      spans.push_back(span);
    }
  }
}

RankOfTrack RunData::rankOfTrack() const {
  RankOfTrack rankOf;
  for (const trace::TrackInfo& track : tracks) {
    rankOf[track.id] = track.rank;
  }
  return rankOf;
}

base::Result<RunData> readRunData(const std::filesystem::path& path) {
  RunData data;
  const base::Status read =
      trace::readWholeRun(path, [&data](const trace::RunUpdate& update) { data.take(update); });
  return read.ok() ? base::Result<RunData>(std::move(data)) : read.error();
}

}  // namespace lockstep::analysis
