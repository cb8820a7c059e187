#include "engine/process_group/gloo/Dispatcher.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDestroyed = "the process group was destroyed before it was done";
// How long the end of a group waits for what is in flight.
constexpr milliseconds kDrain = std::chrono::seconds(5);
// How long a failing rank waits for the store to take its reason.
constexpr milliseconds kTell = milliseconds(500);
// How soon a barrier that waits for earlier operations notices its own failure.
constexpr milliseconds kPoll = milliseconds(50);

std::string laneName(const Dispatcher::Options& options, const std::string& name) {
  return options.groupNumber == 0 ? name : fmt::format("{} ({})", name, options.group);
}

}  // namespace

std::byte* Scratch::atLeast(std::size_t bytes) {
  if (bytes_ < bytes) {
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
    if (memory_ == nullptr) {
      bytes_ = 0;
      throw std::bad_alloc();
    }
    bytes_ = rounded;
  }
  return memory_.get();
}

void Scratch::Free::operator()(std::byte* memory) const { std::free(memory); }

Dispatcher::Dispatcher(Options options, Transport& transport, std::shared_ptr<store::Store> store)
    : options_(std::move(options)),
      transport_(transport),
      notices_(std::move(store), "gloo/" + options_.group, options_.rank, options_.size),
      tracer_(options_.tracer != nullptr ? options_.tracer : &silent_),
      wireCounter_(options_.tracer == nullptr && options_.wireCounter != nullptr
                       ? options_.wireCounter
                       : tracer_),
      queueLane_(&tracer_->lane(laneName(options_, "gloo queue"))),
      suspectSince_(static_cast<std::size_t>(options_.size)) {
  for (int i = 0; i < options_.threads; ++i) {
    trace::Lane& lane = tracer_->lane(laneName(options_, fmt::format("gloo {}", i)));
    workers_.emplace_back([this, i, &lane] { workerLoop(i, lane); });
  }
  watch_ = std::thread([this] { watchLoop(); });
}

Dispatcher::~Dispatcher() {
  drain();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_all();
  watchWake_.notify_all();
  for (std::thread& worker : workers_) {
    LOCKSTEP_CHECK(worker.get_id() != std::this_thread::get_id(),
                   "process group {} was destroyed from a callback of its own work",
                   options_.group);
    worker.join();
  }
  watch_.join();
}

void Dispatcher::drain() {
  const auto over = [this] {
    return std::all_of(inFlight_.begin(), inFlight_.end(),
                       [](const auto& entry) { return entry.second->abandoned.load(); });
  };
  std::unique_lock lock(mutex_);
  gone_.wait_for(lock, kDrain, over);
  const bool left = !over();
  lock.unlock();
  if (left) {
    breakGroup(Failure{kDestroyed}, 0);
  } else {
    failAbandoned();
  }
}

void Dispatcher::failAbandoned() {
  {
    std::lock_guard lock(mutex_);
    if (inFlight_.empty()) {
      return;
    }
    for (const auto& [order, flight] : inFlight_) {
      flight->fail(Failure{kDestroyed});
    }
  }
  std::lock_guard lock(handlerMutex_);
  if (breakHandler_) {
    breakHandler_();
  }
}

std::uint64_t Dispatcher::sequence() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

GroupState Dispatcher::state() const {
  std::lock_guard lock(mutex_);
  return broken_.what.empty() ? GroupState::kSuccess : stateAfter(broken_.kind);
}

void Dispatcher::setBreakHandler(std::function<void()> handler) {
  std::lock_guard lock(handlerMutex_);
  breakHandler_ = std::move(handler);
}

