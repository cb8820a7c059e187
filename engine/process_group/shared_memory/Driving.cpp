// The queue of a Dispatcher: see Note [Who drives].

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/shared_memory/Agreement.h"
#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::milliseconds;

// How soon who waits for another thread of this rank looks again.
constexpr milliseconds kLook = milliseconds(50);

}  // namespace

// These are called with the mutex held.

bool Dispatcher::slotFree(std::uint64_t order) const {
  if (order <= Board::kSlots) {
    return true;
  }
  // The counts are of 32 bits, of which reached() compares the distance.
  const auto before = static_cast<std::uint32_t>(order - Board::kSlots);
  for (int rank = 0; rank < member_.size; ++rank) {
    if (!board_->completed(rank).reached(before)) {
      return false;
    }
  }
  return true;
}

bool Dispatcher::directsBefore(const Operation& operation) const {
  for (const auto& [entry, other] : ledger_.calls()) {
    // Entries count all calls of this rank, sends and receives too, in their order.
    if (entry >= operation.entry) {
      break;
    }
    if (isDirect(other->call.operation) && !other->ended && !other->abandoned) {
      return true;
    }
  }
  return false;
}

bool Dispatcher::mayPost(const Operation& operation) const {
  // Staging has one set of buffers, which the driver fills when its turn has come (awaitTurn).
  return operation.order() == posted_ + 1 && operation.source != Source::kStaged &&
         slotFree(operation.order()) &&
         !(operation.call.operation == trace::Operation::kBarrier && directsBefore(operation));
}

void Dispatcher::post(Operation& operation) {
  const std::uint64_t order = operation.order();
  const Collective& collective = *operation.collective();
  Place& place = board_->place(order, member_.rank);
  writeCall(operation, member_.rank, *board_);
  place.source = operation.source;
  place.shown = collective.shown();
  place.segment = place.offset = 0;
  if (operation.source == Source::kInline) {
    collective.own().read(
        0, collective.shown(),
        board_->inlineArea(order, member_.rank) + tableBytes(operation.call, member_.size));
  } else if (operation.source != Source::kNone) {
    Segment& segment = operation.source == Source::kStaged ? *staging_ : *operation.exposed;
    // Before the arrival: who reads the place has the segment's announcement on its way already.
    directory_->announce(segment);
    place.segment = segment.id();
    if (operation.source == Source::kExposed) {
      place.offset = static_cast<std::uint64_t>(collective.own().at(0) - segment.data());
    }
  }
  place.steps.store(1, std::memory_order_relaxed);
  place.reducing.store(0, std::memory_order_relaxed);
  // Released after all that is written above: hasCome() acquires it.
  place.order.store(order, std::memory_order_release);
  operation.posted = true;
  operation.startTicks = base::ticks();
  posted_ = order;
  Signal& arrivals = board_->slot(order).arrivals;
  const std::uint32_t before = bases_[order % Board::kSlots].arrivals;
  // The last to come wakes the drivers of the others.
  if (arrivals.add(1) - before == static_cast<std::uint32_t>(member_.size)) {
    arrivals.wakeAll();
  }
}

void Dispatcher::postWhatMay() {
  if (queue_.empty() || queue_.back()->order() <= posted_) {
    return;
  }
  for (const OperationPtr& operation : queue_) {
    // In the queue's order: the first that may not be posted holds back those after it.
    if (operation->order() == posted_ + 1 && !operation->failed()) {
      if (!mayPost(*operation)) {
        return;
      }
      post(*operation);
    }
  }
}

bool Dispatcher::allHaveCome(const Operation& operation) const {
  const std::uint64_t order = operation.order();
  const std::uint32_t before = bases_[order % Board::kSlots].arrivals;
  return operation.posted &&
         board_->slot(order).arrivals.reached(before + static_cast<std::uint32_t>(member_.size));
}

// Of an operation that all have come to: whether it can be completed without waiting for anybody.
bool Dispatcher::allInline(const Operation& operation) const {
  for (int rank = 0; rank < member_.size; ++rank) {
    if (board_->place(operation.order(), rank).source > Source::kInline) {
      return false;
    }
  }
  return true;
}

