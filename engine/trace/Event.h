#pragma once

#include <cstdint>
#include <string_view>

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
  kGradientCheck = 40,    ///< span: a gradient's size and non-finite values; value as kCopyIn

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

/// Operations of a ProcessGroup; the numbers stand in run files.
enum class Operation : std::uint8_t {
  kNone = 0,
  kBroadcast = 1,
  kAllreduce = 2,
  kReduce = 3,
  kAllgather = 4,
  kGather = 5,
  kScatter = 6,
  kReduceScatter = 7,
  kAlltoall = 8,
  kSend = 9,
  kRecv = 10,
  kBarrier = 11,
};

inline constexpr std::uint16_t kNoBucket = 0xFFFF;
inline constexpr std::uint16_t kWholeBucket = 1;  ///< detail of kCopyIn
/// Bit of the detail of a hook's phases: nobody said when it began or ended, it follows from what
/// was seen around it.
inline constexpr std::uint16_t kDerived = 0x4000;

/// One record of a ring: 32 bytes, written by one thread, copied as it is.
struct Event {
  std::uint64_t startTicks = 0;  ///< base::ticks() of the host
  std::uint64_t durationTicks : 48 = 0;
  std::uint64_t kind : 16 = 0;  ///< EventKind
  std::uint32_t step = 0;       ///< iteration, counted from 0
  std::uint16_t bucket = kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
};
static_assert(sizeof(Event) == 32);

/// Packs what identifies a collective: sequence number (per group, 24 bits, wraps) and
/// payload bytes (40 bits).
constexpr std::uint64_t packCollective(std::uint64_t sequence, std::uint64_t bytes) {
  return (sequence & 0xFFFFFF) << 40 | (bytes & 0xFF'FFFF'FFFF);
}
constexpr std::uint32_t collectiveSequence(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 40);
}
constexpr std::uint64_t collectiveBytes(std::uint64_t value) {
  return value & 0xFF'FFFF'FFFF;
}

/// Packs operation (low byte) and group number (high byte; 0 is the default group).
constexpr std::uint16_t packOperation(Operation operation, std::uint8_t group = 0) {
  return static_cast<std::uint16_t>(static_cast<std::uint16_t>(group) << 8 |
                                    static_cast<std::uint8_t>(operation));
}
constexpr Operation operationOf(std::uint16_t detail) {
  return static_cast<Operation>(detail & 0xFF);
}
constexpr std::uint8_t groupOf(std::uint16_t detail) {
  return static_cast<std::uint8_t>(detail >> 8);
}

/// Names as the run file's `kinds` table and the views show them: "forward", "allreduce".
std::string_view name(EventKind kind);
std::string_view name(Operation operation);
std::string_view name(StartupStage stage);
std::string_view name(CounterId counter);
std::string_view name(FaultKind fault);

}  // namespace lockstep::trace
