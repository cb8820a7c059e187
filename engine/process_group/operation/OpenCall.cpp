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

void OpenCall::setWaiting(Waiting what, int peer) {
  waitingPeer_.store(peer, std::memory_order_relaxed);
  waiting_.store(what, std::memory_order_relaxed);
}

bool OpenCall::leaveQueue() {
  Waiting queued = Waiting::kQueued;
  return waiting_.compare_exchange_strong(queued, Waiting::kWorking);
}

std::string OpenCall::waitingFor() const {
  const int peer = waitingPeer();
  switch (waiting_.load(std::memory_order_relaxed)) {
    case Waiting::kQueued: return "still in the queue";
    case Waiting::kWorking: return "";
    case Waiting::kAll: return "waiting for the other ranks";
    case Waiting::kData:
      return peer < 0 ? "waiting for data from any rank"
                      : fmt::format("waiting for data from rank {}", peer);
    case Waiting::kTaken: return fmt::format("waiting for rank {} to take data", peer);
  }
  return "";
}

std::string OpenCall::timedOut(const std::string& waiting) const {
  return fmt::format("timed out after {} ms{}{}", limit.count(), waiting.empty() ? "" : ", ",
                     waiting);
}

std::string nameOf(const Call& call) {
  return fmt::format("{} #{}", trace::name(call.operation), call.sequence);
}

Failure givenUpFor(const Call& call, const Failure& failure) {
  return {fmt::format("given up because {} #{} failed: {}", trace::name(call.operation),
                      call.sequence, failure.what),
          failure.peer, failure.kind};
}

}  // namespace lockstep::process_group
