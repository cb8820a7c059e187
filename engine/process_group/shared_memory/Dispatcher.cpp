#include "engine/process_group/shared_memory/Dispatcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/process_group/shared_memory/Agreement.h"

namespace lockstep::process_group::shared_memory {

using std::chrono::milliseconds;

Dispatcher::Dispatcher(Member member, std::unique_ptr<Board> board, std::shared_ptr<Mesh> mesh,
                       std::shared_ptr<Directory> directory)
    : GroupCalls(std::move(member), "shm queue"),
      board_(std::move(board)),
      mesh_(std::move(mesh)),
      directory_(std::move(directory)),
      lane_(&records_.lane("shm 0")),
      directLane_(&records_.lane("shm p2p")) {}

Dispatcher::~Dispatcher() {
  LOCKSTEP_CHECK(!thread_.joinable(), "process group {} was destroyed before it was closed",
                 member_.group);
}

void Dispatcher::start() {
  thread_ = std::thread([this] { work(); });
  threadId_ = thread_.get_id();
}

void Dispatcher::close() {
  mustNotBeOn(onThread());
  Lock lock(mutex_);
  background_ = ~std::uint64_t{0};  // what nobody waits for is driven, too
  wake_.notify_all();
  // A broken group has nothing left that could end well; its calls are ended by breakGroup.
  const auto busy = [this] { return !ledger_.isBroken() && !ledger_.onlyAbandoned(); };
  const auto drain = [&](const auto& more) {
    const auto deadline = Operation::Clock::now() + kDrain;
    while (more() && Operation::Clock::now() < deadline) {
      ++sleepers_;
      changed_.wait_until(lock, deadline);
      --sleepers_;
    }
  };
  drain(busy);
  const bool left = busy();
  lock.unlock();
  const Failure destroyed{kDestroyed};
  if (left) {
    // Other ranks hear of it, as their part of these operations will not come.
    breakGroup(destroyed, Patience::kNone);
  } else {
    failAbandoned(destroyed);
  }
  lock.lock();
  // A waiter that drives is about to notice, and leaves its callbacks to the thread.
  drain([this] { return !ledger_.calls().empty(); });
  closing_ = true;
  wake_.notify_all();
  lock.unlock();
  thread_.join();
}

// With the mutex held.
OperationPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                               CollectivePtr collective) {
  const auto abort = [weak = weak_from_this()](const OperationPtr& operation) {
    if (const auto self = weak.lock()) {
      self->abort(*operation);
    }
  };
  const auto waitingFor = [weak = weak_from_this()](const Operation& operation) {
    const auto self = weak.lock();
    return self != nullptr ? self->waitingFor(operation) : std::string();
  };
  return GroupCalls::enter(std::move(call), std::move(outputs), limit, abort, waitingFor,
                           std::move(collective));
}

OperationPtr Dispatcher::submit(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                                CollectivePtr collective) {
  Lock lock(mutex_);
  OperationPtr operation = enter(std::move(call), std::move(outputs), limit, std::move(collective));
  // The group is broken already: no callbacks can be there yet, so the work is settled here.
  if (operation->failed()) {
    lock.unlock();
    operation->settle();
    return operation;
  }
  if (!lost_.what.empty()) {
    queue_.push_back(operation);  // from which a break of the group takes what it ends
    lock.unlock();
    failOne(*operation, lost_);
    return operation;
  }
  choose(*operation);
  queue_.push_back(operation);
  postWhatMay();
  // Others need more of this rank than its arrival, whether or not somebody here waits.
  if (!operation->posted || needsThread(operation->call)) {
    background_ = std::max(background_, operation->order());
  }
  // When all others have come already, the call completes it by itself.
  advance(lock);
  // Asked under the lock and told without it: the woken thread takes it at once.
  const bool wakes = threadDrives();
  lock.unlock();
  if (wakes) {
    wake_.notify_one();
  }
  return operation;
}

OperationPtr Dispatcher::open(Call call, std::vector<at::Tensor> outputs, milliseconds limit) {
  OperationPtr operation;
  {
    std::lock_guard lock(mutex_);
    operation = enter(std::move(call), std::move(outputs), limit, nullptr);
    operation->startTicks = base::ticks();
  }
  if (operation->entry == 0) {
    operation->settle();
  }
  return operation;
}

void Dispatcher::end(const OperationPtr& operation, const Failure& alone) {
  if (!alone.what.empty()) {
    operation->fail(alone);
  }
  Lock lock(mutex_);
  finish(operation, lock);
}

// Says how this rank shows its bytes.
void Dispatcher::choose(Operation& operation) const {
  const Collective& collective = *operation.collective();
  const std::uint64_t bytes = collective.shown();
  const std::uint64_t tables = tableBytes(operation.call, member_.size);
  if (bytes == 0 || member_.size == 1) {
    operation.source = Source::kNone;
  } else if (bytes + tables <= board_->tuning().inlineBytes) {
    operation.source = Source::kInline;
  } else {
    // In a segment of this process that other ranks can map, as from allocate(): it need not be
    // copied.
    operation.exposed =
        collective.own().whole() ? Segment::holding(collective.own().at(0), bytes) : nullptr;
    operation.source = operation.exposed != nullptr ? Source::kExposed : Source::kStaged;
  }
}

// Whether some rank may have to do more for this call than to arrive.
bool Dispatcher::needsThread(const Call& call) const {
  const auto ranks = static_cast<std::uint64_t>(member_.size);
  const bool onePerRank = call.operation == trace::Operation::kScatter ||
                          call.operation == trace::Operation::kReduceScatter;
  // Call::bytes of these two is one rank's part; what moves is size times that.
  return ranks > 1 && (call.operation == trace::Operation::kAlltoall ||
                       call.bytes * (onePerRank ? ranks : 1) > board_->tuning().inlineBytes);
}

std::string Dispatcher::waitingFor(const Operation& operation) {
  if (isDirect(operation.call.operation)) {
    return operation.waitingFor();
  }
  std::lock_guard lock(mutex_);
  if (operation.ended) {  // its slot may be another's by now
    return "done, but for callbacks of operations before it";
  }
  return operation.posted ? missing(operation, member_.rank, *board_).text : operation.waitingFor();
}

Failure Dispatcher::timeOut(const Operation& operation) const {
  const bool direct = isDirect(operation.call.operation);
  if (!direct && operation.posted) {
    if (Failure found = mismatch(operation, member_.rank, *board_); !found.what.empty()) {
      return found;
    }
  }
  if (direct || !operation.posted) {
    return Failure{operation.timedOut(operation.waitingFor()), direct ? operation.call.root : -1,
                   CommErrorKind::kTimeout};
  }
  const Missing found = missing(operation, member_.rank, *board_);
  return Failure{operation.timedOut(found.text), found.peer, CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::shared_memory
