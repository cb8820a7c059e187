#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "engine/process_group/Call.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/WorkState.h"

namespace lockstep::process_group {

/// One call of a group on this rank, until it has ended. A backend adds what its transport needs.
class OpenCall {
 public:
  using Clock = std::chrono::steady_clock;

  OpenCall(Call call, std::chrono::milliseconds limit);
  virtual ~OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  const Call call;
  const std::chrono::milliseconds limit;
  const Clock::time_point calledAt = Clock::now();
  std::shared_ptr<WorkState> work;

  [[nodiscard]] Clock::time_point deadline() const { return calledAt + limit; }
  [[nodiscard]] bool expired(Clock::time_point now) const { return now >= deadline(); }

  /// Fails the call, unless it has failed already, and wakes whoever waits in it; does not tell its
  /// work. Returns whether it was the first. [any-thread]
  bool fail(Failure failure);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Failure failure() const;
  /// The failure as a CommError.
  [[nodiscard]] std::exception_ptr error() const;

  /// What a thread of the backend is at. [any-thread]
  enum class Waiting : std::uint8_t { kQueued, kWorking, kAll, kData, kTaken };
  void setWaiting(Waiting what, int peer = -1);
  /// The first call takes it out of the queue and returns true: to who is to carry it out, or to
  /// end it where it has failed before. [any-thread]
  [[nodiscard]] bool leaveQueue();
  /// The peer that is waited for, or -1. [any-thread]
  [[nodiscard]] int waitingPeer() const { return waitingPeer_.load(std::memory_order_relaxed); }
  /// "waiting for rank 1 to take data", "waiting for data from rank 1" or, at -1, "from any rank",
  /// "waiting for the other ranks", "still in the queue", or nothing. [any-thread]
  [[nodiscard]] std::string waitingFor() const;
  /// "timed out after 300 ms", and what it waited for if that is known.
  [[nodiscard]] std::string timedOut(const std::string& waiting) const;

  std::atomic<std::uint64_t> startTicks{0};  ///< when it came under way; 0 before

  // The Ledger's, under the group's mutex.
  std::uint64_t entry = 0;  ///< of the call in its group; 0: the group was broken before
  bool ended = false;       ///< nothing moves any more

  std::atomic<bool> abandoned{false};  ///< a send or receive without a limit: see Work::abort()

 protected:
  /// Wakes who waits in the call, which has just failed; with the mutex held.
  virtual void interrupt() {}

  mutable std::mutex mutex_;

 private:
  std::atomic<bool> failed_{false};
  Failure failure_;
  std::atomic<Waiting> waiting_{Waiting::kQueued};
  std::atomic<int> waitingPeer_{-1};
};

/// "allreduce #12".
[[nodiscard]] std::string nameOf(const Call& call);

/// Why a group is given up in which `call` failed.
[[nodiscard]] Failure givenUpFor(const Call& call, const Failure& failure);

}  // namespace lockstep::process_group
