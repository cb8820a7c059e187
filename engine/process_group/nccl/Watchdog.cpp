#include "engine/process_group/nccl/Watchdog.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/KeepForever.h"
#include "engine/process_group/Mismatch.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long the end of a group waits for what is in flight.
constexpr milliseconds kDrain = std::chrono::seconds(5);
// How long a failing rank waits for the store to take its reason, or to give those of others.
constexpr milliseconds kTell = milliseconds(500);
constexpr milliseconds kAsk = milliseconds(300);
// Asking a device costs a microsecond; a result is seen this much late at most.
constexpr microseconds kPoll = microseconds(20);
constexpr milliseconds kTick = milliseconds(50);
constexpr milliseconds kIdleTick = milliseconds(250);
// An operation this old is asked about on the notice board, and again after as long.
constexpr milliseconds kStuck = std::chrono::seconds(1);
// The launcher keeps the limit of what it has in hand, and knows better whom it waits for.
constexpr milliseconds kLaunching = milliseconds(500);
// How long the ranks that are left have to say what they know when a connection is lost.
constexpr milliseconds kExplaining = milliseconds(1500);

std::string laneName(const Watchdog::Options& options, const std::string& name) {
  return options.groupNumber == 0 ? name : fmt::format("{} ({})", name, options.group);
}

std::string nameOf(const Call& call) {
  return fmt::format("{} #{}", trace::name(call.operation), call.sequence);
}

CommError::Where placeOf(const Flight& flight, const Failure& failure) {
  CommError::Where where = flight.where;
  where.peer = failure.peer;
  where.culprits = failure.culprits;
  where.kind = failure.kind;
  where.timedOut = failure.kind == CommErrorKind::kTimeout;
  return where;
}

}  // namespace

Watchdog::Watchdog(Options options, std::shared_ptr<store::Store> store)
    : options_(std::move(options)),
      notices_(std::move(store), "nccl/" + options_.group, options_.rank, options_.size),
      tracer_(options_.tracer != nullptr ? options_.tracer : &silent_),
      queueLane_(&tracer_->lane(laneName(options_, "nccl queue"))),
      lane_(&tracer_->lane(laneName(options_, "nccl"))),
      ends_([this] { endLoop(); }),
      watch_([this] { watchLoop(); }) {}

Watchdog::~Watchdog() {
  drain();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  LOCKSTEP_CHECK(ends_.get_id() != std::this_thread::get_id(),
                 "process group {} was destroyed from a callback of its own work", options_.group);
  ends_.join();
  watch_.join();
  releaseAbandoned();
  for (const auto& flight : abandoned_) {
    keepForever(flight);
  }
}

void Watchdog::drain() {
  std::unique_lock lock(mutex_);
  gone_.wait_for(lock, kDrain, [this] { return inFlight_.empty(); });
  if (!inFlight_.empty()) {
    lock.unlock();
    breakGroup(Failure{"the process group was destroyed before it was done"});
  }
}

bool Watchdog::broken() const {
  std::lock_guard lock(mutex_);
  return !broken_.what.empty();
}

GroupState Watchdog::state() const {
  std::lock_guard lock(mutex_);
  return broken_.what.empty() ? GroupState::kSuccess : stateAfter(broken_.kind);
}

std::uint64_t Watchdog::sequence() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

