#include "engine/trace/Event.h"

namespace lockstep::trace {

std::string_view name(EventKind kind) {
  // No default: the compiler warns of a kind that is forgotten here. "unknown" is for numbers that
  // a later minor writes.
  switch (kind) {
    case EventKind::kStartup:
      return "startup";
    case EventKind::kStep:
      return "step";
    case EventKind::kData:
      return "data";
    case EventKind::kForward:
      return "forward";
    case EventKind::kBackward:
      return "backward";
    case EventKind::kOptimizer:
      return "optimizer";
    case EventKind::kEvaluate:
      return "evaluate";
    case EventKind::kCheckpoint:
      return "checkpoint";
    case EventKind::kBroadcastBuffers:
      return "broadcast_buffers";
    case EventKind::kRebuildBuckets:
      return "rebuild_buckets";
    case EventKind::kSearchUnused:
      return "search_unused";
    case EventKind::kJoinShadow:
      return "join_shadow";
    case EventKind::kSyncBatchNorm:
      return "sync_batch_norm";
    case EventKind::kZeroBroadcast:
      return "zero_broadcast";
    case EventKind::kScatter:
      return "scatter";
    case EventKind::kReplicate:
      return "replicate";
    case EventKind::kParallelApply:
      return "parallel_apply";
    case EventKind::kGather:
      return "gather";
    case EventKind::kReduceGradients:
      return "reduce_gradients";
    case EventKind::kFingerprint:
      return "fingerprint";
    case EventKind::kOffCore:
      return "off_core";
    case EventKind::kGradientReady:
      return "gradient_ready";
    case EventKind::kCopyIn:
      return "copy_in";
    case EventKind::kBucketReady:
      return "bucket_ready";
    case EventKind::kBucketLaunched:
      return "bucket_launched";
    case EventKind::kWait:
      return "wait";
    case EventKind::kCopyOut:
      return "copy_out";
    case EventKind::kFinalize:
      return "finalize";
    case EventKind::kMarkedUnused:
      return "marked_unused";
    case EventKind::kUsedMap:
      return "used_map";
    case EventKind::kBucketOptimizer:
      return "bucket_optimizer";
    case EventKind::kGradientCheck:
      return "gradient_check";
    case EventKind::kUserPhase:
      return "user_phase";
    case EventKind::kHookEncode:
      return "hook_encode";
    case EventKind::kHookCommunicate:
      return "hook_communicate";
    case EventKind::kHookDecode:
      return "hook_decode";
    case EventKind::kCollectiveQueued:
      return "collective_queued";
    case EventKind::kCollective:
      return "collective";
    case EventKind::kChecked:
      return "checked";
    case EventKind::kKernels:
      return "kernels";
    case EventKind::kShaped:
      return "shaped";
    case EventKind::kNcclCall:
      return "nccl_call";
    case EventKind::kNcclKernel:
      return "nccl_kernel";
    case EventKind::kOperator:
      return "operator";
    case EventKind::kDeviceKernel:
      return "device_kernel";
    case EventKind::kDeviceCopy:
      return "device_copy";
    case EventKind::kLoss:
      return "loss";
    case EventKind::kCounter:
      return "counter";
    case EventKind::kGap:
      return "gap";
    case EventKind::kFault:
      return "fault";
  }
  return "unknown";
}

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::kNone:
      return "none";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kAllreduce:
      return "allreduce";
    case Operation::kReduce:
      return "reduce";
    case Operation::kAllgather:
      return "allgather";
    case Operation::kGather:
      return "gather";
    case Operation::kScatter:
      return "scatter";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kAlltoall:
      return "alltoall";
    case Operation::kSend:
      return "send";
    case Operation::kRecv:
      return "recv";
    case Operation::kBarrier:
      return "barrier";
  }
  return "unknown";
}

std::string_view name(StartupStage stage) {
  switch (stage) {
    case StartupStage::kSpawn:
      return "spawn";
    case StartupStage::kRendezvous:
      return "rendezvous";
    case StartupStage::kData:
      return "data";
    case StartupStage::kModel:
      return "model";
    case StartupStage::kBuckets:
      return "buckets";
  }
  return "unknown";
}

std::string_view name(CounterId counter) {
  switch (counter) {
    case CounterId::kResidentBytes:
      return "resident_bytes";
    case CounterId::kCpuPercent:
      return "cpu_percent";
    case CounterId::kSentBytesPerSecond:
      return "sent_bytes_per_second";
    case CounterId::kRingFillPercent:
      return "ring_fill_percent";
    case CounterId::kStepThreadCpuPercent:
      return "step_thread_cpu_percent";
    case CounterId::kCommThreadsCpuPercent:
      return "comm_threads_cpu_percent";
    case CounterId::kReceivedBytesPerSecond:
      return "received_bytes_per_second";
    case CounterId::kStolenPercent:
      return "stolen_percent";
  }
  return "unknown";
}

std::string_view name(FaultKind fault) {
  switch (fault) {
    case FaultKind::kDelay:
      return "delay";
    case FaultKind::kStop:
      return "stop";
    case FaultKind::kKill:
      return "kill";
    case FaultKind::kFlipBit:
      return "flip_bit";
    case FaultKind::kNan:
      return "nan";
    case FaultKind::kUneven:
      return "uneven";
  }
  return "unknown";
}

}  // namespace lockstep::trace
