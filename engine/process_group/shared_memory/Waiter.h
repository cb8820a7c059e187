#pragma once

#include <functional>
#include <optional>

#include "engine/process_group/shared_memory/Board.h"
#include "engine/process_group/shared_memory/Operation.h"

namespace lockstep::process_group::shared_memory {

// Note [Who spins]
// Going to sleep and being woken costs more than a small operation: an allreduce of 4 KB between
// two ranks takes some 8 us with a futex alone and under 2 us when the waiter spins for a moment
// first. But a thread that spins keeps another one from its core. So only a caller spins that has
// nothing else to do, never a communication thread; at most kSpin; and only while no more threads
// of the group are awake than the process has cores (Board::awake): it is runnable threads that
// compete for cores, not ranks. Other groups and processes are not counted.

/// Waits for other ranks on behalf of one operation.
class Waiter {
 public:
  /// `timeOut` says what was missing when the operation's time has passed.
  Waiter(Operation& operation, Board& board, bool spins, std::function<Failure()> timeOut)
      : operation_(operation), board_(board), spins_(spins), timeOut_(std::move(timeOut)) {}

  /// Returns once `signal` has reached `target`; throws Interrupted when the operation has
  /// failed meanwhile, by its time limit or otherwise.
  void until(Signal& signal, std::uint32_t target);

  /// Some rank has given up: waits until this one has heard why, which ends the operation.
  [[noreturn]] void untilFailed();

  /// Throws Interrupted when the operation has failed or its time has passed. A rank that was
  /// frozen itself finds that others have given up on it, and gives their reason time to come.
  void check();

 private:
  [[nodiscard]] bool spun(const Signal& signal, std::uint32_t target) const;
  bool reasonMayCome();

  Operation& operation_;
  Board& board_;
  const bool spins_;
  const std::function<Failure()> timeOut_;
  std::optional<Operation::Clock::time_point> reasonBy_;
};

/// Counts the calling thread as asleep while it lives.
class Asleep {
 public:
  explicit Asleep(Board& board) : awake_(board.awake()) { awake_.fetch_sub(1); }
  ~Asleep() { awake_.fetch_add(1); }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  std::atomic<std::int32_t>& awake_;
};

}  // namespace lockstep::process_group::shared_memory
