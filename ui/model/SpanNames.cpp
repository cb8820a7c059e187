#include "ui/model/SpanNames.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/analysis/SpanMeaning.h"
#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"

// What spans are called, and what the kinds that are not in every textbook mean.
namespace lockstep::ui {
namespace {

using trace::EventKind;
using trace::FaultKind;

// The value of a kParallelApply span: which half of the step a device computes.
constexpr std::uint64_t kForwardHalf = 0;

QString words(std::string_view name) {
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))
      .replace(QLatin1Char('_'), QLatin1Char(' '));
}

QString faultTitle(const ParameterTable& parameters, const Span& span) {
  const auto parameter = [&] { return parameterName(parameters, *parameterOf(span)); };
  switch (static_cast<FaultKind>(span.detail)) {
    case FaultKind::kDelay:
      return QStringLiteral("delay of ") + formatDuration(static_cast<double>(span.value));
    case FaultKind::kStop:
      return QStringLiteral("rank %1 stopped").arg(span.rank());
    case FaultKind::kKill:
      return QStringLiteral("rank %1 killed").arg(span.rank());
    case FaultKind::kFlipBit:
      return QStringLiteral("bit %1 of %2 flipped").arg(span.value & 0xFF).arg(parameter());
    case FaultKind::kNan:
      return QStringLiteral("NaN in the gradient of ") + parameter();
    case FaultKind::kUneven:
      return QStringLiteral("inputs end %1 samples early").arg(span.value);
  }
  return faultName(span);
}

}  // namespace

QString titleOf(LaneRole role) {
  switch (role) {
    case LaneRole::kPhases:
      return QStringLiteral("Phases");
    case LaneRole::kGradients:
      return QStringLiteral("Gradients");
    case LaneRole::kHook:
      return QStringLiteral("Hook");
    case LaneRole::kCommunication:
      return QStringLiteral("Communication");
  }
  return {};
}

std::optional<std::uint64_t> parameterOf(const Span& span) {
  return analysis::parameterOf(span.kind, span.detail, span.value);
}

QString parameterName(const ParameterTable& parameters, std::uint64_t index) {
  return index < parameters.size() ? QString::fromStdString(parameters[index].name)
                                   : QStringLiteral("parameter %1").arg(index);
}

QString parameterName(const RunModel& model, std::uint64_t index) {
  return parameterName(model.parameters(), index);
}

QString faultName(const Span& span) {
  return words(trace::name(static_cast<FaultKind>(span.detail)));
}

QString operationName(const Span& span) {
  return words(name(trace::operationOf(span.detail)));
}

QString kindName(EventKind kind) {
  return words(name(kind));
}