bool Dispatcher::ready(const Operation& operation) const {
  return allHaveCome(operation) && !board_->refused(operation.order()) && allInline(operation);
}

void Dispatcher::advance(Lock& lock) {
  while (!driving_ && !queue_.empty() && ready(*queue_.front())) {
    runHead(lock, false);
  }
}

void Dispatcher::advance() {
  Lock lock(mutex_);
  advance(lock);
  if (threadDrives()) {  // what another thread has queued meanwhile
    wake_.notify_one();
  }
}

bool Dispatcher::threadDrives() const {
  return !driving_ && !queue_.empty() && queue_.front()->order() <= background_;
}

void Dispatcher::sleep(Lock& lock) {
  const Asleep asleep(*board_);
  ++sleepers_;
  changed_.wait_for(lock, kLook);
  --sleepers_;
}

// Runs the first operation of the queue to its end; nobody drives.
void Dispatcher::runHead(Lock& lock, bool spins) {
  const OperationPtr operation = queue_.front();
  // Read under the lock: a call may post it meanwhile, for which awaitTurn looks again.
  const bool posted = operation->posted;
  driving_ = true;
  lock.unlock();
  try {
    if (!operation->failed()) {
      perform(*operation, posted, spins);
    }
  } catch (const Interrupted&) {
    // It knows why.
  } catch (const Failure& failure) {
    operation->fail(failure);
  } catch (const std::exception& error) {
    operation->fail(Failure{error.what()});
  }
  // Not under the lock, which breakGroup takes.
  if (operation->failed()) {
    failOne(*operation, operation->failure());
  }
  lock.lock();
  queue_.pop_front();
  if (!operation->failed()) {
    // Signals of a slot are never set back: its next operation counts on from here.
    Transfer::Bases& bases = bases_[operation->order() % Board::kSlots];
    bases.arrivals += operation->meetings * static_cast<std::uint32_t>(member_.size);
    bases.finished += operation->blocks;
    Signal& completed = board_->completed(member_.rank);
    // Slots are free when every rank has said so; those who wait for one sleep on it.
    completed.set(static_cast<std::uint32_t>(operation->order()));
    completed.wakeAll();
  }
  driving_ = false;
  postWhatMay();
  finish(operation, lock);
}

void Dispatcher::perform(Operation& operation, bool posted, bool spins) {
  const at::NoGradGuard noGrad;
  Waiter waiter(operation, *board_, spins ? &spin_ : nullptr, [&] {
    std::lock_guard lock(mutex_);
    return timeOut(operation);
  });
  if (!posted) {
    awaitTurn(operation, waiter);
  }
  Transfer transfer(operation, member_.rank, *board_, *directory_, waiter,
                    staging_ != nullptr ? staging_->data() : nullptr,
                    bases_[operation.order() % Board::kSlots]);
  transfer.run();
  operation.collective()->finish();
}

void Dispatcher::awaitTurn(Operation& operation, Waiter& waiter) {
  const std::uint64_t order = operation.order();
  // What the slot's earlier operation left may still be read.
  if (order > Board::kSlots) {
    for (int rank = 0; rank < member_.size; ++rank) {
      waiter.until(board_->completed(rank), static_cast<std::uint32_t>(order - Board::kSlots));
    }
  }
  if (operation.source == Source::kStaged) {
    Transfer::layOutFirst(operation, member_.rank, *board_, staging());
  }
  Lock lock(mutex_);
  // A barrier waits for this rank's sends and receives before it. They end elsewhere, so this looks
  // again and again.
  while (operation.call.operation == trace::Operation::kBarrier && directsBefore(operation)) {
    sleep(lock);
    lock.unlock();
    waiter.check();
    lock.lock();
  }
  if (!operation.posted) {  // by a call that came meanwhile
    post(operation);
  }
  postWhatMay();
}

std::byte* Dispatcher::staging() {
  if (staging_ == nullptr) {
    auto made = Segment::create(Transfer::kBuffers * board_->tuning().chunkBytes);
    if (!made.ok()) {
      throw std::runtime_error(made.error().message());
    }
    staging_ = std::move(made).value();
  }
  return staging_->data();
}

