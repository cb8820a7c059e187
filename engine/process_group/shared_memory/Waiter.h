#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "engine/process_group/shared_memory/Board.h"
#include "engine/process_group/shared_memory/Operation.h"

namespace lockstep::process_group::shared_memory {

// Note [Who spins]
// Going to sleep and being woken costs more than a small operation. But a thread that spins keeps
// another one from its core. So only a caller spins that has nothing else to do, never a
// communication thread; and only while no more threads of the group are awake than the process
// has cores (Board::awake): it is runnable threads that compete for cores, not ranks. Other groups
// and processes are not counted.
//
// It spins for kLeast. That is what a sleep costs where processors wake up quickly; where they do
// not, as in a virtual machine that gives an idle processor back to its host, two ranks that have
// missed each other once would go on to do so: each comes late because it was woken late, while
// the other has gone to sleep over it. So after a sleep that was short it spins for twice as long,
// up to kMost, and after a long one, for which spinning would be of no use, for kLeast again: the
// rule of spinning no longer than a sleep costs (Karlin, Li, Manasse, Owicki, "Empirical Studies
// of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991), with the cost taken
// from the last waits. tests/bench/run allreduce.4kb shows what it comes to.

/// How long the callers of one rank spin. One thread at a time: the driver.
class SpinLimit {
 public:
  static constexpr std::chrono::microseconds kLeast{3};
  static constexpr std::chrono::microseconds kMost{100};

  [[nodiscard]] std::chrono::nanoseconds value() const { return value_; }
  /// Spinning was in vain: the wait took so long, with the sleep that followed.
  void slept(std::chrono::nanoseconds waited) {
    const bool shortWait = waited < 2 * kMost && value_ < kMost;
    value_ = shortWait ? std::min<std::chrono::nanoseconds>(2 * value_, kMost) : kLeast;
  }

 private:
  std::chrono::nanoseconds value_ = kLeast;
};

/// Waits for other ranks on behalf of one operation.
class Waiter {
 public:
  /// `spin` is null for who never spins; `timeOut` says what was missing when the operation's time
  /// has passed.
  Waiter(Operation& operation, Board& board, SpinLimit* spin, std::function<Failure()> timeOut)
      : operation_(operation), board_(board), spin_(spin), timeOut_(std::move(timeOut)) {}

  /// Returns once `signal` has reached `target`; throws Interrupted when the operation has
  /// failed meanwhile, by its time limit or otherwise.
  void until(Signal& signal, std::uint32_t target);

  /// Some rank has given up: waits until this one has heard why, which ends the operation.
  [[noreturn]] void untilFailed();

  /// Throws Interrupted when the operation has failed or its time has passed. A rank that was
  /// frozen itself finds that others have given up on it, and gives their reason time to come.
  void check();

 private:
  [[nodiscard]] bool maySpin() const;
  [[nodiscard]] bool spun(const Signal& signal, std::uint32_t target) const;
  void sleepUntil(Signal& signal, std::uint32_t target);
  bool reasonMayCome();

  Operation& operation_;
  Board& board_;
  SpinLimit* const spin_;
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
