#include "engine/process_group/mpi/Dispatcher.h"

#include <ATen/core/grad_mode.h>

#include <functional>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/mpi/Collectives.h"

namespace lockstep::process_group::mpi {

using std::chrono::milliseconds;
using trace::Operation;

namespace {

Schedule scheduleOf(Place place, const Request& request) {
  if (reduces(request.call.operation)) {
    return reduce(place, request);
  }
  switch (request.call.operation) {
    case Operation::kBarrier: return barrier(place);
    case Operation::kBroadcast: return broadcast(place, request);
    default: return move(place, request);
  }
}

}  // namespace

Dispatcher::Dispatcher(Member member, const Connected& connected)
    : GroupCalls(std::move(member), "mpi queue"),
      runtime_(connected.runtime),
      comm_(connected.comm),
      barrierComm_(connected.barriers),
      pointToPoint_(std::make_unique<PointToPoint>(*this, comm_)),
      inquiry_(std::make_unique<Inquiry>(comm_, member_.rank, member_.size)),
      workers_(numberedNames("mpi", member_.threads), &records_) {}

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

std::shared_ptr<WorkState> Dispatcher::submit(Request request, milliseconds limit) {
  const bool direct = isDirect(request.call.operation);
  Schedule schedule = direct ? Schedule() : scheduleOf({member_.rank, member_.size}, request);
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(request.call), request.outputs, limit,
                                 abortBy(std::bind_front(&Dispatcher::failedBy, this)),
                                 std::mem_fn(&Flight::waitingFor));
  if (refused(flight, lock)) {
    return flight->work;
  }
  flight->schedule = std::move(schedule);
  if (direct) {
    newTransfers_.emplace_back(flight, std::move(request.outputs.front()), request.tag);
  } else if (runtime_ == nullptr) {
    // Without MPI a worker does all of it.
    workers_.put([this, flight](trace::Lane* lane) {
      runAlone(flight);
      end(flight, lane);
    });
    return flight->work;
  } else if (flight->call.operation == Operation::kBarrier) {
    newBarriers_.push_back(flight);
  } else {
    // In the order of the calls, however long a worker takes to prepare each.
    new_.push_back(flight);
    if (flight->schedule.prepare) {
      workers_.put([this, flight](trace::Lane*) { prepare(flight); });
    } else {
      flight->prepared.store(true);
    }
  }
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
  if (flight->call.operation == Operation::kBarrier) {
    waitForEarlier(*flight);
  }
  compute(flight, flight->schedule.prepare);
}

void Dispatcher::finish(const FlightPtr& flight, std::function<void()> last,
                        const std::optional<Failure>& alone) {
  workers_.put([this, flight, last = std::move(last), alone](trace::Lane* lane) {
    compute(flight, last);
    if (alone) {
      flight->fail(*alone);
    }
    end(flight, lane);
  });
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
