#include "engine/process_group/mpi/Dispatcher.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Check.h"
#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/process_group/operation/Drain.h"

namespace lockstep::process_group::mpi {
namespace {

using std::chrono::milliseconds;

// How soon a barrier of a group of one that waits for earlier operations notices its own failure.
constexpr milliseconds kPoll = milliseconds(50);

}  // namespace

Dispatcher::Dispatcher(Member member, const Connected& connected)
    : member_(std::move(member)),
      runtime_(connected.runtime),
      comm_(connected.comm),
      barrierComm_(connected.barriers),
      records_(member_, "mpi queue"),
      ledger_(member_, records_),
      pointToPoint_(std::make_unique<PointToPoint>(*this, comm_)),
      inquiry_(std::make_unique<Inquiry>(comm_, member_.rank, member_.size)) {
  for (int i = 0; i < member_.threads; ++i) {
    trace::Lane& lane = records_.lane(fmt::format("mpi {}", i));
    workers_.emplace_back([this, i, &lane] { workerLoop(i, lane); });
  }
}

Dispatcher::~Dispatcher() {
  abandon();
}

void Dispatcher::close() {
  std::unique_lock lock(mutex_);
  // Abandoned operations have no end that could be waited for.
  gone_.wait_for(lock, kDrain, [this] { return ledger_.onlyAbandoned() || broken(); });
  const bool left = !ledger_.onlyAbandoned();
  lock.unlock();
  if (left) {
    breakGroup(Failure{kDestroyed}, 0);
  } else {
    failAbandoned();
  }
  lock.lock();
  gone_.wait_for(lock, kDrain, [this] { return ledger_.calls().empty(); });
  // Callbacks of what was failed have run, or had their time.
  stopping_ = true;
  lock.unlock();
  tasksWake_.notify_all();
  for (std::thread& worker : workers_) {
    LOCKSTEP_CHECK(worker.get_id() != std::this_thread::get_id(),
                   "process group {} was destroyed from a callback of its own work", member_.group);
    worker.join();
  }
  if (ender_.joinable()) {
    ender_.join();
  }
  // Last: the MPI thread may poll until then.
  if (runtime_ != nullptr) {
    runtime_->detach(this);
  }
}

std::uint64_t Dispatcher::sequence() const {
  std::lock_guard lock(mutex_);
  return ledger_.sequence();
}

GroupState Dispatcher::state() const {
  std::lock_guard lock(mutex_);
  return ledger_.state();
}

// With the mutex held.
FlightPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit) {
  ledger_.number(call);
  auto flight = std::make_shared<Flight>(std::move(call), limit);
  const auto abort = [this](const FlightPtr& flight) {
    if (isDirect(flight->call.operation)) {
      // MPI has it and cannot give it back: its limit is forgotten, and it ends when it ends.
      flight->abandoned.store(true);
    } else {
      failedBy(flight, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
    }
  };
  ledger_.enter(flight, std::move(outputs), abort, std::mem_fn(&Flight::waitingFor));
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
  // Without MPI a worker does all of it.
  if (runtime_ == nullptr) {
    tasks_.emplace_back([this, flight](trace::Lane& lane) {
      runAlone(flight);
      end(flight, &lane);
    });
    lock.unlock();
    tasksWake_.notify_one();
    return work;
  }
  // In the order of the calls, however long a worker takes to prepare each.
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
      // The same promise as over MPI: all before it is done.
      for (auto it = ledger_.calls().begin();
           it != ledger_.calls().end() && it->first < flight->entry; ++it) {
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
    // Ended by another thread, which failed the group.
    if (flight->ended) {
      return;
    }
    failed = flight->failed();
    ledger_.end(*flight);
  }
  if (const std::uint64_t start = flight->startTicks.load(); lane != nullptr && start != 0) {
    records_.ended(flight->call, *lane, start);
  }
  if (failed) {
    flight->work->fail(flight->error());
  } else {
    // MPI does not tell what it sends, so this is what the operation takes in its best-known form.
    records_.count(wireBytes(flight->call, member_.rank, member_.size));
    flight->work->succeed();
  }
  {
    std::lock_guard lock(mutex_);
    ledger_.remove(*flight);
  }
  gone_.notify_all();
}

void Dispatcher::failedBy(const FlightPtr& flight, Failure failure) {
  if (!flight->fail(failure)) {
    return;
  }
  breakGroup(givenUpFor(flight->call, failure), flight->entry);
  gone_.notify_all();
}

void Dispatcher::breakGroup(const Failure& failure, std::uint64_t before) {
  {
    std::lock_guard lock(mutex_);
    if (!ledger_.breakBy(failure)) {
      return;
    }
    isBroken_.store(true, std::memory_order_release);
    // 0: nothing is spared, so there is no moment.
    if (before != 0) {
      ledger_.moment.begin();
    }
    for (const auto& [entry, flight] : ledger_.calls()) {
      if (entry >= before || isDirect(flight->call.operation)) {
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
      const bool over = ledger_.moment.over(Flight::Clock::now());
      for (const auto& [entry, flight] : ledger_.calls()) {
        if (over) {
          flight->fail(ledger_.broken());
        }
        if (flight->failed() && !flight->ended) {
          failed.push_back(flight);
        }
      }
      spared = !over && ledger_.spares();
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

void Dispatcher::failAbandoned() {
  std::vector<FlightPtr> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [entry, flight] : ledger_.calls()) {
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
