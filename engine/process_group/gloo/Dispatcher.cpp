#include "engine/process_group/gloo/Dispatcher.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/operation/Drain.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

// How long a failing rank waits for the store to take its reason.
constexpr milliseconds kTell = milliseconds(500);
// How soon a barrier that waits for earlier operations notices its own failure.
constexpr milliseconds kPoll = milliseconds(50);

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

Dispatcher::Dispatcher(Member member, Transport& transport, std::shared_ptr<store::Store> store)
    : member_(std::move(member)),
      transport_(transport),
      notices_(std::move(store), "gloo/" + member_.group, member_.rank, member_.size),
      records_(member_, "gloo queue"),
      ledger_(member_, records_),
      suspectSince_(static_cast<std::size_t>(member_.size)) {
  for (int i = 0; i < member_.threads; ++i) {
    trace::Lane& lane = records_.lane(fmt::format("gloo {}", i));
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
                   "process group {} was destroyed from a callback of its own work", member_.group);
    worker.join();
  }
  watch_.join();
}

void Dispatcher::drain() {
  std::unique_lock lock(mutex_);
  gone_.wait_for(lock, kDrain, [this] { return ledger_.onlyAbandoned(); });
  const bool left = !ledger_.onlyAbandoned();
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
    if (ledger_.calls().empty()) {
      return;
    }
    for (const auto& [entry, flight] : ledger_.calls()) {
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
  return ledger_.sequence();
}

GroupState Dispatcher::state() const {
  std::lock_guard lock(mutex_);
  return ledger_.state();
}

void Dispatcher::setBreakHandler(std::function<void()> handler) {
  std::lock_guard lock(handlerMutex_);
  breakHandler_ = std::move(handler);
}

// With the mutex held.
std::shared_ptr<Flight> Dispatcher::enter(Call call, std::vector<at::Tensor> outputs,
                                          milliseconds limit) {
  ledger_.number(call);
  ::gloo::Context* context = transport_.context(isDirect(call.operation) ? 0 : call.sequence);
  auto flight =
      std::make_shared<Flight>(std::move(call), limit, context, member_.rank, member_.size);
  const auto abort = [](const std::shared_ptr<Flight>& flight) {
    if (isDirect(flight->call.operation)) {
      flight->abandoned.store(true);
    } else {
      flight->fail(Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
    }
  };
  ledger_.enter(flight, std::move(outputs), abort, std::mem_fn(&Flight::waitingFor));
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

void Dispatcher::end(const std::shared_ptr<Flight>& flight, trace::Lane* lane,
                     std::uint64_t startTicks, const std::optional<Failure>& alone) {
  if (lane != nullptr) {
    records_.ended(flight->call, *lane, startTicks);
  }
  if (flight->sentMessages != 0) {
    records_.wireCounter().countSent(flight->sentBytes, flight->sentMessages);
  }
  if (flight->receivedBytes != 0) {
    records_.wireCounter().countReceived(flight->receivedBytes);
  }
  if (alone) {
    flight->fail(*alone);
  }
  const bool failed = flight->failed();
  {
    std::lock_guard lock(mutex_);
    ledger_.end(*flight);
  }
  if (failed) {
    flight->work->fail(flight->error());
  } else {
    flight->work->succeed();
    flight->withdraw(notices_);
  }
  {
    std::lock_guard lock(mutex_);
    ledger_.remove(*flight);
  }
  gone_.notify_all();
  closeWhenOver();
}

void Dispatcher::waitForEarlier(const Flight& flight) {
  std::vector<std::shared_ptr<WorkState>> earlier;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [entry, other] : ledger_.calls()) {
      if (entry < flight.entry && !other->abandoned.load()) {
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
  fail(givenUpFor(flight.call, flight.failure()), flight.entry);
  end(task.flight, &lane, start);
  tellOthers();
}

void Dispatcher::fail(const Failure& failure, std::uint64_t before) {
  std::vector<std::shared_ptr<Flight>> all;
  std::vector<Task> waiting;
  {
    std::lock_guard lock(mutex_);
    if (ledger_.breakBy(failure)) {
      ledger_.moment.begin();
    }
    for (const auto& [entry, flight] : ledger_.calls()) {
      if (entry >= before || isDirect(flight->call.operation)) {
        all.push_back(flight);
      }
    }
    const auto rest = std::find_if(queue_.begin(), queue_.end(),
                                   [&](const Task& task) { return task.flight->entry >= before; });
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
    reason = ledger_.broken();
  }
  if (member_.size > 1) {
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
    if (!announced_ || closed_ || ledger_.spares() || member_.size == 1) {
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
  const Blame blame = blameOf(notices_.reasons(kAsk), member_.rank);
  if (blame.text.empty() && transport_.left(lost.peer)) {
    return Failure{fmt::format("rank {} has left the group", lost.peer), lost.peer,
                   CommErrorKind::kNetwork};
  }
  if (blame.text.empty()) {
    return Failure{text + "; its process has probably ended", lost.peer, CommErrorKind::kNetwork};
  }
  const bool other = blame.culprit >= 0 && blame.culprit != member_.rank;
  return Failure{text + "; " + blame.text, other ? blame.culprit : lost.peer,
                 CommErrorKind::kRemote};
}

}  // namespace lockstep::process_group::gloo
