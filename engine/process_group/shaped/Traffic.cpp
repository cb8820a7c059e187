#include "engine/process_group/shaped/Traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group {

using trace::Operation;

struct Traffic::Transfer {
  Call call;
  std::chrono::milliseconds limit{};
  CommError::Where where;
  std::uint64_t number = 0;  // of its kind of operation in this group, from 1
  std::int64_t calledNs = 0;
  ProcessGroup::WorkPtr inner;
  std::shared_ptr<WorkState> work;
  bool done = false;  // below; guarded by the mutex
  std::int64_t doneNs = 0;
  std::uint64_t doneTicks = 0;
  std::string problem;  // set when it cannot end in time
};

std::exception_ptr Traffic::aborted(const Transfer& transfer, const std::string& reason) {
  CommError::Where where = transfer.where;
  where.kind = CommErrorKind::kAborted;
  return std::make_exception_ptr(CommError(where, "aborted: " + reason));
}

Traffic::Traffic(Parts parts) : parts_(std::move(parts)) {}

ProcessGroup::WorkPtr Traffic::submit(Request request, ProcessGroup& inner) {
  auto transfer = std::make_shared<Transfer>();
  const Call& call = transfer->call = request.call;
  transfer->limit = timeLimit(call.options, inner);
  const bool pair = isDirect(call.operation);
  std::uint64_t& calls = pair ? pairCalls_ : calls_;
  {
    std::lock_guard lock(mutex_);
    transfer->number = ++calls;
    transfer->calledNs = base::monotonicNs();
    if (!pair && parts_.board != nullptr) {
      parts_.board->write(transfer->number, transfer->calledNs);
    }
  }
  // Not under the lock: the group below may end earlier operations in this call, which come back
  // here. Who calls from several threads keeps the order of the calls anyway.
  try {
    transfer->inner = inner.call(request);
  } catch (...) {
    // This rank alone may have been refused, and all number alike: the next call takes the number,
    // and the place on the board.
    std::lock_guard lock(mutex_);
    --calls;
    throw;
  }
  transfer->where = {parts_.group, parts_.rank, call.operation, transfer->inner->sequence(),
                     transfer->inner->groupNumber(), call.options.bucket};
  transfer->where.peer = pair ? call.root : -1;
  transfer->work = std::make_shared<WorkState>(
      transfer->where, std::move(request.outputs), transfer->limit,
      WorkState::Backend{[weak = weak_from_this(), waiting = std::weak_ptr(transfer)] {
                           const auto self = weak.lock();
                           if (const auto held = waiting.lock(); self && held) {
                             self->abortOne(*held);
                           }
                         },
                         {}});
  // In the queue before its end can come (whenComplete may call at once): the link is given in the
  // order of the calls.
  if (!pair) {
    std::lock_guard lock(mutex_);
    queue_.push_back(transfer);
  }
  transfer->inner->future().whenComplete(
      [self = shared_from_this(), transfer](const auto&) { self->innerDone(transfer); });
  return transfer->work;
}

void Traffic::abortOne(Transfer& transfer) {
  transfer.inner->abort();
  if (!isDirect(transfer.call.operation)) {
    transfer.work->fail(aborted(transfer, "by its caller"));
    return;
  }
  std::lock_guard lock(mutex_);
  // Given up by its caller: it has no time limit any more.
  transfer.limit = std::chrono::hours(24 * 365);
}

void Traffic::innerDone(const TransferPtr& transfer) {
  std::vector<TransferPtr> broken;
  const bool failed = transfer->inner->exception() != nullptr;
  {
    std::lock_guard lock(mutex_);
    transfer->doneNs = base::monotonicNs();
    transfer->doneTicks = base::ticks();
    transfer->done = true;
    if (isDirect(transfer->call.operation)) {
      if (!failed) {
        // Sends and receives have no order among themselves, nor with collectives.
        carry(transfer, broken);
      }
    } else {
      advance(broken);
    }
  }
  // Outside of the lock: waiters' callbacks run in here.
  if (failed) {
    transfer->work->fail(transfer->inner->exception());
  }
  for (const TransferPtr& late : broken) {
    CommError::Where where = late->where;
    where.timedOut = true;
    where.kind = CommErrorKind::kTimeout;
    late->work->fail(std::make_exception_ptr(CommError(where, late->problem)));
  }
}

void Traffic::advance(std::vector<TransferPtr>& broken) {
  while (!queue_.empty() && queue_.front()->done) {
    // One that failed below takes no time on the link.
    const TransferPtr next = std::move(queue_.front());
    queue_.pop_front();
    if (next->inner->exception() == nullptr) {
      carry(next, broken);
    }
  }
}

