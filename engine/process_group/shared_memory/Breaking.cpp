// How the group of a Dispatcher breaks: see Note [What an abort leaves].

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "engine/process_group/shared_memory/Agreement.h"
#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::milliseconds;

// How long the reason of another rank may be on its way.
constexpr milliseconds kHearsay = std::chrono::seconds(1);

}  // namespace

// Nobody else need hear of a send or receive that is given up; the other rank's part may still
// come.
void Dispatcher::abort(Operation& operation) {
  if (!isDirect(operation.call.operation)) {
    failOne(operation, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
    return;
  }
  std::lock_guard lock(mutex_);
  // Its time limit does not count any more, and barriers do not wait for it.
  operation.abandoned = true;
  ledger_.updateLastWords();
  changed_.notify_all();
}

// Of the end of the group, which the others need not take for a failure.
void Dispatcher::failAbandoned(const Failure& failure) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [entry, operation] : ledger_.calls()) {
      if (operation->abandoned) {
        operation->fail(failure);
      }
    }
  }
  if (breakHandler_) {
    breakHandler_();
  }
}

void Dispatcher::failOne(Operation& operation, const Failure& failure) {
  const bool direct = isDirect(operation.call.operation);
  // Delivered: it has ended well for others, so it does here.
  if (!direct && !operation.failed() && !board_->refuse(operation.order())) {
    return;
  }
  operation.fail(failure);
  breakGroup(givenUpFor(operation.call, operation.failure()));
}

// How many operations at the head of the queue may still end well; delivers what it can. With the
// mutex held.
std::size_t Dispatcher::spared(Patience patience) {
  std::size_t count = 0;
  bool sure = true;  // that all before is delivered
  for (const OperationPtr& operation : queue_) {
    const std::uint64_t order = operation->order();
    if (operation->failed() || board_->refused(order)) {
      break;
    }
    if (!board_->delivered(order)) {
      sure = sure && allHaveCome(*operation) && allInline(*operation);
      // What all have come to needs nobody any more, and is delivered. Of the rest, patience spares
      // what other ranks may still complete.
      if (sure ? !board_->deliver(order) : patience == Patience::kNone) {
        break;
      }
    }
    ++count;
  }
  return count;
}

// Refuses all but what is spared, and returns how much that is. With the mutex held.
std::size_t Dispatcher::refuseRest(Patience patience) {
  for (;;) {
    const std::size_t count = spared(patience);
    const bool all = count == queue_.size();
    // Another rank may deliver the first of the rest meanwhile. When all in the queue is spared, it
    // is the first call that has not been made yet that is refused.
    if (board_->refuse(all ? ledger_.sequence() + 1 : queue_[count]->order()) || all ||
        queue_[count]->failed()) {
      return count;
    }
  }
}

void Dispatcher::breakGroup(const Failure& failure, Patience patience) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    const auto now = Operation::Clock::now();
    first = ledger_.breakBy(failure);
    if (first) {
      // The moment begins with the first failure and is not begun anew by those that follow from
      // it.
      ledger_.moment.begin();
    }
    const std::size_t left = refuseRest(ledger_.moment.over(now) ? Patience::kNone : patience);
    for (const auto& [entry, operation] : ledger_.calls()) {
      if (!operation->ended && isDirect(operation->call.operation)) {
        operation->fail(failure);
      }
    }
    const auto rest = queue_.begin() + static_cast<std::ptrdiff_t>(left);
    for (auto operation = rest; operation != queue_.end(); ++operation) {
      // What this rank was about to find by itself comes before what another one says.
      const Failure own =
          allHaveCome(**operation) ? mismatch(**operation, member_.rank, *board_) : Failure{};
      (*operation)->fail(own.what.empty() ? failure : own);
    }
    // The head is ended by who runs it, who notices; the others by the communication thread.
    const auto over = rest + (driving_ && left == 0 ? 1 : 0);
    for (auto operation = over; operation != queue_.end(); ++operation) {
      (*operation)->ended = true;
      ending_.push_back(*operation);
    }
    queue_.erase(over, queue_.end());
    background_ = ~std::uint64_t{0};  // what is left has no time for its caller to come
    ledger_.updateLastWords();
    wake_.notify_one();
    changed_.notify_all();
  }
  if (breakHandler_) {
    breakHandler_();
  }
  // Who only follows another rank's failure does not tell it again: that one has told all.
  if (first && failure.kind != CommErrorKind::kRemote) {
    Message::Header header;
    header.kind = Message::Kind::kGaveUp;
    header.peer = failure.peer;
    mesh_->sendToAll(header, failure.what);
  }
}

void Dispatcher::lose(int rank, const Failure& failure) {
  bool needed = false;
  {
    std::lock_guard lock(mutex_);
    // What it had to give to a small operation that all have come to stands on the board.
    const auto needs = [&](const Operation& operation) {
      return isDirect(operation.call.operation)
                 ? operation.call.root == rank
                 : !board_->delivered(operation.order()) && !ready(operation);
    };
    needed = std::any_of(ledger_.calls().begin(), ledger_.calls().end(), [&](const auto& entry) {
      return !entry.second->ended && !entry.second->abandoned && needs(*entry.second);
    });
    if (!needed && lost_.what.empty()) {
      lost_ = failure;
    }
  }
  if (needed) {
    breakGroup(failure, Patience::kNone);
  }
}

// Where another rank has given up, its reason is on its way to the watch. With the mutex held.
bool Dispatcher::hears() {
  const auto now = Operation::Clock::now();
  if (board_->broken()) {
    reasonBy_ = reasonBy_.value_or(now + kHearsay);
  }
  return reasonBy_ && now < *reasonBy_;
}

bool Dispatcher::reasonMayCome() {
  std::lock_guard lock(mutex_);
  return !ledger_.isBroken() && hears();
}

bool Dispatcher::checkTimes() {
  OperationPtr expired;
  bool any = false;
  bool momentOver = false;
  Failure failure;
  {
    std::lock_guard lock(mutex_);
    const auto now = Operation::Clock::now();
    // A broken group has its reason, and one that may come would be better than "timed out".
    const bool mayFail = !ledger_.isBroken() && !hears();
    for (const auto& [entry, operation] : ledger_.calls()) {
      any = true;
      if (!operation->ended && !operation->abandoned && operation->expired(now) && mayFail) {
        expired = operation;
        failure = timeOut(*operation);
        break;
      }
    }
    if (ledger_.isBroken() && !queue_.empty() && ledger_.moment.over(now)) {
      momentOver = true;
      failure = ledger_.broken();
    }
  }
  // Both outside of the lock, which they take.
  if (momentOver) {
    breakGroup(failure, Patience::kNone);
  }
  if (expired != nullptr) {
    failOne(*expired, failure);
  }
  return any;
}

}  // namespace lockstep::process_group::shared_memory
