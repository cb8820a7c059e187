#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <vector>

#include "engine/base/Future.h"
#include "engine/trace/Operation.h"

namespace lockstep::process_group {

inline constexpr std::chrono::milliseconds kNoTimeout{0};

/// One collective in flight, as c10d::Work. All members are [any-thread]. The operation
/// keeps its tensors alive until it is done.
class Work {
 public:
  virtual ~Work() = default;

  [[nodiscard]] virtual bool isCompleted() const = 0;
  /// True once completed without an error.
  [[nodiscard]] virtual bool isSuccess() const = 0;
  [[nodiscard]] virtual std::exception_ptr exception() const = 0;

  /// Blocks until done; rethrows the operation's error on every call. With a time limit
  /// (kNoTimeout = the operation's own) it throws CommError when that passes first. Not in a
  /// callback of a future of a group around another one: it may be on the thread that would end
  /// this operation. Continue with then() there.
  virtual void wait(std::chrono::milliseconds timeout = kNoTimeout) = 0;

  /// Does nothing to an operation that has ended. A collective is failed, which breaks its group:
  /// the other ranks wait for this one's part. A send or receive frees its waiters: who is in
  /// wait() then, or else the next one there, gets a CommError of kind kAborted. The operation has
  /// no time limit any more, may complete all the same and then tells its future and later waits;
  /// barriers and the end of the group do not wait for it, and the group lives. NCCL cannot give
  /// up one operation of a communicator: there a send or receive breaks the group, too.
  virtual void abort() = 0;

  /// Rank the data came from, for recv with any source; -1 otherwise.
  [[nodiscard]] virtual int sourceRank() const { return -1; }

  /// Output tensors; throws unless isSuccess().
  [[nodiscard]] virtual std::vector<at::Tensor> result() const = 0;

  /// Completes with the output tensors or the error, on the backend's thread.
  [[nodiscard]] virtual base::Future<std::vector<at::Tensor>> future() const = 0;

  [[nodiscard]] virtual trace::Operation operation() const = 0;
  /// Of the operation in the group of groupNumber(), which is a part's where a group has parts.
  [[nodiscard]] virtual std::uint64_t sequence() const = 0;
  [[nodiscard]] virtual std::uint8_t groupNumber() const = 0;
};

}  // namespace lockstep::process_group
