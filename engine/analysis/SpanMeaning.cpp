#include "engine/analysis/SpanMeaning.h"

#include "engine/trace/Event.h"

namespace lockstep::analysis {

using trace::EventKind;
using trace::FaultKind;

namespace {

bool isOfWholeBucket(EventKind kind, std::uint16_t detail) {
  return kind == EventKind::kCopyIn && (detail & trace::kWholeBucket) != 0;
}

}  // namespace

bool namesCollective(EventKind kind) {
  return kind == EventKind::kCollective || kind == EventKind::kCollectiveQueued ||
         kind == EventKind::kChecked || kind == EventKind::kShaped;
}

bool isAsynchronous(EventKind kind) {
  return kind == EventKind::kHookCommunicate || kind == EventKind::kCollective ||
         kind == EventKind::kShaped || kind == EventKind::kOffCore ||
         kind == EventKind::kNcclKernel || kind == EventKind::kKernels;
}

std::optional<std::uint64_t> bytesOf(
    EventKind kind, std::uint16_t detail, std::uint64_t value,
    const std::vector<trace::ParametersMessage::Parameter>& parameters) {
  if (isOfWholeBucket(kind, detail)) {
    return value;
  }
  switch (kind) {
    case EventKind::kCollective:
    case EventKind::kCollectiveQueued:
    case EventKind::kChecked:
    case EventKind::kShaped:
    case EventKind::kNcclCall:
    // These share their value with a sequence number.
    case EventKind::kNcclKernel: return trace::collectiveBytes(value);
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched:
    case EventKind::kBucketOptimizer:
    case EventKind::kSyncBatchNorm:
    case EventKind::kZeroBroadcast:
    case EventKind::kScatter:
    case EventKind::kReplicate:
    case EventKind::kGather:
    case EventKind::kReduceGradients:
    case EventKind::kCopyOut:
    case EventKind::kFingerprint:
    case EventKind::kHookEncode:
    case EventKind::kHookDecode: return value;
    case EventKind::kGradientReady:
    case EventKind::kMarkedUnused:
    case EventKind::kGradientCheck:
    case EventKind::kCopyIn:
      if (value < parameters.size()) {
        return static_cast<std::uint64_t>(parameters[value].bytes);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> parameterOf(EventKind kind, std::uint16_t detail,
                                         std::uint64_t value) {
  switch (kind) {
    case EventKind::kGradientReady:
    case EventKind::kMarkedUnused:
    case EventKind::kGradientCheck: return value;
    case EventKind::kCopyIn:
      return isOfWholeBucket(kind, detail) ? std::nullopt : std::optional(value);
    case EventKind::kFault:
      switch (static_cast<FaultKind>(detail)) {
        // The lower 8 bits say which bit was flipped.
        case FaultKind::kFlipBit: return value >> 8;
        case FaultKind::kNan: return value;
        default: return std::nullopt;
      }
    default: return std::nullopt;
  }
}

}  // namespace lockstep::analysis
