#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/process_group/CommError.h"
#include "engine/process_group/Work.h"
#include "engine/trace/Operation.h"

namespace lockstep::trace {
class Tracer;
}

namespace lockstep::process_group {

enum class ReduceOp : std::uint8_t {
  kSum,
  kAverage,
  kProduct,
  kMin,
  kMax,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
};
std::string_view name(ReduceOp op);

/// What every collective may be told beside its tensors.
struct CallOptions {
  std::chrono::milliseconds timeout = kNoTimeout;  ///< kNoTimeout = the group's
  std::uint16_t bucket = trace::kNoBucket;         ///< for events and error texts
  std::uint32_t step = 0;                          ///< for events
};

struct Request;

/// A set of ranks that communicate, as c10d::ProcessGroup. Every call is asynchronous: it
/// checks its arguments at once (std::invalid_argument, text "<callee>::<operation>: ..."),
/// takes the group's next sequence number, and returns a Work. All ranks must make the same
/// calls in the same order. Calls are [any-thread], but their order is the caller's care.
/// send and recv concern two ranks only: they are numbered apart, by each rank for itself.
/// Tensors must be dense; CPU here, device tensors as the backend says. Until its Work is done
/// they belong to the operation, as with c10d's Gloo: who writes to them, or gives them or memory
/// that overlaps them to another operation, gets whatever comes, and not the same on every rank.
/// An output may be the input of its own call, or this rank's part of its inputs.
///
/// Each verb makes one Request of what it was given; a backend carries requests out in start(), and
/// a wrapper passes them on by call().
class ProcessGroup {
 public:
  /// Which tensors a group takes; a wrapper leaves that to the group below it.
  enum class Devices { kCpu, kAny };

  /// `callee` opens the texts of refusals. A wrapper has no time limit of its own.
  ProcessGroup(int rank, int size, std::string groupName, std::string callee,
               Devices devices = Devices::kCpu, std::chrono::milliseconds timeout = kNoTimeout)
      : rank_(rank),
        size_(size),
        groupName_(std::move(groupName)),
        callee_(std::move(callee)),
        devices_(devices),
        timeout_(timeout) {}
  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::string& groupName() const { return groupName_; }
  [[nodiscard]] virtual std::string backendName() const = 0;

  using WorkPtr = std::shared_ptr<Work>;

  /// In place on every rank. Several tensors are sent one after the other as one operation.
  WorkPtr broadcast(std::vector<at::Tensor> tensors, int root, const CallOptions& options = {});
  /// In place. One tensor, or several of one dtype that are reduced as one (coalesced).
  WorkPtr allreduce(std::vector<at::Tensor> tensors, ReduceOp op = ReduceOp::kSum,
                    const CallOptions& options = {});
  /// In place on `root`; the other ranks' tensors are left as they were.
  WorkPtr reduce(at::Tensor tensor, int root, ReduceOp op = ReduceOp::kSum,
                 const CallOptions& options = {});
  /// outputs: size() tensors like `input`.
  WorkPtr allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                    const CallOptions& options = {});
  /// outputs: size() tensors like `input` on `root`, empty elsewhere.
  WorkPtr gather(std::vector<at::Tensor> outputs, at::Tensor input, int root,
                 const CallOptions& options = {});
  /// inputs: size() tensors like `output` on `root`, empty elsewhere.
  WorkPtr scatter(at::Tensor output, std::vector<at::Tensor> inputs, int root,
                  const CallOptions& options = {});
  /// inputs: size() tensors like `output`; output = reduction of every rank's inputs[rank()].
  WorkPtr reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                        ReduceOp op = ReduceOp::kSum, const CallOptions& options = {});
  /// Splits along dimension 0; empty split lists mean equal parts. Split sizes in rows.
  WorkPtr alltoall(at::Tensor output, at::Tensor input, std::vector<std::int64_t> outputSplits = {},
                   std::vector<std::int64_t> inputSplits = {}, const CallOptions& options = {});
  WorkPtr send(at::Tensor tensor, int to, int tag = 0, const CallOptions& options = {});
  /// from = kAnySource takes the first that comes; Work::sourceRank then says who it was.
  WorkPtr recv(at::Tensor tensor, int from, int tag = 0, const CallOptions& options = {});
  /// Completes once every rank has called it and all earlier operations here are done.
  WorkPtr barrier(const CallOptions& options = {});

  /// Makes a call that another group of these ranks was asked for. It is checked again here, where
  /// less may be taken.
  WorkPtr call(Request request);

  static constexpr int kAnySource = -1;

  /// Returns an uninitialised flat byte tensor for a bucket, placed where this backend works
  /// best and aligned to 64 bytes; its storage keeps the memory alive. Here: plain CPU memory.
  virtual at::Tensor allocate(std::int64_t bytes);

  /// Sequence number of the last operation that was queued; 0 before the first.
  [[nodiscard]] virtual std::uint64_t sequenceNumber() const = 0;

  /// What an operation may take from its call to its end, unless the call says.
  [[nodiscard]] virtual std::chrono::milliseconds timeout() const { return timeout_.load(); }
  /// For later calls; throws std::invalid_argument unless positive.
  virtual void setTimeout(std::chrono::milliseconds timeout);

  /// Fails every operation in flight and every later one with `reason`, and wakes all waiters
  /// within a second. Collectives called before may still end well: for as long as they end one
  /// after another, or the backend sees their bytes move, within their own limit. [any-thread]
  virtual void abort(const std::string& reason) = 0;

  /// kSuccess until a failure breaks the group. [any-thread]
  [[nodiscard]] virtual GroupState state() const { return GroupState::kSuccess; }

  /// Whether bytes of its operations have moved since the last call, for who waits as long as they
  /// do; false where a backend cannot see that. [any-thread]
  [[nodiscard]] virtual bool moved() { return false; }

 protected:
  /// Carries out a call whose arguments have been checked. Refuses what this backend lacks
  /// (std::invalid_argument).
  virtual WorkPtr start(Request request) = 0;

  /// Throws what call() throws for wrong arguments, and completes the request. A group that nothing
  /// may be asked of refuses here.
  virtual void check(Request& request) const;

 private:
  int rank_;
  int size_;
  std::string groupName_;
  std::string callee_;
  Devices devices_;
  std::atomic<std::chrono::milliseconds> timeout_;
};

}  // namespace lockstep::process_group
