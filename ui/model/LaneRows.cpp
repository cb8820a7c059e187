#include "ui/model/LaneRows.h"

#include <algorithm>

#include "engine/trace/Event.h"
#include "ui/model/Span.h"

// Where in the timeline spans of a kind stand.
namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr std::size_t kDeviceRows = 15;
constexpr std::size_t kNestedOperators = 12;  // that a device's own spans leave room for

}  // namespace

std::size_t firstRowOf(const trace::SpanRow& span) {
  // What contains another stands above it: an iteration (0), its phases (1), what lies within those
  // (2); the end of a backward (2), its waits and copies (3).
  switch (span.kind) {
    case EventKind::kWait:
    case EventKind::kCopyOut: return 3;
    case EventKind::kBroadcastBuffers:
    case EventKind::kRebuildBuckets:
    case EventKind::kSearchUnused:
    case EventKind::kSyncBatchNorm:
    case EventKind::kZeroBroadcast:
    case EventKind::kScatter:
    case EventKind::kReplicate:
    case EventKind::kGather:
    case EventKind::kReduceGradients:
    case EventKind::kCopyIn:
    case EventKind::kGradientCheck:
    case EventKind::kFinalize: return 2;
    // Below: what a copy-out waits for, what other threads do, what was done on purpose, and the
    // links that collectives travel on.
    case EventKind::kUsedMap:
    case EventKind::kFault:
    case EventKind::kOffCore:
    case EventKind::kChecked: return kOwnRow;
    case EventKind::kMarkedUnused:  // lest they vanish among the marks of ready gradients
    case EventKind::kShaped:
    case EventKind::kNcclKernel: return kOwnRow + 1;
    case EventKind::kNcclCall: return kOwnRow + 2;
    case EventKind::kOperator: return kOwnRow;
    case EventKind::kDeviceKernel:
    case EventKind::kDeviceCopy: return kOwnRow + kNestedOperators;
    case EventKind::kBucketOptimizer: return kOwnRow;
    case EventKind::kParallelApply:
      return kOwnRow + 1 + std::min<std::size_t>(span.detail, kDeviceRows);
    case EventKind::kStep:
    case EventKind::kGradientReady:
    case EventKind::kHookEncode:
    case EventKind::kHookCommunicate:
    case EventKind::kHookDecode:
    case EventKind::kCollectiveQueued: return 0;
    default: return 1;
  }
}

LaneRole laneRoleOf(EventKind kind) {
  switch (kind) {
    case EventKind::kGradientReady:
    case EventKind::kCopyIn:
    case EventKind::kGradientCheck:
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched:
    case EventKind::kWait:
    case EventKind::kCopyOut:
    case EventKind::kMarkedUnused:
    case EventKind::kUsedMap:
    case EventKind::kBucketOptimizer:
    case EventKind::kFinalize: return LaneRole::kGradients;
    case EventKind::kHookEncode:
    case EventKind::kHookCommunicate:
    case EventKind::kHookDecode: return LaneRole::kHook;
    case EventKind::kCollectiveQueued:
    case EventKind::kCollective:
    case EventKind::kChecked:
    case EventKind::kShaped:
    case EventKind::kNcclCall:
    case EventKind::kNcclKernel: return LaneRole::kCommunication;
    default: return LaneRole::kPhases;
  }
}

}  // namespace lockstep::ui
