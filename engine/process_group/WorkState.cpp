#include "engine/process_group/WorkState.h"

#include <fmt/format.h>

#include <algorithm>

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
      backend_(std::move(backend)) {}

bool WorkState::isSuccess() const { return future_.completed() && !future_.failed(); }

void WorkState::wait(milliseconds timeout) {
  const bool ownLimit = timeout == kNoTimeout;
  const milliseconds limit = ownLimit ? limit_ + kGrace : std::min(timeout, kLongest);
  if (!future_.waitFor(limit)) {
    CommError::Where where = where_;
    where.timedOut = true;
    where.kind = CommErrorKind::kTimeout;
    const std::string waiting = backend_.waitingFor ? backend_.waitingFor() : std::string();
    throw CommError(where, fmt::format("timed out: not done after {} ms of waiting{}{}",
                                       limit.count(), waiting.empty() ? "" : ", ", waiting));
  }
  static_cast<void>(future_.value());
}

void WorkState::abort() {
  if (!isCompleted() && backend_.abort) {
    backend_.abort();
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
  future_.setValue(std::move(outputs_));
  return true;
}

bool WorkState::fail(std::exception_ptr error) {
  if (ended_.exchange(true)) {
    return false;
  }
  outputs_.clear();
  future_.setException(std::move(error));
  return true;
}

}  // namespace lockstep::process_group
