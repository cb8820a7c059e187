#pragma once

#include "engine/trace/EventRecord.h"

namespace lockstep::trace {

/// What an event says. The numbers stand in run files: never reuse one.
/// A span has a duration; an instant has none.
enum class EventKind : std::uint16_t {
  // Start-up, on the step thread; `detail` is a StartupStage.
  kStartup = 1,  ///< span

  // Phases of one training step, on the step thread.
  kStep = 10,              ///< span: one whole iteration
  kData = 11,              ///< span: next batch
  kForward = 12,           ///< span; includes loss
  kBackward = 13,          ///< span: from the call of backward to its return
  kOptimizer = 14,         ///< span; includes zero_grad
  kEvaluate = 15,          ///< span
  kCheckpoint = 16,        ///< span
  kBroadcastBuffers = 17,  ///< span: DDP's buffer broadcast at the start of a forward
  kRebuildBuckets = 18,    ///< span: agreement on and set-up of the rebuilt buckets
  kSearchUnused = 19,      ///< span: walk of the graph for parameters that take no part
  kJoinShadow = 20,        ///< span: a rank without inputs answers one iteration of the others
  kSyncBatchNorm = 21,     ///< span: exchange of batch statistics; value = bytes
  kZeroBroadcast = 22,     ///< span: owners hand out the parameters they stepped; value = bytes

  // Phases of a DataParallel step, on the step thread; kParallelApply on each device's thread.
  kScatter = 23,          ///< span; value = bytes
  kReplicate = 24,        ///< span; value = bytes
  kParallelApply = 25,    ///< span; detail = device
  kGather = 26,           ///< span; value = bytes
  kReduceGradients = 27,  ///< span: replicas' gradients to device 0; value = bytes

  kFingerprint = 28,  ///< span: hashes, norms and sketch of the parameters; value = bytes read
  kOffCore = 29,      ///< span: somewhere in it the thread was ready and had no core; value = for
                      ///< how many ns, by the kernel (CoreWait.h)

  // The life of a gradient and of its bucket, on the thread that runs the backward.
  kGradientReady = 30,    ///< instant; value = parameter index
  kCopyIn = 31,           ///< span: gradient into its bucket; value = parameter index, or, with
                          ///< detail = kWholeBucket, bytes of all gradients of the bucket
  kBucketReady = 32,      ///< instant: last gradient arrived; value = bytes
  kBucketLaunched = 33,   ///< instant: handed to the hook, in order; value = bytes
  kWait = 34,             ///< span: finalise waits for the bucket's future
  kCopyOut = 35,          ///< span: bucket into gradients; value = bytes
  kFinalize = 36,         ///< span: the whole end-of-backward callback
  kMarkedUnused = 37,     ///< instant: counted as ready without a gradient; value = parameter index
  kUsedMap = 38,          ///< span: wait for the map of parameters that any rank used
  kBucketOptimizer = 39,  ///< span: optimizer step of one bucket or parameter in the backward
  kGradientCheck = 40,  ///< span: a gradient's size and non-finite values; value as kCopyIn, where
                        ///< detail = kWholeBucket: of the bucket that the hook gave back

  kUserPhase = 41,  ///< span: a part of its work that the training script names; value =
                    ///< userPhaseNumber (UserPhases.h)

  // Phases of the communication hook; value = bytes before (encode) or after (decode).
  kHookEncode = 50,       ///< span
  kHookCommunicate = 51,  ///< span: first collective queued to last finished
  kHookDecode = 52,       ///< span

  // Collectives, as the backend sees them; value = packCollective, detail = packOperation.
  kCollectiveQueued = 70,  ///< instant, on the caller's thread
  kCollective = 71,        ///< span, on the backend's thread: this rank arrived .. done
  kChecked = 72,           ///< span: comparison of a collective's fingerprint; as kCollective
  kShaped = 73,            ///< span: time the shaped link adds; value = packCollective

  // What NCCL says of itself, by its profiler plugin; value = packCollective, where the sequence
  // counts one function of one communicator; detail = packOperation, the group = communicator.
  kNcclCall = 74,    ///< span: from the call of NCCL until its kernel was on the stream, or instant
  kNcclKernel = 75,  ///< span: the kernel, first channel's start .. last one's end; kByDevice

  // What a trace of torch.profiler holds; value = userPhaseNumber of its name.
  kOperator = 80,      ///< span: an operator of PyTorch, on the thread that ran it
  kDeviceKernel = 81,  ///< span: a kernel, on its stream; kByDevice
  kDeviceCopy = 82,    ///< span: a copy or fill of a device's memory, on its stream; kByDevice
  kKernels = 83,       ///< span: kernels that compute run, without a gap; value = how many

  // Numbers.
  kLoss = 90,     ///< instant; value = bits of a double
  kCounter = 91,  ///< instant; detail = CounterId, value = bits of a double

  // Loss of events.
  kGap = 100,  ///< span: this lane dropped events here; value = how many

  // What the experiment did to this rank on purpose.
  kFault = 110,  ///< span (a delay) or instant; detail = FaultKind, value as FaultKind says
};

enum class FaultKind : std::uint16_t {
  kDelay = 0,    ///< value = nanoseconds asked for
  kStop = 1,     ///< SIGSTOP follows
  kKill = 2,     ///< SIGKILL follows
  kFlipBit = 3,  ///< value = parameter index << 8 | bit
  kNan = 4,      ///< value = parameter index
  kUneven = 5,   ///< no more inputs; value = samples left out
};

enum class StartupStage : std::uint16_t {
  kSpawn = 0,       ///< process start to main()
  kRendezvous = 1,  ///< store and process group
  kData = 2,
  kModel = 3,
  kBuckets = 4,  ///< DDP construction: verification, broadcast, buckets
};

enum class CounterId : std::uint16_t {
  kResidentBytes = 0,  ///< RSS of the rank
  kCpuPercent = 1,     ///< CPU time of the whole rank over wall time, 100 = one core
  kSentBytesPerSecond = 2,
  kRingFillPercent = 3,  ///< the fullest ring of the rank
  kStepThreadCpuPercent = 4,
  kCommThreadsCpuPercent = 5,
  kReceivedBytesPerSecond = 6,
  kStolenPercent = 7,  ///< what a hypervisor took of a core of the rank's machine (StolenTime.h)
};

}  // namespace lockstep::trace
