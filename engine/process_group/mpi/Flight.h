#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/WorkState.h"

namespace lockstep::process_group::mpi {

class Requests;

/// What an operation does: rounds of requests that the MPI thread posts, and what a worker
/// computes before and between them. The functions keep the tensors they name alive.
struct Schedule {
  struct Round {
    std::function<void(Requests&)> post;  ///< [mpi-thread]
    std::function<void()> then;           ///< once the requests are done; may be empty [worker]
  };
  std::function<void()> prepare;  ///< may be empty [worker]
  std::vector<Round> rounds;
};

/// One operation of a group, from the call to its end.
class Flight {
 public:
  using Clock = std::chrono::steady_clock;

  Flight(Call call, CommError::Where where, std::chrono::milliseconds limit);
  ~Flight();

  const Call call;
  const std::chrono::milliseconds limit;
  const Clock::time_point queuedAt = Clock::now();
  std::shared_ptr<WorkState> work;

  [[nodiscard]] bool expired(Clock::time_point now) const { return now - queuedAt >= limit; }

  /// Ends the operation with `failure`, unless it has failed already; returns whether it was the
  /// first. [any-thread]
  bool fail(Failure failure);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Failure failure() const;
  /// The failure as a CommError.
  [[nodiscard]] std::exception_ptr error() const;

  /// "waiting for data from rank 1", "waiting for the other ranks", "still in the queue", or
  /// nothing. [any-thread]
  [[nodiscard]] std::string waitingFor() const;

  enum class Waiting : std::uint8_t { kQueued, kWorking, kAll, kData, kTaken };
  void setWaiting(Waiting what, int peer = -1) {
    waitingPeer_.store(peer, std::memory_order_relaxed);
    waiting_.store(what, std::memory_order_relaxed);
  }

  // The Dispatcher's, under its mutex.
  std::uint64_t order = 0;  ///< of the call in its group
  bool ended = false;

  std::atomic<bool> abandoned{false};  ///< a send or receive without a limit: see Work::abort()

  Schedule schedule;
  std::size_t round = 0;                     ///< which one comes next
  std::atomic<bool> prepared{false};         ///< the first round may be posted
  std::unique_ptr<Requests> requests;        ///< of the round that is open [mpi-thread]
  std::atomic<std::uint64_t> startTicks{0};  ///< when its first round was posted; 0 before

 private:
  const CommError::Where where_;
  std::atomic<bool> failed_{false};
  std::atomic<Waiting> waiting_{Waiting::kQueued};
  std::atomic<int> waitingPeer_{-1};
  mutable std::mutex mutex_;
  Failure failure_;
};

using FlightPtr = std::shared_ptr<Flight>;

}  // namespace lockstep::process_group::mpi