std::shared_ptr<Flight> Watchdog::enter(Call call, std::vector<at::Tensor> outputs,
                                        milliseconds limit) {
  auto flight = std::make_shared<Flight>();
  std::unique_lock lock(mutex_);
  call.sequence = isDirect(call.operation) ? ++directSequence_ : ++sequence_;
  flight->where.group = options_.group;
  flight->where.rank = options_.rank;
  flight->where.operation = call.operation;
  flight->where.sequence = call.sequence;
  flight->where.bucket = call.options.bucket;
  flight->limit = limit;
  queueLane_->instant(trace::EventKind::kCollectiveQueued, call.options.step, call.options.bucket,
                      trace::packCollective(call.sequence, call.bytes),
                      trace::packOperation(call.operation, options_.groupNumber));
  flight->call = std::move(call);
  WorkState::Backend backend;
  backend.abort = [this, weak = std::weak_ptr<Flight>(flight)] {
    if (const auto aborted = weak.lock()) {
      fail(aborted, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
    }
  };
  flight->work =
      std::make_shared<WorkState>(flight->where, std::move(outputs), limit, std::move(backend));
  flight->work->future().whenComplete([weak = std::weak_ptr<Flight>(flight)](const auto&) {
    if (const auto ended = weak.lock()) {
      ended->setUnderWay();
    }
  });
  if (!broken_.what.empty()) {
    const Failure failure{"the group is broken: " + broken_.what, -1, broken_.kind};
    lock.unlock();
    flight->work->fail(std::make_exception_ptr(CommError(placeOf(*flight, failure), failure.what)));
    return flight;
  }
  flight->order = ++calls_;
  inFlight_[flight->order] = flight;
  updateLastWords();
  return flight;
}

void Watchdog::launched(const std::shared_ptr<Flight>& flight) {
  {
    std::lock_guard lock(mutex_);
    flight->launched = true;
  }
  flight->setUnderWay();
  wake_.notify_all();
}

void Watchdog::fail(const std::shared_ptr<Flight>& flight, const Failure& failure) {
  breakGroup(
      Failure{fmt::format("given up because {} failed: {}", nameOf(flight->call), failure.what),
              failure.peer, failure.kind},
      flight.get(), failure);
}

void Watchdog::breakGroup(const Failure& failure) {
  breakGroup(failure, nullptr, failure);
}

void Watchdog::breakGroup(const Failure& failure, const Flight* first, const Failure& ofFirst) {
  {
    std::lock_guard lock(mutex_);
    if (!broken_.what.empty()) {
      return;
    }
    broken_ = failure;
  }
  if (options_.size > 1) {
    // Before a waiter here can end the process, and before the others lose the connection.
    notices_.announce(failure, kTell);
  }
  for (const auto& flight : flights()) {
    const Failure& own = flight.get() == first ? ofFirst : failure;
    {
      std::lock_guard lock(mutex_);
      abandoned_.push_back(flight);
    }
    flight->work->fail(std::make_exception_ptr(CommError(placeOf(*flight, own), own.what)));
    remove(flight);
  }
  try {
    options_.abortCommunicators();
  } catch (const std::exception&) {
    // The failure that led here tells more.
  }
  wake_.notify_all();
}

Watchdog::Flights Watchdog::flights() const {
  std::lock_guard lock(mutex_);
  Flights all;
  for (const auto& [order, flight] : inFlight_) {
    all.push_back(flight);
  }
  return all;
}

std::vector<std::shared_ptr<Flight>> Watchdog::flightsBefore(const Flight& flight) const {
  Flights earlier = flights();
  std::erase_if(earlier, [&](const auto& other) { return other->order >= flight.order; });
  return earlier;
}

void Watchdog::remove(const std::shared_ptr<Flight>& flight) {
  if (flight->asked) {
    notices_.withdraw(flight->call.sequence, flight->placed);
  }
  {
    std::lock_guard lock(mutex_);
    inFlight_.erase(flight->order);
    updateLastWords();
  }
  gone_.notify_all();
}

// With the mutex held. What was queued behind a kernel that an abort ends is done all the same.
void Watchdog::releaseAbandoned() {
  std::erase_if(abandoned_, [](const std::shared_ptr<Flight>& flight) {
    try {
      if (!flight->launched || !flight->end->passed()) {
        return false;
      }
    } catch (const DeviceError&) {
      return false;  // it cannot be told any more
    }
    flight->kept.clear();
    return true;
  });
}

// With the mutex held.
void Watchdog::updateLastWords() {
  const std::uint64_t oldest = inFlight_.empty() ? 0 : inFlight_.begin()->first;
  if (oldest != oldest_) {
    oldest_ = oldest;
    tellOldest(tracer_->lastWords(), oldest == 0 ? nullptr : &inFlight_.begin()->second->call);
  }
}

void Watchdog::endLoop() {
  base::nameThisThread("nccl");
  const at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool any = std::any_of(inFlight_.begin(), inFlight_.end(),
                                 [](const auto& entry) { return entry.second->launched; });
    releaseAbandoned();
    if (!any) {
      if (abandoned_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, kTick);
      }
      continue;
    }
    lock.unlock();
    bool ended = false;
    std::set<const void*> busy;  // what a channel has in hand ends in its order
    for (const auto& flight : flights()) {
      if (!busy.contains(flight->channel)) {
        const bool done = tryEnd(flight);
        ended = ended || done;
        if (!done && flight->channel != nullptr) {
          busy.insert(flight->channel);
        }
      }
    }
    if (!ended) {
      std::this_thread::sleep_for(kPoll);
    }
    lock.lock();
  }
}

bool Watchdog::tryEnd(const std::shared_ptr<Flight>& flight) {
  {
    std::lock_guard lock(mutex_);
    if (!flight->launched || !inFlight_.contains(flight->order)) {
      return false;
    }
  }
  try {
    if (!flight->end->passed()) {
      return false;
    }
    // An abort, too, lets a device go past the event.
    if (broken()) {
      return false;
    }
    record(*flight);
  } catch (const std::exception& error) {
    fail(flight, Failure{error.what()});
    return true;
  }
  flight->work->succeed();
  flight->kept.clear();  // who holds the work shall not hold the memory
  remove(flight);
  return true;
}

void Watchdog::record(const Flight& flight) {
  if (!records()) {
    return;
  }
  const auto span = flight.clock->spanOf(*flight.begin, *flight.end);
  if (!span) {
    return;  // the device is too busy to tell the time
  }
  const Call& call = flight.call;
  lane_->spanUntil(trace::EventKind::kCollective, span->beginTicks, span->endTicks,
                   call.options.step, call.options.bucket,
                   trace::packCollective(call.sequence, call.bytes),
                   trace::packOperation(call.operation, options_.groupNumber));
}

