#include "engine/process_group/mpi/Flight.h"

#include <fmt/format.h>

#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {

Flight::Flight(Call call, CommError::Where where, std::chrono::milliseconds limit)
    : call(std::move(call)), limit(limit), where_(std::move(where)) {}

Flight::~Flight() = default;

bool Flight::fail(Failure failure) {
  std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) {
    return false;
  }
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
  return true;
}

Failure Flight::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::exception_ptr Flight::error() const {
  const Failure reason = failure();
  CommError::Where where = where_;
  where.timedOut = reason.kind == CommErrorKind::kTimeout;
  where.kind = reason.kind;
  where.peer = reason.peer;
  where.culprits = reason.culprits;
  return std::make_exception_ptr(CommError(std::move(where), reason.what));
}

std::string Flight::waitingFor() const {
  const int peer = waitingPeer_.load(std::memory_order_relaxed);
  switch (waiting_.load(std::memory_order_relaxed)) {
    case Waiting::kQueued:
      return "still in the queue";
    case Waiting::kWorking:
      return "";
    case Waiting::kAll:
      return "waiting for the other ranks";
    case Waiting::kData:
      return peer < 0 ? "waiting for data from any rank"
                      : fmt::format("waiting for data from rank {}", peer);
    case Waiting::kTaken:
      return fmt::format("waiting for rank {} to take data", peer);
  }
  return "";
}

}  // namespace lockstep::process_group::mpi