namespace {

/// As the script wrote it.
QString userPhase(const Span& span) {
  const std::string_view name = trace::userPhaseName(span.value);
  return name.empty() ? kindName(span.kind)
                      : QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

}  // namespace

QString titleOf(const ParameterTable& parameters, const Span& span) {
  const QString bucket =
      span.hasBucket() ? QStringLiteral(", bucket %1").arg(span.bucket) : QString();
  switch (span.kind) {
    case EventKind::kStep:
      return QStringLiteral("iteration %1").arg(span.step);
    case EventKind::kStartup:
      return QStringLiteral("start-up: ") +
             words(trace::name(static_cast<trace::StartupStage>(span.detail)));
    case EventKind::kSearchUnused:
      return QStringLiteral("search for unused parameters");
    case EventKind::kJoinShadow:
      return QStringLiteral("out of inputs: answers the others");
    case EventKind::kSyncBatchNorm:
      return QStringLiteral("exchange of batch statistics");
    case EventKind::kZeroBroadcast:
      return QStringLiteral("exchange of stepped parameters");
    case EventKind::kScatter:
      return QStringLiteral("scatter to the devices");
    case EventKind::kReplicate:
      return QStringLiteral("copy of the model to the devices");
    case EventKind::kParallelApply:
      return QStringLiteral("device %1, %2")
          .arg(span.detail)
          .arg(span.value == kForwardHalf ? QStringLiteral("forward") : QStringLiteral("backward"));
    case EventKind::kGather:
      return QStringLiteral("gather from the devices");
    case EventKind::kReduceGradients:
      return QStringLiteral("sum of the devices' gradients");
    case EventKind::kMarkedUnused:
      return QStringLiteral("unused: ") + parameterName(parameters, span.value);
    case EventKind::kUsedMap:
      return QStringLiteral("wait for the map of used parameters");
    case EventKind::kBucketOptimizer:
      return span.hasBucket() ? QStringLiteral("optimizer") + bucket
                              : QStringLiteral("bucket optimizer");
    case EventKind::kCollective:
      return operationName(span) + bucket;
    case EventKind::kCollectiveQueued:
      return operationName(span) + QStringLiteral(" queued") + bucket;
    case EventKind::kChecked:
      return QStringLiteral("check of ") + operationName(span) + bucket;
    case EventKind::kShaped:
      return QStringLiteral("link: ") + operationName(span) + bucket;
    case EventKind::kNcclCall:
      return QStringLiteral("call of NCCL: ") + operationName(span) + bucket;
    case EventKind::kNcclKernel:
      return QStringLiteral("NCCL's kernel: ") + operationName(span) + bucket;
    case EventKind::kFingerprint:
      return QStringLiteral("fingerprint of the parameters");
    case EventKind::kKernels:
      return span.value == 1 ? QStringLiteral("a kernel of the device")
                             : QStringLiteral("%1 kernels of the device").arg(span.value);
    case EventKind::kOffCore:
      return QStringLiteral("no core for %1 of it")
          .arg(formatDuration(static_cast<double>(span.value)));
    case EventKind::kGradientReady:
    case EventKind::kGradientCheck:
    case EventKind::kCopyIn:
      if (!parameterOf(span)) {
        return kindName(span.kind) + bucket;
      }
      return kindName(span.kind) + QStringLiteral(": ") + parameterName(parameters, span.value);
    case EventKind::kUserPhase:
    case EventKind::kOperator:
    case EventKind::kDeviceKernel:
    case EventKind::kDeviceCopy:
      return userPhase(span);
    case EventKind::kHookEncode:
      return QStringLiteral("encode") + bucket;
    case EventKind::kHookCommunicate:
      return QStringLiteral("communicate") + bucket;
    case EventKind::kHookDecode:
      return QStringLiteral("decode") + bucket;
    case EventKind::kFault:
      return QStringLiteral("fault: ") + faultTitle(parameters, span);
    default:
      return kindName(span.kind) + bucket;
  }
}

QString titleOf(const RunModel& model, const Span& span) {
  return titleOf(model.parameters(), span);
}

std::optional<std::uint64_t> titleKey(const Span& span) {
  //     63..56   55..40   39..24   23..0
  //     kind     bucket   detail   value, where the title has it (a parameter or half)
  const std::uint64_t base = static_cast<std::uint64_t>(span.kind) << 56 |
                             static_cast<std::uint64_t>(span.bucket) << 40 |
                             static_cast<std::uint64_t>(span.detail) << 24;
  switch (span.kind) {
    case EventKind::kStep:
    case EventKind::kFault:
    case EventKind::kOffCore:
    case EventKind::kUserPhase:
    case EventKind::kOperator:
    case EventKind::kDeviceKernel:
    case EventKind::kDeviceCopy:
    case EventKind::kKernels:
      // Their titles have a number that is nearly always new, or more bits than the key has left.
      return std::nullopt;
    case EventKind::kGradientReady:
    case EventKind::kCopyIn:
    case EventKind::kGradientCheck:
    case EventKind::kMarkedUnused:
    case EventKind::kParallelApply:
      if (span.kind != EventKind::kGradientReady && !parameterOf(span)) {
        return base;
      }
      // An index beyond 24 bits would run into the detail.
      return span.value < (1u << 24) ? std::optional(base | span.value) : std::nullopt;
    default:
      return base;
  }
}

QString nameOf(const Span& span) {
  switch (span.kind) {
    case EventKind::kStep:
      return QStringLiteral("iteration");
    case EventKind::kOffCore:
      return QStringLiteral("no core");
    case EventKind::kKernels:
      return QStringLiteral("kernels of the device");
    case EventKind::kMarkedUnused:
      return QStringLiteral("unused parameter");
    case EventKind::kGradientReady:
    case EventKind::kGradientCheck:
    case EventKind::kCopyIn:
      return kindName(span.kind);
    case EventKind::kFault:
      return QStringLiteral("fault: ") + faultName(span);
    default:
      break;
  }
  // A title without its bucket; parameters and numbers were taken out above.
  Span alone = span;
  alone.bucket = trace::kNoBucket;
  return titleOf(ParameterTable(), alone);
}

QString meaningOf(const Span& span) {
  using enum EventKind;
  static constexpr std::pair<EventKind, const char*> kMeanings[] = {
      {kBroadcastBuffers,
       "Rank 0 hands its buffers to all ranks, so that their modules stay equal."},
      {kRebuildBuckets, "The ranks agree on buckets in the order in which gradients got ready."},
      {kSearchUnused,
       "The graph of this forward is walked for parameters that take no part in it "
       "(ddp.find_unused_parameters)."},
      {kJoinShadow,
       "This rank has no inputs left; it takes part in the collectives of the others with zeros "
       "(ddp.join)."},
      {kSyncBatchNorm, "The ranks add up the statistics of their batches (ddp.sync_batch_norm)."},
      {kZeroBroadcast,
       "Each rank steps a part of the parameters and hands it to the others (optimizer.zero)."},
      {kScatter,
       "The batch, or the gradient of the outputs, is cut and copied to the devices. No device "
       "computes meanwhile."},
      {kReplicate,
       "All parameters and buffers are copied to every device, in each iteration anew. No device "
       "computes meanwhile."},
      {kParallelApply, "One device runs its replica of the model, on a thread of its own."},
      {kGather, "The outputs of all devices are copied to one. No device computes meanwhile."},
      {kReduceGradients,
       "The gradients of all replicas are copied to device 0 and summed when the whole backward is "
       "over: nothing is left to hide it behind."},
      {kMarkedUnused,
       "Took no part in this forward: counted as ready without a gradient, so that its bucket can "
       "go."},
      {kUsedMap,
       "The ranks learn which parameters any of them used; the gradients of all others stay as "
       "they are."},
      {kBucketOptimizer, "The optimizer steps these parameters while the backward goes on."},
      {kChecked,
       "The ranks compare what they are about to do before data moves (processes.checked). Waiting "
       "for ranks is no cost of it: the call itself would wait for them."},
      {kFingerprint,
       "Hashes, norms and a sketch of the parameters, to compare the replicas by "
       "(capture.fingerprint_every)."},
      {kKernels,
       "The device computes, by its own clock: kernels that follow each other without a gap. Those "
       "that communicate are collectives."},
      {kOffCore,
       "The thread was ready to run, and another one had the core. The kernel tells for how long "
       "and not when: it was somewhere in this span."},
      {kGradientCheck,
       "This rank's own gradient is measured before it is averaged, or the bucket that the hook "
       "gave back (capture.gradient_check_every)."},
      {kShaped, "What the modelled link adds to the backend's own time ([link])."},
      {kNcclCall,
       "From the call of NCCL's function until its kernel was on the stream. Where NCCL does not "
       "tell of the call, it is an instant."},
      {kNcclKernel,
       "The kernel of a collective, by the GPU's own clock, as NCCL's profiler plugin told of it. "
       "Waiting for ranks is in it. How late it may stand on the host's clock is the metric "
       "nccl.N.late_by_at_most_ns of its communicator N."},
      {kUserPhase, "The training script calls it so (lockstep.phase)."},
      {kOperator,
       "What PyTorch did on this thread, as its profiler traced it (lockstep capture). A traced "
       "iteration takes longer than others."},
      {kDeviceKernel,
       "What the device did on this stream, by its own clock, as PyTorch's profiler traced it "
       "(lockstep capture)."},
      {kHookEncode,
       "Derived: the hook does not say so itself. It encodes until its first collective is queued, "
       "and decodes from the end of its last one until its result is there."},
      {kFault, "Done on purpose, by [[faults]] of the experiment."}};
  const EventKind kind = span.kind == kDeviceCopy   ? kDeviceKernel
                         : span.kind == kHookDecode ? kHookEncode
                                                    : span.kind;
  if (kind == kHookEncode && (span.detail & trace::kDerived) == 0) {
    return {};  // the hook says itself what it does
  }
  const auto known = std::ranges::find(kMeanings, kind, [](const auto& of) { return of.first; });
  return known == std::end(kMeanings) ? QString() : QString::fromUtf8(known->second);
}

}  // namespace lockstep::ui
