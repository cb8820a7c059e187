#include "engine/process_group/mpi/Dispatcher.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {

using std::chrono::milliseconds;

Dispatcher::Dispatcher(Member member, const Connected& connected)
    : GroupCalls(std::move(member), "mpi queue"),
      runtime_(connected.runtime),
      comm_(connected.comm),
      barrierComm_(connected.barriers),
      pointToPoint_(std::make_unique<PointToPoint>(*this, comm_)),
      inquiry_(std::make_unique<Inquiry>(comm_, member_.rank, member_.size)),
      lanes_(records_.lanes(numberedNames("mpi", member_.threads))),
      workers_(numberedNames("mpi", member_.threads)) {}

Dispatcher::~Dispatcher() {
  abandon();
}

void Dispatcher::close() {
  if (drained([this] { return ledger_.onlyAbandoned() || broken(); })) {
    for (const FlightPtr& flight : openCalls()) {
      flight->fail(Failure{kDestroyed});
      end(flight, nullptr);
    }
  } else {
    breakGroup(Failure{kDestroyed}, 0);
  }
  {
    Lock lock(mutex_);
    changed_.wait_for(lock, kDrain, [this] { return ledger_.calls().empty(); });
    stopping_ = true;
  }
  mustNotBeOn(workers_.onOne());
  workers_.finish();
  if (ender_.joinable()) {
    ender_.join();
  }
  // Last: the MPI thread may poll until then.
  if (runtime_ != nullptr) {
    runtime_->detach(this);
  }
}

// With the mutex held.
FlightPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit) {
  return GroupCalls::enter(std::move(call), std::move(outputs), limit,
                           abortBy(std::bind_front(&Dispatcher::failedBy, this)),
                           std::mem_fn(&Flight::waitingFor));
}

std::shared_ptr<WorkState> Dispatcher::submit(Call call, std::vector<at::Tensor> outputs,
                                              milliseconds limit, Schedule schedule) {
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), std::move(outputs), limit);
  if (refused(flight, lock)) {
    return flight->work;
  }
  flight->schedule = std::move(schedule);
  // Without MPI a worker does all of it.
  if (runtime_ == nullptr) {
    hand([this, flight](trace::Lane& lane) {
      runAlone(flight);
      end(flight, &lane);
    });
    return flight->work;
  }
  // In the order of the calls, however long a worker takes to prepare each.
  new_.push_back(flight);
  if (flight->schedule.prepare) {
    hand([this, flight](trace::Lane&) { prepare(flight); });
  } else {
    flight->prepared.store(true);
  }
  lock.unlock();
  runtime_->wake();
  return flight->work;
}

std::shared_ptr<WorkState> Dispatcher::submitBarrier(Call call, milliseconds limit) {
  if (runtime_ == nullptr) {
    Schedule nothing;
    return submit(std::move(call), {}, limit, std::move(nothing));
  }
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), {}, limit);
  if (refused(flight, lock)) {
    return flight->work;
  }
  flight->schedule.rounds.push_back({[](Requests& requests) { requests.barrier(); }, nullptr});
  newBarriers_.push_back(flight);
  lock.unlock();
  runtime_->wake();
  return flight->work;
}

std::shared_ptr<WorkState> Dispatcher::submitDirect(Call call, at::Tensor tensor, int tag,
                                                    milliseconds limit) {
  const bool sends = call.operation == trace::Operation::kSend;
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), {tensor}, limit);
  if (refused(flight, lock)) {
    return flight->work;
  }
  flight->setWaiting(sends ? Flight::Waiting::kTaken : Flight::Waiting::kData, flight->call.root);
  const auto access = sends ? Flat::Access::kRead : Flat::Access::kWrite;
  newTransfers_.push_back(
      {flight, Flat({std::move(tensor)}, access), static_cast<std::uint32_t>(tag)});
  lock.unlock();
  runtime_->wake();
  return flight->work;
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
    waitForEarlier(*flight);
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
  workers_.put([this, task = std::move(task)](std::size_t worker) { task(*lanes_[worker]); });
}

void Dispatcher::end(const FlightPtr& flight, trace::Lane* lane) {
  GroupCalls::end(flight, lane, flight->startTicks.load());
}

// MPI does not tell what it sends, so this is what the operation takes in its best-known form.
void Dispatcher::endsWell(const Flight& flight) {
  records_.count(wireBytes(flight.call, member_.rank, member_.size));
}

void Dispatcher::failedBy(const FlightPtr& flight, Failure failure) {
  if (!flight->fail(failure)) {
    return;
  }
  breakGroup(givenUpFor(flight->call, failure), flight->entry);
  changed_.notify_all();
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
  changed_.notify_all();
}

void Dispatcher::endFailed() {
  constexpr milliseconds kPoll{50};
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
        changed_.wait_for(lock, kPoll);
      }
    }
    // Who waits must not wait for the callbacks of another one.
    for (const FlightPtr& flight : failed) {
      end(flight, nullptr);
    }
  }
}

void Dispatcher::lose(const std::string& reason) {
  breakGroup(Failure{reason, -1, CommErrorKind::kBackend});
}

}  // namespace lockstep::process_group::mpi