void Watchdog::watchLoop() {
  base::nameThisThread("nccl watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, inFlight_.empty() ? kIdleTick : kTick);
    if (stopping_ || inFlight_.empty() || !broken_.what.empty()) {
      continue;
    }
    lock.unlock();
    const Flights all = flights();
    for (const auto& flight : all) {
      watch(flight, flight == all.front());
    }
    try {
      options_.checkCommunicators();
    } catch (const LibraryError& error) {
      if (!all.empty()) {
        fail(all.front(), explain(all.front(), error));
      }
    } catch (const std::exception& error) {
      breakGroup(Failure{error.what()});
    }
    lock.lock();
  }
}

void Watchdog::watch(const std::shared_ptr<Flight>& flight, bool oldest) {
  if (broken() || flight->work->isCompleted()) {
    return;
  }
  const auto now = Flight::Clock::now();
  if (const auto told = flight->told()) {
    Difference found = mismatch(flight->call, options_.rank, options_.size, told->notes);
    if (!found.text.empty()) {
      fail(flight,
           Failure{std::move(found.text), -1, CommErrorKind::kMismatch, std::move(found.culprits)});
      return;
    }
  }
  const milliseconds grace = isLaunched(*flight) ? milliseconds(0) : kLaunching;
  if (now - flight->calledAt >= flight->limit + grace) {
    fail(flight, timeOut(*flight));
    return;
  }
  const milliseconds patience = std::min(kStuck, flight->limit / 4);
  if (options_.size > 1 && now - std::max(flight->calledAt, flight->askedAt) >= patience) {
    ask(flight, oldest);
  }
}

void Watchdog::ask(const std::shared_ptr<Flight>& flight, bool oldest) {
  flight->askedAt = Flight::Clock::now();
  if (oldest) {
    const Blame blame = blameOf(notices_.reasons(kAsk), options_.rank);
    if (!blame.text.empty()) {
      fail(flight, Failure{blame.text, blame.culprit, CommErrorKind::kRemote});
      return;
    }
  }
  if (!isDirect(flight->call.operation)) {
    compare(flight, oldest);
  }
}

void Watchdog::compare(const std::shared_ptr<Flight>& flight, bool oldest) {
  std::optional<Place> place;
  if (oldest) {  // what this rank is stuck in; the others only wait behind it
    place = Place{nameOf(flight->call), -1};
    flight->placed = true;
  }
  flight->asked = true;
  notices_.compare(flight->call.sequence, note(flight->call), place,
                   [weak = std::weak_ptr<Flight>(flight)](Told told) {
                     if (const auto asked = weak.lock()) {
                       asked->setTold(std::move(told));
                     }
                   });
  if (flight->work->isCompleted()) {
    notices_.withdraw(flight->call.sequence, flight->placed);  // remove() may have looked before
  }
}

// Who gives up says why before it lets the connections go; who was killed says nothing.
Failure Watchdog::explain(const std::shared_ptr<Flight>& flight, const LibraryError& error) {
  const bool lost = error.kind == CommErrorKind::kRemote || error.kind == CommErrorKind::kNetwork;
  if (!lost || options_.size == 1) {
    return Failure{error.what(), -1, error.kind};
  }
  const auto others = static_cast<std::size_t>(options_.size - 1);
  const auto end = Flight::Clock::now() + kExplaining;
  do {
    const Blame blame = blameOf(notices_.reasons(kAsk), options_.rank);
    if (!blame.text.empty()) {
      return Failure{fmt::format("{}; {}", error.what(), blame.text), blame.culprit,
                     CommErrorKind::kRemote};
    }
    if (!isDirect(flight->call.operation)) {
      compare(flight, true);
    }
    std::this_thread::sleep_for(kTick);
    const auto told = flight->told();
    if (told && told->notes.size() >= others) {
      break;
    }
  } while (Flight::Clock::now() < end && !broken());
  const Blame blame = blameForWaiting(flight->told(), options_.rank, options_.size, -1);
  return Failure{error.what() + blame.text, blame.culprit, error.kind};
}

bool Watchdog::isLaunched(const Flight& flight) const {
  std::lock_guard lock(mutex_);
  return flight.launched;
}

Failure Watchdog::timeOut(const Flight& flight) {
  std::string text = fmt::format("timed out after {} ms", flight.limit.count());
  try {
    text += !isLaunched(flight)      ? ", still on its way to the device"
            : flight.begin->passed() ? ", begun on the device and not done"
                                     : ", behind other work of the device";
  } catch (const DeviceError& error) {
    text += fmt::format("; the device says {}", error.what());
  }
  const Blame blame = blameForWaiting(flight.told(), options_.rank, options_.size, -1);
  return Failure{text + blame.text, blame.culprit, CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::nccl
