#include "engine/export/SpanMeaning.h"

namespace lockstep::exports {

using trace::EventKind;
using trace::FaultKind;
using trace::Operation;
using trace::SpanRow;

std::string_view collectiveName(Operation operation) {
  switch (operation) {
    case Operation::kAllgather:
      return "all_gather";
    case Operation::kAlltoall:
      return "all_to_all";
    default:
      return trace::name(operation);
  }
}

bool namesCollective(EventKind kind) {
  return kind == EventKind::kCollective || kind == EventKind::kCollectiveQueued ||
         kind == EventKind::kChecked || kind == EventKind::kShaped;
}

std::optional<std::uint64_t> parameterOf(const SpanRow& span) {
  switch (span.kind) {
    case EventKind::kGradientReady:
    case EventKind::kMarkedUnused:
    case EventKind::kGradientCheck:
    case EventKind::kCopyIn:
      return span.value;
    case EventKind::kFault:
      switch (static_cast<FaultKind>(span.detail)) {
        case FaultKind::kFlipBit:
          return span.value >> 8;
        case FaultKind::kNan:
          return span.value;
        default:
          return std::nullopt;
      }
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> bytesOf(const SpanRow& span,
                                     const std::vector<Parameter>& parameters) {
  switch (span.kind) {
    case EventKind::kCollective:
    case EventKind::kCollectiveQueued:
    case EventKind::kChecked:
    case EventKind::kShaped:
      return trace::collectiveBytes(span.value);
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
    case EventKind::kHookDecode:
      return span.value;
    case EventKind::kGradientReady:
    case EventKind::kMarkedUnused:
    case EventKind::kGradientCheck:
    case EventKind::kCopyIn:
      if (span.value < parameters.size()) {
        return static_cast<std::uint64_t>(parameters[span.value].bytes);
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace lockstep::exports
