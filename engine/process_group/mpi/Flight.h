#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/operation/OpenCall.h"

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

/// An open call with what it has to do.
class Flight final : public OpenCall {
 public:
  using OpenCall::OpenCall;
  ~Flight() override;

  /// "waiting for data from rank 1", "waiting for the other ranks", "still in the queue", or
  /// nothing. [any-thread]
  [[nodiscard]] std::string waitingFor() const;

  enum class Waiting : std::uint8_t { kQueued, kWorking, kAll, kData, kTaken };
  void setWaiting(Waiting what, int peer = -1) {
    waitingPeer_.store(peer, std::memory_order_relaxed);
    waiting_.store(what, std::memory_order_relaxed);
  }

  Schedule schedule;
  std::size_t round = 0;                     ///< which one comes next
  std::atomic<bool> prepared{false};         ///< the first round may be posted
  std::unique_ptr<Requests> requests;        ///< of the round that is open [mpi-thread]
  std::atomic<std::uint64_t> startTicks{0};  ///< when its first round was posted; 0 before

 private:
  std::atomic<Waiting> waiting_{Waiting::kQueued};
  std::atomic<int> waitingPeer_{-1};
};

using FlightPtr = std::shared_ptr<Flight>;

}  // namespace lockstep::process_group::mpi
