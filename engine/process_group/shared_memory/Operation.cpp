#include "engine/process_group/shared_memory/Operation.h"

#include <numeric>

namespace lockstep::process_group::shared_memory {

Operation::Operation(Call call, CommError::Where where, std::chrono::milliseconds limit,
                     CollectivePtr collective)
    : call(std::move(call)),
      limit(limit),
      deadline(Clock::now() + limit),
      where_(std::move(where)),
      collective_(std::move(collective)) {}

void Operation::fail(const Failure& failure) {
  std::lock_guard lock(mutex_);
  if (!failed_.load(std::memory_order_relaxed)) {
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }
}

Failure Operation::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Operation::settle() {
  if (!failed()) {
    work->succeed();
    return;
  }
  const Failure reason = failure();
  CommError::Where where = where_;
  where.timedOut = reason.kind == CommErrorKind::kTimeout;
  where.kind = reason.kind;
  where.peer = reason.peer;
  work->fail(std::make_exception_ptr(CommError(std::move(where), reason.what)));
}

Traffic trafficOf(const Call& call, int rank, int size, std::uint64_t inlineBytes) {
  const std::uint64_t bytes = call.bytes;
  const auto others = static_cast<std::uint64_t>(size - 1);
  const bool atRoot = call.root == rank;
  const Traffic fromRoot = atRoot ? Traffic{bytes * others, 0} : Traffic{0, bytes};
  const Traffic toRoot = atRoot ? Traffic{0, bytes * others} : Traffic{bytes, 0};
  switch (call.operation) {
    case trace::Operation::kAllreduce: {
      const std::uint64_t each = bytes <= inlineBytes
                                     ? bytes * others
                                     : 2 * bytes * others / static_cast<std::uint64_t>(size);
      return {each, each};
    }
    case trace::Operation::kAllgather:
    case trace::Operation::kReduceScatter:
      return {bytes * others, bytes * others};
    case trace::Operation::kBroadcast:
    case trace::Operation::kScatter:
      return fromRoot;
    case trace::Operation::kReduce:
    case trace::Operation::kGather:
      return toRoot;
    case trace::Operation::kAlltoall: {
      const auto self = static_cast<std::size_t>(rank);
      const auto sum = [&](const std::vector<std::uint64_t>& parts) {
        return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) - parts[self];
      };
      return {sum(call.bytesTo), sum(call.bytesFrom)};
    }
    case trace::Operation::kSend:
      return {bytes, 0};
    case trace::Operation::kRecv:
      return {0, bytes};
    default:
      return {};
  }
}

}  // namespace lockstep::process_group::shared_memory
