#include "engine/process_group/shaped/Traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/base/Clock.h"

namespace lockstep::process_group {

using trace::Operation;

struct Traffic::Transfer {
  Request request;
  CommError::Where where;
  std::uint64_t number = 0;  // of its kind of operation in this group, from 1
  std::uint64_t sequence = 0;
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

bool Traffic::pairwise(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kRecv;
}

ProcessGroup::WorkPtr Traffic::submit(Request request, const Start& start) {
  auto transfer = std::make_shared<Transfer>();
  transfer->request = std::move(request);
  const Operation operation = transfer->request.operation;
  const bool pair = pairwise(operation);
  {
    std::lock_guard lock(mutex_);
    const std::uint64_t number = (pair ? pairCalls_ : calls_) + 1;
    transfer->number = number;
    transfer->calledNs = base::monotonicNs();
    if (!pair && parts_.board != nullptr) {
      parts_.board->write(number, transfer->calledNs);
    }
    // Nothing of ours is called back in here: the future below gets its callback further down.
    transfer->inner = start();
    (pair ? pairCalls_ : calls_) = number;
    transfer->sequence = transfer->inner->sequence();
    transfer->where = {parts_.group, parts_.rank, operation, transfer->sequence,
                       transfer->request.options.bucket};
    transfer->where.peer = pair ? transfer->request.root : -1;
    transfer->work = std::make_shared<WorkState>(
        transfer->where, std::move(transfer->request.outputs), transfer->request.options.timeout,
        WorkState::Backend{[waiting = std::weak_ptr(transfer)] {
                             if (const auto held = waiting.lock()) {
                               held->inner->abort();
                               held->work->fail(aborted(*held, "by its caller"));
                             }
                           },
                           {}});
    if (!pair) {
      queue_.push_back(transfer);
    }
  }
  transfer->inner->future().whenComplete(
      [self = shared_from_this(), transfer](const auto&) { self->innerDone(transfer); });
  return transfer->work;
}

void Traffic::innerDone(const TransferPtr& transfer) {
  std::vector<TransferPtr> broken;
  const bool failed = transfer->inner->exception() != nullptr;
  {
    std::lock_guard lock(mutex_);
    transfer->doneNs = base::monotonicNs();
    transfer->doneTicks = base::ticks();
    transfer->done = true;
    if (pairwise(transfer->request.operation)) {
      if (!failed) {
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
    const TransferPtr next = std::move(queue_.front());
    queue_.pop_front();
    if (next->inner->exception() == nullptr) {
      carry(next, broken);
    }
  }
}

LinkModel::Cost Traffic::costOf(const Transfer& transfer) const {
  const Request& request = transfer.request;
  // Only now it is known whom a receive from any rank was from.
  if (request.operation == Operation::kRecv && request.root < 0) {
    return parts_.model.cost(Operation::kRecv, request.bytes, transfer.inner->sourceRank());
  }
  return request.cost;
}

void Traffic::carry(const TransferPtr& transfer, std::vector<TransferPtr>& broken) {
  using Direction = LinkClock::Direction;
  const Operation operation = transfer->request.operation;
  const LinkModel::Cost cost = costOf(*transfer);
  const Direction direction = operation == Operation::kSend   ? Direction::kOut
                              : operation == Operation::kRecv ? Direction::kIn
                                                              : Direction::kBoth;
  // One stream of random numbers for all ranks of a collective, one a rank for messages.
  const auto stream = static_cast<std::uint64_t>(parts_.groupNumber) << 32 |
                      static_cast<std::uint64_t>(pairwise(operation) ? parts_.rank + 1 : 0);
  const std::int64_t carried = parts_.clock->take(direction, arrival(*transfer), cost.linkNs);
  const std::int64_t due = std::max(transfer->doneNs, carried) + cost.latencyNs +
                           parts_.model.jitterNs(stream, transfer->number);
  const std::int64_t limitNs = std::chrono::nanoseconds(transfer->request.options.timeout).count();
  if (due - transfer->calledNs > limitNs) {
    transfer->problem = fmt::format(
        "timed out: the shaped link would be done with its {} bytes {} ms after the call, the "
        "time limit is {} ms",
        transfer->request.bytes, (due - transfer->calledNs) / 1'000'000, limitNs / 1'000'000);
    broken.push_back(transfer);
    return;
  }
  travelling_.insert(transfer);
  parts_.clock->callAt(closed_ ? 0 : due,
                       [self = shared_from_this(), transfer] { self->end(transfer); });
}

std::vector<int> Traffic::awaited(const Request& request) const {
  std::vector<int> ranks;
  const bool fromRoot =
      request.operation == Operation::kBroadcast || request.operation == Operation::kScatter;
  const bool toRoot =
      request.operation == Operation::kReduce || request.operation == Operation::kGather;
  for (int rank = 0; rank < parts_.size; ++rank) {
    if ((!fromRoot && !toRoot) || (fromRoot && rank == request.root) ||
        (toRoot && parts_.rank == request.root)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::int64_t Traffic::arrival(const Transfer& transfer) const {
  if (transfer.request.operation == Operation::kRecv) {
    return transfer.doneNs;
  }
  std::int64_t latest = transfer.calledNs;
  if (transfer.request.operation == Operation::kSend || parts_.board == nullptr) {
    return latest;
  }
  for (const int rank : awaited(transfer.request)) {
    latest = std::max(latest, parts_.board->read(rank, transfer.number).value_or(latest));
  }
  // A rank is over before this one was told; its clock cannot say more.
  return std::min(latest, transfer.doneNs);
}

void Traffic::end(const TransferPtr& transfer) {
  const Request& request = transfer->request;
  {
    std::lock_guard lock(mutex_);
    if (travelling_.erase(transfer) == 0) {
      return;
    }
    if (parts_.lane != nullptr && parts_.lane->enabled()) {
      parts_.lane->spanUntil(trace::EventKind::kShaped, transfer->doneTicks, base::ticks(),
                             request.options.step, request.options.bucket,
                             trace::packCollective(transfer->sequence, request.bytes),
                             trace::packOperation(request.operation, parts_.groupNumber));
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
  }
  for (const TransferPtr& transfer : left) {
    transfer->work->fail(aborted(*transfer, reason));
  }
}

}  // namespace lockstep::process_group
