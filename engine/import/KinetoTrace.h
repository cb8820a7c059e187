#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::imports {

// What is kept of a Kineto trace: that which says something of the training, of its communication,
// and of what the device computed. All times are ns, as the file has them (not after its
// baseTimeNanoseconds), and lists are in the order of the file.

/// Something that a thread of the rank did.
enum class HostOpKind : std::uint8_t {
  kStep,        ///< ProfilerStep#number
  kForward,     ///< DistributedDataParallel.forward
  kOptimizer,   ///< Optimizer.step#...
  kBackward,    ///< autograd::engine::evaluate_function: of any node but the next
  kGradient,    ///< the same of AccumulateGrad, with the hooks that run after it
  kAccumulate,  ///< torch::autograd::AccumulateGrad in it, with the gradient's shape
  kCopyIn,      ///< torch::distributed::reducer::mul_out, and div_ where there is a hook
  kCopyOut,     ///< torch.distributed.ddp.reducer::copy_bucket_to_grad
  kData,        ///< enumerate(DataLoader)#...
  kOwnForward,  ///< the phases of a trace that Lockstep exported
  kOwnBackward,
  kOwnOptimizer,
};

struct HostOp {
  HostOpKind kind{};
  std::uint32_t thread = 0;  ///< of KinetoTrace::threads
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::uint32_t number = 0;         ///< of a step
  std::vector<std::int64_t> shape;  ///< of the first argument, where shapes were recorded
  std::string dtype;                ///< of it: "float32"; empty: not recorded
};

/// What a record says of a collective; what it does not say is absent.
struct CallFacts {
  trace::Operation operation = trace::Operation::kNone;
  std::uint64_t elements = 0;             ///< of one rank's part; 0: not recorded
  std::string dtype;                      ///< "float32"; empty: not recorded
  std::string group;                      ///< name and ranks; empty: not recorded
  bool isDefault = false;                 ///< the group says that it is the default one
  std::optional<std::uint64_t> sequence;  ///< the group's own number of it
  std::optional<std::uint16_t> bucket;    ///< of a trace that Lockstep exported

  /// Takes what `other` says and this does not.
  void complete(const CallFacts& other);
};

/// One of the records that PyTorch makes of a collective, on the thread that asked for it or that
/// carried it out: c10d::allreduce_, record_param_comms, nccl:all_reduce, gloo:all_reduce.
struct CommOp {
  enum class Layer : std::uint8_t { kDispatcher, kRecord, kBackend } layer{};
  bool isGloo = false;
  std::uint32_t thread = 0;
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::int64_t externalId = -1;
  CallFacts facts;
};

/// A kernel of a device; copies and memsets are left out.
struct Kernel {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::int64_t correlation = -1;
  std::int64_t externalId = -1;
  std::int32_t stream = 0;
  bool communicates = false;
  std::uint32_t facts = 0;  ///< of one that communicates: in KinetoTrace::kernelFacts
};

/// A call of the device's library that starts something.
struct Launch {
  std::int64_t correlation = -1;
  std::int64_t beginNs = 0;
  std::uint32_t thread = 0;
};

struct KinetoTrace {
  std::filesystem::path path;
  std::optional<int> rank;
  std::optional<int> worldSize;
  std::string backend;
  std::string hostName;
  std::string device;                  ///< name of the first; empty: none, or not recorded
  std::optional<std::int64_t> baseNs;  ///< baseTimeNanoseconds
  bool isExport = false;               ///< of a run, by Lockstep
  std::vector<std::string> threads;
  std::vector<HostOp> ops;
  std::vector<CommOp> comms;
  std::vector<Kernel> kernels;
  std::vector<CallFacts> kernelFacts;
  std::vector<Launch> launches;
  std::int64_t firstNs = 0;
  std::int64_t lastNs = 0;
  std::uint64_t events = 0;  ///< of the file, kept or not

  /// Whether its times are a time of day, which clocks of one host share.
  [[nodiscard]] bool tellsTheTime() const;
  /// To be added to its times for ns since 1970; 0 where it does not tell the time.
  [[nodiscard]] std::int64_t epochNs() const { return baseNs.value_or(0); }
};

/// What a file turned out to be.
enum class FileKind : std::uint8_t { kKineto, kFlightRecorder, kNcclInspector, kUnknown };

/// Says from its first bytes what a file holds. Errors: as ByteSource::open, or it is damaged.
base::Result<FileKind> kindOf(const std::filesystem::path& path);

/// Reads a trace of any size in one pass, and keeps what KinetoTrace has. Errors: cannot be read,
/// is cut off, is no JSON, an event without what every event has, no events; each names the file
/// and the place in it.
base::Result<KinetoTrace> readKineto(const std::filesystem::path& path);

/// "float32" for Float, float, c10::Float; empty where it is none that is known.
std::string dtypeNamed(const std::string& name);
/// Bytes of an element; 0: not known.
std::uint64_t dtypeBytes(const std::string& dtype);
/// c10d's and Kineto's names of an operation, "all_reduce", "_allgather_base_", "AllReduce".
trace::Operation operationNamed(std::string name);

}  // namespace lockstep::imports