cost::LinkModel::Cost Traffic::costOf(const Transfer& transfer) const {
  const Call& call = transfer.call;
  if (call.operation == Operation::kAlltoall) {
    return parts_.model.alltoall(call.bytesTo, call.bytesFrom);
  }
  // Only now it is known whom a receive from any rank was from.
  const bool anySource = call.operation == Operation::kRecv && call.root < 0;
  return parts_.model.cost(call.operation, call.bytes,
                           anySource ? transfer.inner->sourceRank() : call.root);
}

void Traffic::carry(const TransferPtr& transfer, std::vector<TransferPtr>& broken) {
  using Direction = LinkClock::Direction;
  const Operation operation = transfer->call.operation;
  const cost::LinkModel::Cost cost = costOf(*transfer);
  const Direction direction = operation == Operation::kSend   ? Direction::kOut
                              : operation == Operation::kRecv ? Direction::kIn
                                                              : Direction::kBoth;
  // One stream of random numbers for all ranks of a collective, one a rank for messages.
  const auto stream = static_cast<std::uint64_t>(parts_.groupNumber) << 32 |
                      static_cast<std::uint64_t>(isDirect(operation) ? parts_.rank + 1 : 0);
  const bool counted = !isDirect(operation) && parts_.inFlight > 0;
  std::int64_t start = arrival(*transfer);
  // The next may start when the one that many before it has ended, latency and all.
  if (counted && ends_.size() == parts_.inFlight) {
    start = std::max(start, ends_.front());
    ends_.pop_front();
  }
  const std::int64_t carried = parts_.clock->take(direction, start, cost.linkNs);
  const std::int64_t due = std::max(transfer->doneNs, carried) + cost.latencyNs +
                           parts_.jitter.ns(stream, transfer->number);
  if (counted) {
    ends_.push_back(due);
  }
  const std::int64_t limitNs = std::chrono::nanoseconds(transfer->limit).count();
  // It cannot end in time: known now, so it fails now, and not after the wait.
  if (due - transfer->calledNs > limitNs) {
    transfer->problem = fmt::format(
        "timed out: the shaped link would be done with its {} bytes {} ms after the call, the "
        "time limit is {} ms",
        transfer->call.bytes, (due - transfer->calledNs) / 1'000'000, limitNs / 1'000'000);
    broken.push_back(transfer);
    return;
  }
  travelling_.insert(transfer);
  parts_.clock->callAt(closed_ ? 0 : due,
                       [self = shared_from_this(), transfer] { self->end(transfer); });
}

std::vector<int> Traffic::awaited(const Call& call) const {
  std::vector<int> ranks;
  const bool fromRoot =
      call.operation == Operation::kBroadcast || call.operation == Operation::kScatter;
  const bool toRoot = call.operation == Operation::kReduce || call.operation == Operation::kGather;
  for (int rank = 0; rank < parts_.size; ++rank) {
    // Of a broadcast only the root is waited for, of a reduce only the root waits.
    if ((!fromRoot && !toRoot) || (fromRoot && rank == call.root) ||
        (toRoot && parts_.rank == call.root)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::int64_t Traffic::arrival(const Transfer& transfer) const {
  if (transfer.call.operation == Operation::kRecv) {
    return transfer.doneNs;
  }
  std::int64_t latest = transfer.calledNs;
  if (transfer.call.operation == Operation::kSend || parts_.board == nullptr) {
    return latest;
  }
  for (const int rank : awaited(transfer.call)) {
    latest = std::max(latest, parts_.board->read(rank, transfer.number).value_or(latest));
  }
  // When the backend was done here, all that this rank waits for had come: no later time can be
  // true.
  return std::min(latest, transfer.doneNs);
}

void Traffic::end(const TransferPtr& transfer) {
  const Call& call = transfer->call;
  {
    std::lock_guard lock(mutex_);
    // Closed or aborted meanwhile: its work has ended.
    if (travelling_.erase(transfer) == 0) {
      return;
    }
    if (parts_.lane != nullptr && parts_.lane->enabled()) {
      parts_.lane->spanUntil(trace::EventKind::kShaped, transfer->doneTicks, base::ticks(),
                             call.options.step, call.options.bucket,
                             trace::packCollective(transfer->where.sequence, call.bytes),
                             trace::packOperation(call.operation, transfer->where.groupNumber));
    }
  }
  transfer->work->setSourceRank(transfer->inner->sourceRank());
  transfer->work->succeed();
}

void Traffic::close() {
  std::set<TransferPtr> left;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    // The tracer may end before the last transfer does.
    parts_.lane = nullptr;
    left.swap(travelling_);
  }
  for (const TransferPtr& transfer : left) {
    transfer->work->succeed();
  }
}

void Traffic::abort(const std::string& reason) {
  std::set<TransferPtr> left;
  {
    std::lock_guard lock(mutex_);
    left = travelling_;
    left.insert(queue_.begin(), queue_.end());
  }
  for (const TransferPtr& transfer : left) {
    transfer->work->fail(aborted(*transfer, reason));
  }
}

}  // namespace lockstep::process_group
