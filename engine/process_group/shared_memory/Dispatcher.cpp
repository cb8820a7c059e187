#include "engine/process_group/shared_memory/Dispatcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/process_group/shared_memory/Agreement.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::milliseconds;

// How long the end of a group waits for what is in flight.
constexpr milliseconds kDrain = std::chrono::seconds(5);

std::string laneName(const Dispatcher::Options& options, const std::string& name) {
  return options.groupNumber == 0 ? name : fmt::format("{} ({})", name, options.group);
}

}  // namespace

Dispatcher::Dispatcher(Options options, std::unique_ptr<Board> board, std::shared_ptr<Mesh> mesh,
                       std::shared_ptr<Directory> directory)
    : options_(std::move(options)),
      board_(std::move(board)),
      mesh_(std::move(mesh)),
      directory_(std::move(directory)),
      tracer_(options_.tracer != nullptr ? options_.tracer : &silent_),
      queueLane_(&tracer_->lane(laneName(options_, "shm queue"))),
      lane_(&tracer_->lane(laneName(options_, "shm 0"))),
      directLane_(&tracer_->lane(laneName(options_, "shm p2p"))) {}

Dispatcher::~Dispatcher() {
  LOCKSTEP_CHECK(!thread_.joinable(), "process group {} was destroyed before it was closed",
                 options_.group);
}

void Dispatcher::start() {
  thread_ = std::thread([this] { work(); });
  threadId_ = thread_.get_id();
}

void Dispatcher::close() {
  LOCKSTEP_CHECK(std::this_thread::get_id() != threadId_.load(),
                 "process group {} was destroyed from a callback of its own work", options_.group);
  Lock lock(mutex_);
  background_ = ~std::uint64_t{0};  // what nobody waits for is driven, too
  wake_.notify_all();
  const auto busy = [this] {
    return broken_.what.empty() && std::any_of(inFlight_.begin(), inFlight_.end(), [](auto& entry) {
             return !entry.second->abandoned;
           });
  };
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
  const Failure destroyed{"the process group was destroyed before it was done"};
  if (left) {
    breakGroup(destroyed, Patience::kNone);
  } else {
    failAbandoned(destroyed);
  }
  lock.lock();
  // A waiter that drives is about to notice, and leaves its callbacks to the thread.
  drain([this] { return !inFlight_.empty(); });
  closing_ = true;
  wake_.notify_all();
  lock.unlock();
  thread_.join();
}

std::uint64_t Dispatcher::sequence() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

GroupState Dispatcher::state() const {
  std::lock_guard lock(mutex_);
  return broken_.what.empty() ? GroupState::kSuccess : stateAfter(broken_.kind);
}

// Numbers a call and puts it among those in flight; with the mutex held.
OperationPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                               CollectivePtr collective) {
  call.sequence = isDirect(call.operation) ? ++directSequence_ : ++sequence_;
  CommError::Where where;
  where.group = options_.group;
  where.rank = options_.rank;
  where.operation = call.operation;
  where.sequence = call.sequence;
  where.bucket = call.options.bucket;
  queueLane_->instant(trace::EventKind::kCollectiveQueued, call.options.step, call.options.bucket,
                      trace::packCollective(call.sequence, call.bytes),
                      trace::packOperation(call.operation, options_.groupNumber));
  auto operation =
      std::make_shared<Operation>(std::move(call), where, limit, std::move(collective));
  WorkState::Backend backend;
  backend.abort = [self = weak_from_this(), weak = std::weak_ptr<Operation>(operation)] {
    const auto dispatcher = self.lock();
    if (const auto operation = weak.lock(); operation != nullptr && dispatcher != nullptr) {
      dispatcher->abort(*operation);
    }
  };
  backend.waitingFor = [self = weak_from_this(), weak = std::weak_ptr<Operation>(operation)] {
    const auto dispatcher = self.lock();
    const auto operation = weak.lock();
    return operation != nullptr && dispatcher != nullptr ? dispatcher->waitingFor(*operation)
                                                         : std::string();
  };
  operation->work =
      std::make_shared<WorkState>(std::move(where), std::move(outputs), limit, std::move(backend));
  if (!broken_.what.empty()) {
    operation->fail(Failure{"the group is broken: " + broken_.what, -1, broken_.kind});
    return operation;
  }
  operation->entry = ++entries_;
  inFlight_[operation->entry] = operation;
  updateLastWords();
  return operation;
}