// Ends an operation, well or by its failure: events, last words, then its callbacks. The lock is
// given up meanwhile.
void Dispatcher::finish(const OperationPtr& operation, Lock& lock) {
  const Call& call = operation->call;
  const bool direct = isDirect(call.operation);
  records_.ended(*operation, direct ? *directLane_ : *lane_);
  if (!operation->failed()) {
    records_.count(wireBytes(call, member_.rank, member_.size, tuning().inlineBytes));
  }
  ledger_.end(*operation);
  // What somebody asked a future of may have callbacks. They run on the communication thread, in
  // order, so what follows such an operation is settled there, too; everything else here, by the
  // thread that ended it.
  if (operation->handed || !ending_.empty() || (direct && operation->failed())) {
    ending_.push_back(operation);
    wake_.notify_one();
  } else {
    operation->settling = true;
    settle(operation, lock);
  }
  if (sleepers_ > 0) {
    changed_.notify_all();
  }
}

// The works of earlier operations that have ended, and that other threads are about to tell.
std::vector<std::shared_ptr<WorkState>> Dispatcher::untoldBefore(const Operation& operation) const {
  std::vector<std::shared_ptr<WorkState>> works;
  for (const auto& [entry, other] : ledger_.calls()) {
    if (entry < operation.entry && other->ended && !other->settled) {
      works.push_back(other->work);
    }
  }
  return works;
}

void Dispatcher::settle(const OperationPtr& operation, Lock& lock) {
  std::vector<std::shared_ptr<WorkState>> earlier;
  if (operation->call.operation == trace::Operation::kBarrier && !operation->failed()) {
    // A barrier says that all before it is done; so it is settled after them.
    earlier = untoldBefore(*operation);
  }
  lock.unlock();
  // A work is complete before its callbacks run, which may wait for this very barrier.
  for (const auto& work : earlier) {
    static_cast<void>(work->future().waitFor(operation->limit));
  }
  {
    // Out of the lock: the end of a tensor may end a segment, which sends.
    const CollectivePtr gone = operation->takeCollective();  // its tensors may go
    operation->exposed.reset();
  }
  operation->settle();
  lock.lock();
  operation->settled = true;
  ledger_.remove(*operation);
  if (sleepers_ > 0) {
    changed_.notify_all();
  }
}

void Dispatcher::settleNext(Lock& lock) {
  const OperationPtr operation = ending_.front();
  ending_.pop_front();
  settle(operation, lock);
}

void Dispatcher::handOver(Operation& operation) {
  Lock lock(mutex_);
  // It has no callbacks yet; one that came before the work is told would run there.
  while (operation.settling && !operation.settled) {
    sleep(lock);
  }
  if (operation.ended) {
    return;
  }
  operation.handed = true;
  if (!isDirect(operation.call.operation)) {
    background_ = std::max(background_, operation.order());
    if (threadDrives()) {
      wake_.notify_one();
    }
  }
}

// Returns once the operation has ended; who drove will settle it, or the communication thread.
void Dispatcher::drive(const OperationPtr& operation) {
  const bool onThread = this->onThread();
  const bool direct = isDirect(operation->call.operation);
  if (direct && !onThread) {
    return;  // it runs elsewhere
  }
  Lock lock(mutex_);
  // The communication thread, inside a callback, is the one that settles others: it goes on until
  // the operation is settled. Any other thread may leave as soon as the operation has ended.
  while (!(onThread ? operation->settled : operation->ended)) {
    if (onThread && !ending_.empty()) {
      settleNext(lock);
    } else if (!driving_ && !queue_.empty() && !direct) {
      // Only a caller spins (Note [Who spins]).
      runHead(lock, !onThread);
    } else {
      sleep(lock);
    }
  }
  if (threadDrives()) {
    wake_.notify_one();
  }
}

void Dispatcher::work() {
  base::nameThisThread("shm 0");
  const at::NoGradGuard noGrad;
  Lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || !ending_.empty() || threadDrives(); });
    // The others count it among those who compete for cores.
    board_->awake().fetch_add(1);
    while (!ending_.empty() || threadDrives()) {
      if (!ending_.empty()) {
        settleNext(lock);
      } else {
        runHead(lock, false);
      }
    }
    board_->awake().fetch_sub(1);
    if (closing_) {
      return;
    }
  }
}

}  // namespace lockstep::process_group::shared_memory
