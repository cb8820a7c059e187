#include "ui/views/timeline/SpanStyle.h"

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {

using trace::EventKind;

Tone toneOf(const Span& span) {
  switch (span.kind) {
    case EventKind::kStartup: return Tone::kStartup;
    case EventKind::kStep: return Tone::kStep;
    case EventKind::kData: return Tone::kData;
    case EventKind::kForward: return Tone::kForward;
    case EventKind::kKernels:
    case EventKind::kBackward: return Tone::kBackward;
    case EventKind::kOptimizer:
    case EventKind::kBucketOptimizer: return Tone::kOptimizer;
    case EventKind::kEvaluate:
    case EventKind::kCheckpoint:
    case EventKind::kUserPhase: return Tone::kEvaluate;
    case EventKind::kOperator:
    case EventKind::kDeviceKernel: return Tone::kForward;
    case EventKind::kDeviceCopy: return Tone::kCopy;
    case EventKind::kBroadcastBuffers:
    case EventKind::kRebuildBuckets:
    case EventKind::kSearchUnused:
    case EventKind::kMarkedUnused: return Tone::kRebuild;
    case EventKind::kParallelApply:
      return span.value == 0 ? Tone::kForward : Tone::kBackward;
    case EventKind::kJoinShadow: return Tone::kShadow;
    case EventKind::kFingerprint:
    case EventKind::kGradientCheck:
    case EventKind::kChecked: return Tone::kCheck;
    case EventKind::kFault:
    case EventKind::kOffCore: return Tone::kFault;
    case EventKind::kGradientReady:
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched: return Tone::kGradient;
    case EventKind::kCopyIn:
    case EventKind::kCopyOut: return Tone::kCopy;
    case EventKind::kUsedMap:
    case EventKind::kWait: return Tone::kWait;
    case EventKind::kFinalize: return Tone::kFinalize;
    case EventKind::kHookEncode: return Tone::kEncode;
    case EventKind::kHookCommunicate: return Tone::kCommunicate;
    case EventKind::kHookDecode: return Tone::kDecode;
    case EventKind::kSyncBatchNorm:
    case EventKind::kZeroBroadcast:
    case EventKind::kScatter:
    case EventKind::kReplicate:
    case EventKind::kGather:
    case EventKind::kReduceGradients:
    case EventKind::kCollectiveQueued:
    case EventKind::kNcclCall:
    case EventKind::kNcclKernel:
    case EventKind::kCollective: return Tone::kTransfer;
    case EventKind::kShaped: return Tone::kLink;
    default: return Tone::kNeutral;
  }
}

QColor colourOf(const Span& span, ColourBy by, const Palette& palette) {
  const Tone tone = toneOf(span);
  switch (by) {
    case ColourBy::kPhase: return palette.tone(tone);
    case ColourBy::kBucket:
      return span.hasBucket() ? palette.bucket(span.bucket) : palette.tone(Tone::kNeutral);
    case ColourBy::kHook:
      return span.role() == LaneRole::kHook ? palette.tone(tone) : palette.tone(Tone::kNeutral);
    case ColourBy::kWait:
      return tone == Tone::kWait || tone == Tone::kTransfer || tone == Tone::kLink ||
                     tone == Tone::kCheck || tone == Tone::kFault
                 ? palette.tone(tone)
                 : palette.tone(Tone::kNeutral);
  }
  return palette.tone(Tone::kNeutral);
}

QColor colourOf(const Meeting& meeting, ColourBy by, const Palette& palette) {
  const bool byBucket = meeting.bucket != trace::kNoBucket && by != ColourBy::kWait;
  return byBucket ? palette.bucket(meeting.bucket) : palette.tone(Tone::kTransfer);
}

bool isTorn(const RunModel& model, const Meeting& meeting) {
  return meeting.count < model.membersOf(trace::groupOf(meeting.detail)).size();
}

QStringList labelsOf(const RunModel& model, const Span& span) {
  // A bucket is what most spans are told apart by: it is the last that is left out.
  const auto withBucket = [&span](const QString& name) {
    if (!span.hasBucket()) {
      return QStringList{name};
    }
    const QString bucket = QStringLiteral("b%1").arg(span.bucket);
    return QStringList{name + QLatin1Char(' ') + bucket, bucket};
  };
  switch (span.kind) {
    case EventKind::kStep:
      return {QStringLiteral("iteration %1").arg(span.step), QString::number(span.step)};
    case EventKind::kForward: return {QStringLiteral("forward"), QStringLiteral("fwd")};
    case EventKind::kBackward: return {QStringLiteral("backward"), QStringLiteral("bwd")};
    case EventKind::kOptimizer: return {QStringLiteral("optimizer"), QStringLiteral("opt")};
    case EventKind::kFinalize: return {QStringLiteral("finalize"), QStringLiteral("fin")};
    case EventKind::kCollective: return withBucket(operationName(span));
    case EventKind::kChecked: return withBucket(QStringLiteral("check"));
    case EventKind::kFingerprint: return {QStringLiteral("fingerprint"), QStringLiteral("fp")};
    case EventKind::kOffCore: {
      const QString waited =
          QStringLiteral("no core ") + formatDuration(static_cast<double>(span.value));
      return {waited + QStringLiteral(" of ") + formatDuration(span.durationNs), waited,
              QStringLiteral("no core")};
    }
    case EventKind::kKernels: return {titleOf(model, span), QStringLiteral("kernels")};
    case EventKind::kGradientCheck: return withBucket(QStringLiteral("check"));
    case EventKind::kShaped: return withBucket(QStringLiteral("link"));
    case EventKind::kNcclKernel: return withBucket(operationName(span));
    case EventKind::kBucketOptimizer: return withBucket(QStringLiteral("optimizer"));
    case EventKind::kJoinShadow:
      return {titleOf(model, span), QStringLiteral("out of inputs"), QStringLiteral("join")};
    case EventKind::kSearchUnused:
      return {titleOf(model, span), QStringLiteral("search unused"), QStringLiteral("unused")};
    case EventKind::kSyncBatchNorm:
      return {titleOf(model, span), QStringLiteral("batch norm"), QStringLiteral("bn")};
    case EventKind::kZeroBroadcast:
      return {titleOf(model, span), QStringLiteral("parameters"), QStringLiteral("zero")};
    case EventKind::kUsedMap: return {QStringLiteral("map of used"), QStringLiteral("used")};
    case EventKind::kScatter: return {QStringLiteral("scatter")};
    case EventKind::kReplicate: return {titleOf(model, span), QStringLiteral("replicate")};
    case EventKind::kGather: return {QStringLiteral("gather")};
    case EventKind::kReduceGradients:
      return {titleOf(model, span), QStringLiteral("reduce"), QStringLiteral("sum")};
    case EventKind::kParallelApply:
      return {titleOf(model, span), QStringLiteral("device %1").arg(span.detail),
              QStringLiteral("d%1").arg(span.detail)};
    case EventKind::kFault:
      return {titleOf(model, span).remove(QStringLiteral("fault: ")), faultName(span)};
    case EventKind::kHookEncode: return withBucket(QStringLiteral("encode"));
    case EventKind::kHookCommunicate: return withBucket(QStringLiteral("communicate"));
    case EventKind::kHookDecode: return withBucket(QStringLiteral("decode"));
    case EventKind::kWait: return withBucket(QStringLiteral("wait"));
    case EventKind::kCopyOut: return withBucket(QStringLiteral("copy out"));
    case EventKind::kCopyIn:
      if (span.value < model.parameters().size()) {
        return {QString::fromStdString(model.parameters()[span.value].name)};
      }
      return withBucket(QStringLiteral("copy in"));
    default: return {titleOf(model, span)};
  }
}

bool isInstant(const Span& span) {
  return run::has(span.kind, run::kInstant) ||
         (span.kind == EventKind::kFault && span.durationNs == 0);
}

}  // namespace lockstep::ui
