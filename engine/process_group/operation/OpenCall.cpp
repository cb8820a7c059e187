#include "engine/process_group/operation/OpenCall.h"

#include <fmt/format.h>

namespace lockstep::process_group {

OpenCall::OpenCall(Call call, std::chrono::milliseconds limit)
    : call(std::move(call)), limit(limit) {}

bool OpenCall::fail(Failure failure) {
  std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) {
    return false;
  }
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
  interrupt();
  return true;
}

Failure OpenCall::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::exception_ptr OpenCall::error() const {
  const Failure reason = failure();
  CommError::Where where = work->where();
  where.timedOut = reason.kind == CommErrorKind::kTimeout;
  where.kind = reason.kind;
  where.peer = reason.peer;
  where.culprits = reason.culprits;
  return std::make_exception_ptr(CommError(std::move(where), reason.what));
}

std::string nameOf(const Call& call) {
  return fmt::format("{} #{}", trace::name(call.operation), call.sequence);
}

std::string waitingText(bool sends, int peer) {
  return sends      ? fmt::format("waiting for rank {} to take data", peer)
         : peer < 0 ? std::string("waiting for data from any rank")
                    : fmt::format("waiting for data from rank {}", peer);
}

Failure givenUpFor(const Call& call, const Failure& failure) {
  return {fmt::format("given up because {} #{} failed: {}", trace::name(call.operation),
                      call.sequence, failure.what),
          failure.peer, failure.kind};
}

}  // namespace lockstep::process_group
