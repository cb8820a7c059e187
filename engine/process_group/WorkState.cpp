#include "engine/process_group/WorkState.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;

// A backend notices a passed limit by itself; this is how much later a waiter gives up when
// it does not.
constexpr milliseconds kGrace = std::chrono::seconds(5);
// Keeps a deadline within the clock's range.
constexpr milliseconds kLongest = std::chrono::hours(24 * 365);

}  // namespace

WorkState::WorkState(CommError::Where where, std::vector<at::Tensor> outputs, milliseconds limit,
                     Backend backend)
    : where_(std::move(where)),
      outputs_(std::move(outputs)),
      limit_(std::min(limit, kLongest)),
      backend_(std::move(backend)) {
  if (!isDirect(where_.operation)) {
    return;
  }
  gate_ = std::make_shared<Gate>();
  // Holds the gate and not this: the future may outlive the Work.
  future_.whenComplete([gate = gate_](const auto&) {
    std::lock_guard lock(gate->mutex);
    gate->done = true;
    gate->wake.notify_all();
  });
}

bool WorkState::isSuccess() const { return future_.completed() && !future_.failed(); }

void WorkState::wait(milliseconds timeout) {
  const bool ownLimit = timeout == kNoTimeout;
  const milliseconds limit = ownLimit ? limit_ + kGrace : std::min(timeout, kLongest);
  if (direct() ? !waitAtGate(limit) : !future_.waitFor(limit)) {
    CommError::Where where = where_;
    where.timedOut = true;
    where.kind = CommErrorKind::kTimeout;
    // Asked without a lock of ours: the backend takes its own.
    const std::string waiting = backend_.waitingFor ? backend_.waitingFor() : std::string();
    throw CommError(where, fmt::format("timed out: not done after {} ms of waiting{}{}",
                                       limit.count(), waiting.empty() ? "" : ", ", waiting));
  }
  static_cast<void>(future_.value());
}

// Returns whether the operation is done; throws for who is freed.
bool WorkState::waitAtGate(milliseconds limit) {
  std::unique_lock lock(gate_->mutex);
  // abort() frees all who wait at that moment; who comes later waits on, unless nobody was there.
  const std::uint64_t before = gate_->freed;
  bool freed = false;
  ++gate_->waiting;
  gate_->wake.wait_for(lock, limit, [&] {
    freed = gate_->freed != before || gate_->freesNext;
    return gate_->done || freed;
  });
  --gate_->waiting;
  // Done counts more than freed: an operation that has ended is not aborted.
  if (gate_->done || !freed) {
    return gate_->done;
  }
  gate_->freesNext = false;
  CommError::Where where = where_;
  where.kind = CommErrorKind::kAborted;
  throw CommError(where, "aborted by its caller");
}

void WorkState::abort() {
  if (isCompleted()) {
    return;
  }
  // Outside of the gate's lock: the backend may end the operation at once, whose callback takes it.
  if (backend_.abort) {
    backend_.abort();
  }
  if (direct()) {
    std::lock_guard lock(gate_->mutex);
    if (gate_->waiting > 0) {
      ++gate_->freed;
      gate_->wake.notify_all();
    } else {
      gate_->freesNext = true;
    }
  }
}

std::vector<at::Tensor> WorkState::result() const {
  if (!isCompleted()) {
    throw CommError(where_, "result() before the operation was done; call wait() first");
  }
  return future_.value();
}

bool WorkState::succeed() {
  if (ended_.exchange(true)) {
    return false;
  }
  // Outputs go to the future, so that a Work that is kept does not hold memory twice.
  future_.setValue(std::move(outputs_));
  return true;
}

bool WorkState::fail(std::exception_ptr error) {
  if (ended_.exchange(true)) {
    return false;
  }
  // Whoever holds the failed Work shall not keep its tensors alive.
  outputs_.clear();
  future_.setException(std::move(error));
  return true;
}

}  // namespace lockstep::process_group