// Numbers a call and puts it among those in flight; with the mutex held.
std::shared_ptr<Flight> Dispatcher::enter(Call call, std::vector<at::Tensor> outputs,
                                          milliseconds limit) {
  const bool direct = isDirect(call.operation);
  call.sequence = direct ? ++directSequence_ : ++sequence_;
  CommError::Where where;
  where.group = options_.group;
  where.rank = options_.rank;
  where.operation = call.operation;
  where.sequence = call.sequence;
  where.bucket = call.options.bucket;
  queueLane_->instant(trace::EventKind::kCollectiveQueued, call.options.step, call.options.bucket,
                      trace::packCollective(call.sequence, call.bytes),
                      trace::packOperation(call.operation, options_.groupNumber));
  ::gloo::Context* context = transport_.context(direct ? 0 : call.sequence);
  auto flight = std::make_shared<Flight>(std::move(call), where, limit, context, options_.rank,
                                         options_.size);
  WorkState::Backend backend;
  backend.abort = [weak = std::weak_ptr<Flight>(flight)] {
    const auto flight = weak.lock();
    if (flight != nullptr && isDirect(flight->call.operation)) {
      flight->abandoned.store(true);
    } else if (flight != nullptr) {
      flight->fail(Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
    }
  };
  backend.waitingFor = [weak = std::weak_ptr<Flight>(flight)] {
    const auto flight = weak.lock();
    return flight ? flight->waitingFor() : std::string();
  };
  flight->work = std::make_shared<WorkState>(where, std::move(outputs), limit, std::move(backend));
  if (broken_.what.empty()) {
    flight->order = ++calls_;
    inFlight_[flight->order] = flight;
    updateLastWords();
  } else {
    flight->fail(Failure{"the group is broken: " + broken_.what, -1, broken_.kind});
  }
  return flight;
}

std::shared_ptr<WorkState> Dispatcher::submit(Call call, std::vector<at::Tensor> outputs,
                                              milliseconds limit, Body body) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Flight> flight = enter(std::move(call), std::move(outputs), limit);
  std::shared_ptr<WorkState> work = flight->work;
  if (flight->failed()) {
    lock.unlock();
    work->fail(flight->error());
    return work;
  }
  queue_.push_back(Task{flight, std::move(body)});
  lock.unlock();
  queued_.notify_one();
  return work;
}

std::shared_ptr<Flight> Dispatcher::open(Call call, std::vector<at::Tensor> outputs,
                                         milliseconds limit, std::shared_ptr<WorkState>& work) {
  std::shared_ptr<Flight> flight;
  {
    std::lock_guard lock(mutex_);
    flight = enter(std::move(call), std::move(outputs), limit);
  }
  work = flight->work;
  if (flight->failed()) {
    work->fail(flight->error());
    return nullptr;
  }
  flight->setStarted();
  return flight;
}

void Dispatcher::record(const Flight& flight, trace::Lane& lane, std::uint64_t startTicks) const {
  const Call& call = flight.call;
  lane.span(trace::EventKind::kCollective, startTicks, call.options.step, call.options.bucket,
            trace::packCollective(call.sequence, call.bytes),
            trace::packOperation(call.operation, options_.groupNumber));
}

void Dispatcher::end(const std::shared_ptr<Flight>& flight, trace::Lane* lane,
                     std::uint64_t startTicks, const std::optional<Failure>& alone) {
  if (lane != nullptr) {
    record(*flight, *lane, startTicks);
  }
  if (flight->sentMessages != 0) {
    wireCounter_->countSent(flight->sentBytes, flight->sentMessages);
  }
  if (flight->receivedBytes != 0) {
    wireCounter_->countReceived(flight->receivedBytes);
  }
  if (alone) {
    flight->fail(*alone);
  }
  const bool failed = flight->failed();
  {
    std::lock_guard lock(mutex_);
    flight->ended = true;
    if (!failed) {
      moment_.renew();
    }
    updateLastWords();
  }
  if (failed) {
    flight->work->fail(flight->error());
  } else {
    flight->work->succeed();
    withdraw(*flight);
  }
  {
    std::lock_guard lock(mutex_);
    inFlight_.erase(flight->order);
  }
  gone_.notify_all();
  closeWhenOver();
}

void Dispatcher::waitForEarlier(const Flight& flight) {
  std::vector<std::shared_ptr<WorkState>> earlier;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [order, other] : inFlight_) {
      if (order < flight.order && !other->abandoned.load()) {
        earlier.push_back(other->work);
      }
    }
  }
  // A work is complete before its callbacks run, which may wait for this very operation.
  for (const auto& work : earlier) {
    while (!work->future().waitFor(kPoll)) {
      if (flight.failed()) {
        throw Interrupted{};
      }
    }
  }
}

// With the mutex held.
void Dispatcher::updateLastWords() {
  const auto first = std::find_if(inFlight_.begin(), inFlight_.end(), [](const auto& entry) {
    return !entry.second->ended && !entry.second->abandoned.load();
  });
  const std::uint64_t oldest = first == inFlight_.end() ? 0 : first->first;
  if (oldest == oldest_) {
    return;
  }
  oldest_ = oldest;
  tellOldest(tracer_->lastWords(), oldest == 0 ? nullptr : &first->second->call);
}

