#include "engine/process_group/mpi/Dispatcher.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Check.h"
#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/WireBytes.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::mpi {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDestroyed = "the process group was destroyed before it was done";
// How long the end of a group waits for what is in flight.
constexpr milliseconds kDrain = std::chrono::seconds(5);
// How soon a barrier of a group of one that waits for earlier operations notices its own failure.
constexpr milliseconds kPoll = milliseconds(50);

std::string laneName(const Dispatcher::Options& options, const std::string& name) {
  return options.groupNumber == 0 ? name : fmt::format("{} ({})", name, options.group);
}

}  // namespace

Dispatcher::Dispatcher(Options options, const Connected& connected)
    : options_(std::move(options)),
      runtime_(connected.runtime),
      comm_(connected.comm),
      barrierComm_(connected.barriers),
      tracer_(options_.tracer != nullptr ? options_.tracer : &silent_),
      wireCounter_(options_.tracer == nullptr && options_.wireCounter != nullptr
                       ? options_.wireCounter
                       : tracer_),
      queueLane_(&tracer_->lane(laneName(options_, "mpi queue"))),
      pointToPoint_(std::make_unique<PointToPoint>(*this, comm_)),
      inquiry_(std::make_unique<Inquiry>(comm_, options_.rank, options_.size)) {
  for (int i = 0; i < options_.threads; ++i) {
    trace::Lane& lane = tracer_->lane(laneName(options_, fmt::format("mpi {}", i)));
    workers_.emplace_back([this, i, &lane] { workerLoop(i, lane); });
  }
}

Dispatcher::~Dispatcher() {
  abandon();
}

void Dispatcher::close() {
  std::unique_lock lock(mutex_);
  const auto over = [this] {
    return std::all_of(inFlight_.begin(), inFlight_.end(),
                       [](const auto& entry) { return entry.second->abandoned.load(); });
  };
  gone_.wait_for(lock, kDrain, [&] { return over() || broken(); });
  const bool left = !over();
  lock.unlock();
  if (left) {
    breakGroup(Failure{kDestroyed}, 0);
  } else {
    failAbandoned();
  }
  lock.lock();
  gone_.wait_for(lock, kDrain, [this] { return inFlight_.empty(); });
  stopping_ = true;
  lock.unlock();
  tasksWake_.notify_all();
  for (std::thread& worker : workers_) {
    LOCKSTEP_CHECK(worker.get_id() != std::this_thread::get_id(),
                   "process group {} was destroyed from a callback of its own work",
                   options_.group);
    worker.join();
  }
  if (ender_.joinable()) {
    ender_.join();
  }
  if (runtime_ != nullptr) {
    runtime_->detach(this);
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

// Numbers a call and puts it among those in flight; with the mutex held.
FlightPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit) {
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
  auto flight = std::make_shared<Flight>(std::move(call), where, limit);
  WorkState::Backend backend;
  backend.abort = [this, weak = std::weak_ptr<Flight>(flight)] {
    const auto flight = weak.lock();
    if (flight != nullptr && isDirect(flight->call.operation)) {
      flight->abandoned.store(true);
    } else if (flight != nullptr) {
      failedBy(flight, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
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
                                              milliseconds limit, Schedule schedule) {
  std::unique_lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), std::move(outputs), limit);
  const std::shared_ptr<WorkState> work = flight->work;
  if (flight->failed()) {
    lock.unlock();
    work->fail(flight->error());
    return work;
  }
  flight->schedule = std::move(schedule);
  if (runtime_ == nullptr) {
    tasks_.emplace_back([this, flight](trace::Lane& lane) {
      runAlone(flight);
      end(flight, &lane);
    });
    lock.unlock();
    tasksWake_.notify_one();
    return work;
  }
  new_.push_back(flight);
  if (flight->schedule.prepare) {
    tasks_.emplace_back([this, flight](trace::Lane&) { prepare(flight); });
    lock.unlock();
    tasksWake_.notify_one();
  } else {
    flight->prepared.store(true);
    lock.unlock();
  }
  runtime_->wake();
  return work;
}

std::shared_ptr<WorkState> Dispatcher::submitBarrier(Call call, milliseconds limit) {
  if (runtime_ == nullptr) {
    Schedule nothing;
    return submit(std::move(call), {}, limit, std::move(nothing));
  }
  std::unique_lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), {}, limit);
  const std::shared_ptr<WorkState> work = flight->work;
  if (flight->failed()) {
    lock.unlock();
    work->fail(flight->error());
    return work;
  }
  flight->schedule.rounds.push_back({[](Requests& requests) { requests.barrier(); }, nullptr});
  newBarriers_.push_back(flight);
  lock.unlock();
  runtime_->wake();
  return work;
}

