#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/CommError.h"
#include "engine/process_group/Work.h"

namespace lockstep::process_group {

/// The Work of every backend whose operations end on a thread of its own: that thread calls
/// `succeed` or `fail`, everybody else sees a Work. All members are [any-thread].
class WorkState final : public Work {
 public:
  /// What the backend can still do for an operation in flight. Both may be called at any time
  /// until it has ended, and must not keep the WorkState alive.
  struct Backend {
    std::function<void()> abort;              ///< of a send or receive: forgets its time limit
    std::function<std::string()> waitingFor;  ///< "waiting for data from rank 1", or empty
  };

  /// `limit` is the operation's own time limit, which the backend keeps; a wait without a
  /// limit gives up some seconds after it.
  WorkState(CommError::Where where, std::vector<at::Tensor> outputs,
            std::chrono::milliseconds limit, Backend backend = {});

  [[nodiscard]] bool isCompleted() const override { return future_.completed(); }
  [[nodiscard]] bool isSuccess() const override;
  [[nodiscard]] std::exception_ptr exception() const override { return future_.exception(); }
  void wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override;
  [[nodiscard]] int sourceRank() const override { return source_.load(); }
  [[nodiscard]] std::vector<at::Tensor> result() const override;
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override { return future_; }
  [[nodiscard]] trace::Operation operation() const override { return where_.operation; }
  [[nodiscard]] std::uint64_t sequence() const override { return where_.sequence; }
  [[nodiscard]] std::uint8_t groupNumber() const override { return where_.groupNumber; }

  [[nodiscard]] const CommError::Where& where() const { return where_; }
  [[nodiscard]] bool direct() const { return gate_ != nullptr; }

  void setSourceRank(int rank) { source_.store(rank); }

  /// Ends the operation; only the first call of the two counts, and returns true. The future's
  /// callbacks run before it returns.
  bool succeed();
  bool fail(std::exception_ptr error);

 private:
  // Where the waiters of a send or receive wait, whom abort() can free.
  struct Gate {
    std::mutex mutex;
    std::condition_variable wake;
    bool done = false;
    int waiting = 0;
    std::uint64_t freed = 0;  // how often all who waited were freed
    bool freesNext = false;   // abort() came before a waiter
  };

  bool waitAtGate(std::chrono::milliseconds limit);

  const CommError::Where where_;
  std::vector<at::Tensor> outputs_;
  const std::chrono::milliseconds limit_;
  const Backend backend_;
  std::atomic<bool> ended_{false};
  std::atomic<int> source_{-1};
  base::Future<std::vector<at::Tensor>> future_;
  std::shared_ptr<Gate> gate_;  // null for a collective
};

}  // namespace lockstep::process_group