void Dispatcher::workerLoop(int index, trace::Lane& lane) {
  base::nameThisThread(fmt::format("gloo {}", index));
  const at::NoGradGuard noGrad;
  Scratch scratch;
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    Task task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run(std::move(task), lane, scratch);
    lock.lock();
  }
}

void Dispatcher::run(Task task, trace::Lane& lane, Scratch& scratch) {
  Flight& flight = *task.flight;
  flight.setStarted();
  const std::uint64_t start = base::ticks();
  bool failed = true;
  try {
    if (!flight.failed()) {
      task.body(flight, scratch);
      failed = false;
    }
  } catch (const Interrupted&) {
  } catch (const PeerLost& lost) {
    flight.fail(explain(lost));
  } catch (const std::exception& error) {
    flight.fail(Failure{error.what()});
  }
  task.body = nullptr;
  if (!failed && !flight.failed()) {
    end(task.flight, &lane, start);
    return;
  }
  const Failure failure = flight.failure();
  fail(Failure{fmt::format("given up because {} #{} failed: {}", trace::name(flight.call.operation),
                           flight.call.sequence, failure.what),
               failure.peer, failure.kind},
       flight.order);
  end(task.flight, &lane, start);
  tellOthers();
}

void Dispatcher::fail(const Failure& failure, std::uint64_t before) {
  std::vector<std::shared_ptr<Flight>> all;
  std::vector<Task> waiting;
  {
    std::lock_guard lock(mutex_);
    if (broken_.what.empty()) {
      broken_ = failure;
      moment_.begin();
    }
    for (const auto& [order, flight] : inFlight_) {
      if (order >= before || isDirect(flight->call.operation)) {
        all.push_back(flight);
      }
    }
    const auto rest = std::find_if(queue_.begin(), queue_.end(), [&](const Task& task) {
      return task.flight->order >= before;
    });
    std::move(rest, queue_.end(), std::back_inserter(waiting));
    queue_.erase(rest, queue_.end());
  }
  for (const auto& flight : all) {
    flight->fail(failure);
  }
  for (Task& task : waiting) {
    task.body = nullptr;
    end(task.flight, nullptr, 0);
  }
  std::lock_guard lock(handlerMutex_);
  if (breakHandler_) {
    breakHandler_();
  }
}

void Dispatcher::tellOthers() {
  Failure reason;
  {
    std::unique_lock lock(mutex_);
    if (told_) {
      // Who comes second may be about to end the process: not before the reason stands.
      announcedWake_.wait_for(lock, kTell, [this] { return announced_; });
      return;
    }
    told_ = true;
    reason = broken_;
  }
  if (options_.size > 1) {
    notices_.announce(reason, kTell);
  }
  {
    std::lock_guard lock(mutex_);
    announced_ = true;
  }
  announcedWake_.notify_all();
  closeWhenOver();
}

// Others may wait for this rank's part in what is spared.
void Dispatcher::closeWhenOver() {
  {
    std::lock_guard lock(mutex_);
    const bool spares = std::any_of(inFlight_.begin(), inFlight_.end(), [](const auto& entry) {
      return !entry.second->ended && !entry.second->failed();
    });
    if (!announced_ || closed_ || spares || options_.size == 1) {
      return;
    }
    closed_ = true;
  }
  transport_.close();
}

void Dispatcher::breakGroup(const Failure& failure, std::uint64_t before) {
  fail(failure, before);
  tellOthers();
}

Failure Dispatcher::explain(const PeerLost& lost) {
  std::string text = fmt::format("lost the connection to rank {} ({})", lost.peer, lost.lower);
  const Blame blame = blameOf(notices_.reasons(kAsk), options_.rank);
  if (blame.text.empty() && transport_.left(lost.peer)) {
    return Failure{fmt::format("rank {} has left the group", lost.peer), lost.peer,
                   CommErrorKind::kNetwork};
  }
  if (blame.text.empty()) {
    return Failure{text + "; its process has probably ended", lost.peer, CommErrorKind::kNetwork};
  }
  const bool other = blame.culprit >= 0 && blame.culprit != options_.rank;
  return Failure{text + "; " + blame.text, other ? blame.culprit : lost.peer,
                 CommErrorKind::kRemote};
}

}  // namespace lockstep::process_group::gloo