std::shared_ptr<WorkState> Dispatcher::submitDirect(Call call, at::Tensor tensor, int tag,
                                                    milliseconds limit) {
  const bool sends = call.operation == trace::Operation::kSend;
  std::vector<at::Tensor> outputs;
  outputs.push_back(tensor);
  std::unique_lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), std::move(outputs), limit);
  const std::shared_ptr<WorkState> work = flight->work;
  if (flight->failed()) {
    lock.unlock();
    work->fail(flight->error());
    return work;
  }
  flight->setWaiting(sends ? Flight::Waiting::kTaken : Flight::Waiting::kData, flight->call.root);
  const auto access = sends ? Flat::Access::kRead : Flat::Access::kWrite;
  newTransfers_.push_back({flight, Flat({std::move(tensor)}, access), tag});
  lock.unlock();
  runtime_->wake();
  return work;
}

// A worker's part before the first round.
void Dispatcher::prepare(const FlightPtr& flight) {
  compute(flight, flight->schedule.prepare);
  flight->prepared.store(true);
  runtime_->wake();
}

void Dispatcher::compute(const FlightPtr& flight, const std::function<void()>& function) {
  if (!function || flight->failed()) {
    return;
  }
  flight->setWaiting(Flight::Waiting::kWorking);
  try {
    function();
  } catch (const std::exception& error) {
    failedBy(flight, Failure{error.what()});
  }
}

// The whole of an operation of a group of one.
void Dispatcher::runAlone(const FlightPtr& flight) {
  flight->startTicks.store(base::ticks());
  if (flight->call.operation == trace::Operation::kBarrier) {
    std::vector<std::shared_ptr<WorkState>> earlier;
    {
      std::lock_guard lock(mutex_);
      for (auto it = inFlight_.begin(); it != inFlight_.end() && it->first < flight->order; ++it) {
        if (!it->second->abandoned.load()) {
          earlier.push_back(it->second->work);
        }
      }
    }
    for (const auto& work : earlier) {
      while (!flight->failed() && !work->future().waitFor(kPoll)) {
      }
    }
  }
  compute(flight, flight->schedule.prepare);
}

void Dispatcher::finish(const FlightPtr& flight, std::function<void()> last,
                        const std::optional<Failure>& alone) {
  hand([this, flight, last = std::move(last), alone](trace::Lane& lane) {
    compute(flight, last);
    if (alone) {
      flight->fail(*alone);
    }
    end(flight, &lane);
  });
}

void Dispatcher::hand(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  tasksWake_.notify_one();
}

void Dispatcher::workerLoop(int index, trace::Lane& lane) {
  base::nameThisThread(fmt::format("mpi {}", index));
  const at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  for (;;) {
    tasksWake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(lane);
    task = nullptr;
    lock.lock();
  }
}