OperationPtr Dispatcher::submit(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                                CollectivePtr collective) {
  Lock lock(mutex_);
  OperationPtr operation = enter(std::move(call), std::move(outputs), limit, std::move(collective));
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
  if (!operation->posted || needsThread(operation->call)) {
    background_ = std::max(background_, operation->order());
  }
  advance(lock);
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
  const std::uint64_t tables = tableBytes(operation.call, options_.size);
  if (bytes == 0 || options_.size == 1) {
    operation.source = Source::kNone;
  } else if (bytes + tables <= board_->tuning().inlineBytes) {
    operation.source = Source::kInline;
  } else {
    operation.exposed =
        collective.own().whole() ? Segment::holding(collective.own().at(0), bytes) : nullptr;
    operation.source = operation.exposed != nullptr ? Source::kExposed : Source::kStaged;
  }
}

// Whether some rank may have to do more for this call than to arrive.
bool Dispatcher::needsThread(const Call& call) const {
  const auto ranks = static_cast<std::uint64_t>(options_.size);
  const bool onePerRank = call.operation == trace::Operation::kScatter ||
                          call.operation == trace::Operation::kReduceScatter;
  return ranks > 1 && (call.operation == trace::Operation::kAlltoall ||
                       call.bytes * (onePerRank ? ranks : 1) > board_->tuning().inlineBytes);
}

std::string Dispatcher::waitingFor(const Operation& operation) {
  if (isDirect(operation.call.operation)) {
    const int peer = operation.call.root;
    return operation.call.operation == trace::Operation::kSend
               ? fmt::format("waiting for rank {} to take data", peer)
           : peer >= 0 ? fmt::format("waiting for data from rank {}", peer)
                       : std::string("waiting for data from any rank");
  }
  std::lock_guard lock(mutex_);
  if (operation.ended) {  // its slot may be another's by now
    return "done, but for callbacks of operations before it";
  }
  if (!operation.posted) {
    return "still in the queue";
  }
  const std::string text = missing(operation, options_.rank, *board_).text;
  return text.empty() ? text : "waiting for " + text;
}

Failure Dispatcher::timeOut(const Operation& operation) const {
  const bool direct = isDirect(operation.call.operation);
  if (!direct && operation.posted) {
    if (Failure found = mismatch(operation, options_.rank, *board_); !found.what.empty()) {
      return found;
    }
  }
  std::string text = fmt::format("timed out after {} ms", operation.limit.count());
  if (direct) {
    const int peer = operation.call.root;
    text += operation.call.operation == trace::Operation::kSend
                ? fmt::format(", waiting for rank {} to take data", peer)
            : peer >= 0 ? fmt::format(", waiting for data from rank {}", peer)
                        : std::string(", waiting for data from any rank");
    return Failure{text, peer, CommErrorKind::kTimeout};
  }
  if (!operation.posted) {
    return Failure{text + ", still in the queue", -1, CommErrorKind::kTimeout};
  }
  const Missing found = missing(operation, options_.rank, *board_);
  if (!found.text.empty()) {
    text += ", waiting for " + found.text;
  }
  return Failure{text, found.peer, CommErrorKind::kTimeout};
}

// With the mutex held.
void Dispatcher::updateLastWords() {
  const auto first = std::find_if(inFlight_.begin(), inFlight_.end(), [](const auto& entry) {
    return !entry.second->ended && !entry.second->abandoned;
  });
  const std::uint64_t oldest = first == inFlight_.end() ? 0 : first->first;
  if (oldest == oldest_) {
    return;
  }
  oldest_ = oldest;
  tellOldest(tracer_->lastWords(), oldest == 0 ? nullptr : &first->second->call);
}

}  // namespace lockstep::process_group::shared_memory
