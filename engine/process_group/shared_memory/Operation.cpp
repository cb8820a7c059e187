#include "engine/process_group/shared_memory/Operation.h"

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
  where.culprits = reason.culprits;
  work->fail(std::make_exception_ptr(CommError(std::move(where), reason.what)));
}

}  // namespace lockstep::process_group::shared_memory