void Dispatcher::end(const FlightPtr& flight, trace::Lane* lane) {
  bool failed = false;
  {
    std::lock_guard lock(mutex_);
    if (flight->ended) {
      return;
    }
    flight->ended = true;
    failed = flight->failed();
    if (!failed) {
      moment_.renew();
    }
    updateLastWords();
  }
  const Call& call = flight->call;
  if (const std::uint64_t start = flight->startTicks.load(); lane != nullptr && start != 0) {
    lane->span(trace::EventKind::kCollective, start, call.options.step, call.options.bucket,
               trace::packCollective(call.sequence, call.bytes),
               trace::packOperation(call.operation, options_.groupNumber));
  }
  if (failed) {
    flight->work->fail(flight->error());
  } else {
    countWire(*flight);
    flight->work->succeed();
  }
  {
    std::lock_guard lock(mutex_);
    inFlight_.erase(flight->order);
  }
  gone_.notify_all();
}

// MPI does not tell what it sends, so this is what the operation takes in its best-known form.
void Dispatcher::countWire(const Flight& flight) {
  if (options_.size == 1) {
    return;
  }
  const WireBytes bytes = wireBytes(flight.call, options_.rank, options_.size);
  if (bytes.sent != 0) {
    wireCounter_->countSent(bytes.sent);
  }
  if (bytes.received != 0) {
    wireCounter_->countReceived(bytes.received);
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

void Dispatcher::failedBy(const FlightPtr& flight, Failure failure) {
  if (!flight->fail(failure)) {
    return;
  }
  breakGroup(
      Failure{fmt::format("given up because {} #{} failed: {}", trace::name(flight->call.operation),
                          flight->call.sequence, failure.what),
              failure.peer, failure.kind},
      flight->order);
  gone_.notify_all();
}

void Dispatcher::breakGroup(const Failure& failure, std::uint64_t before) {
  {
    std::lock_guard lock(mutex_);
    if (!broken_.what.empty()) {
      return;
    }
    broken_ = failure;
    isBroken_.store(true, std::memory_order_release);
    if (before != 0) {
      moment_.begin();
    }
    for (const auto& [order, flight] : inFlight_) {
      if (order >= before || isDirect(flight->call.operation)) {
        flight->fail(failure);
      }
    }
    // Callbacks may wait, for another group's operations too: not on the MPI thread, and not on a
    // worker that one of them may hold.
    if (!stopping_) {
      ender_ = std::thread([this] { endFailed(); });
    }
  }
  if (runtime_ != nullptr) {
    runtime_->spoil();
    runtime_->wake();
  }
  gone_.notify_all();
}

void Dispatcher::endFailed() {
  base::nameThisThread("mpi end");
  const at::NoGradGuard noGrad;
  bool spared = true;
  while (spared) {
    std::vector<FlightPtr> failed;
    {
      std::unique_lock lock(mutex_);
      const bool over = moment_.over(Flight::Clock::now());
      for (const auto& [order, flight] : inFlight_) {
        if (over) {
          flight->fail(broken_);
        }
        if (flight->failed() && !flight->ended) {
          failed.push_back(flight);
        }
      }
      spared = !over && spares();
      if (failed.empty() && spared) {
        gone_.wait_for(lock, kPoll);
      }
    }
    // Who waits must not wait for the callbacks of another one.
    for (const FlightPtr& flight : failed) {
      end(flight, nullptr);
    }
  }
}

// Whether any collective still has its moment; with the mutex held.
bool Dispatcher::spares() const {
  return std::any_of(inFlight_.begin(), inFlight_.end(), [](const auto& entry) {
    return !entry.second->failed() && !entry.second->ended;
  });
}

void Dispatcher::failAbandoned() {
  std::vector<FlightPtr> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [order, flight] : inFlight_) {
      all.push_back(flight);
    }
  }
  for (const FlightPtr& flight : all) {
    flight->fail(Failure{kDestroyed});
    end(flight, nullptr);
  }
}

void Dispatcher::lose(const std::string& reason) {
  breakGroup(Failure{reason, -1, CommErrorKind::kBackend});
}

}  // namespace lockstep::process_group::mpi
