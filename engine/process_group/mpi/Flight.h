#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
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
struct Flight final : OpenCall {
  using OpenCall::OpenCall;

  Schedule schedule;
  std::size_t round = 0;               ///< which one comes next
  std::atomic<bool> prepared{false};   ///< the first round may be posted
  std::shared_ptr<Requests> requests;  ///< of the round that is open [mpi-thread]
};

using FlightPtr = std::shared_ptr<Flight>;

}  // namespace lockstep::process_group::mpi
