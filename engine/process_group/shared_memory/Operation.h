#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "engine/process_group/Call.h"
#include "engine/process_group/WorkState.h"
#include "engine/process_group/shared_memory/Board.h"
#include "engine/process_group/shared_memory/Collective.h"
#include "engine/process_group/Failure.h"

namespace lockstep::process_group::shared_memory {

/// One operation of a group, from the call to its end.
class Operation {
 public:
  using Clock = std::chrono::steady_clock;

  Operation(Call call, CommError::Where where, std::chrono::milliseconds limit,
            CollectivePtr collective);

  const Call call;
  const std::chrono::milliseconds limit;
  const Clock::time_point deadline;
  std::shared_ptr<WorkState> work;

  /// Number of a collective on the board; it is the sequence number.
  [[nodiscard]] std::uint64_t order() const { return call.sequence; }
  /// Null for send and recv, and once it has ended.
  [[nodiscard]] Collective* collective() const { return collective_.get(); }
  [[nodiscard]] CollectivePtr takeCollective() { return std::move(collective_); }

  /// Ends the operation with `failure`, unless it has failed already. [any-thread]
  void fail(const Failure& failure);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Failure failure() const;
  /// Gives the work its value or its error; its callbacks run.
  void settle();

  // The Dispatcher's, under its mutex.
  std::uint64_t entry = 0;           ///< of the call in its group, sends and receives included
  Source source = Source::kNone;     ///< how this rank shows its bytes; does not change
  std::shared_ptr<Segment> exposed;  ///< which segment holds them, for kExposed
  bool posted = false;               ///< it stands on the board
  bool handed = false;               ///< its callbacks are the communication thread's
  bool abandoned = false;            ///< a send or receive without a limit: see Work::abort()
  bool ended = false;                ///< nothing moves any more
  bool settling = false;             ///< who has ended it is about to tell the work
  bool settled = false;              ///< and the work knows
  std::uint64_t startTicks = 0;      ///< when it was posted; 0 before

  // Its driver's.
  std::uint32_t meetings = 1;  ///< of all ranks; the first is their arrival
  std::uint32_t blocks = 0;    ///< of a common reduction

 private:
  const CommError::Where where_;
  CollectivePtr collective_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Failure failure_;
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace lockstep::process_group::shared_memory
