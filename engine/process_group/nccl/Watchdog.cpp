#include "engine/process_group/nccl/Watchdog.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/KeepForever.h"
#include "engine/process_group/operation/Drain.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long a failing rank waits for the store to take its reason, or to give those of others.
constexpr milliseconds kTell = milliseconds(500);
constexpr milliseconds kAsk = milliseconds(300);
// Asking a device costs a microsecond; a result is seen this much late at most.
constexpr microseconds kPoll = microseconds(20);
constexpr milliseconds kTick = milliseconds(50);
constexpr milliseconds kIdleTick = milliseconds(250);
// The launcher keeps the limit of what it has in hand, and knows better whom it waits for.
constexpr milliseconds kLaunching = milliseconds(500);
// How long the ranks that are left have to say what they know when a connection is lost.
constexpr milliseconds kExplaining = milliseconds(1500);

}  // namespace

Watchdog::Watchdog(Member member, Control communicators, std::shared_ptr<store::Store> store)
    : member_(std::move(member)),
      communicators_(std::move(communicators)),
      notices_(std::move(store), "nccl/" + member_.group, member_.rank, member_.size),
      records_(member_, "nccl queue"),
      lane_(&records_.lane("nccl")),
      ledger_(member_, records_),
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
                 "process group {} was destroyed from a callback of its own work", member_.group);
  ends_.join();
  watch_.join();
  releaseAbandoned();
  // A device may still write to these.
  for (const auto& flight : abandoned_) {
    keepForever(flight);
  }
}

void Watchdog::drain() {
  std::unique_lock lock(mutex_);
  gone_.wait_for(lock, kDrain, [this] { return ledger_.calls().empty(); });
  if (!ledger_.calls().empty()) {
    lock.unlock();
    breakGroup(Failure{kDestroyed});
  }
}

bool Watchdog::broken() const {
  std::lock_guard lock(mutex_);
  return ledger_.isBroken();
}

GroupState Watchdog::state() const {
  std::lock_guard lock(mutex_);
  return ledger_.state();
}

std::uint64_t Watchdog::sequence() const {
  std::lock_guard lock(mutex_);
  return ledger_.sequence();
}

std::shared_ptr<Flight> Watchdog::enter(Call call, std::vector<at::Tensor> outputs,
                                        milliseconds limit) {
  std::unique_lock lock(mutex_);
  ledger_.number(call);
  auto flight = std::make_shared<Flight>(std::move(call), limit);
  const auto abort = [this](const std::shared_ptr<Flight>& aborted) {
    fail(aborted, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
  };
  ledger_.enter(flight, std::move(outputs), abort, nullptr);
  // Also where it fails before the device has it: who waits for that must not wait longer.
  flight->work->future().whenComplete([weak = std::weak_ptr<Flight>(flight)](const auto&) {
    if (const auto ended = weak.lock()) {
      ended->setUnderWay();
    }
  });
  lock.unlock();
  if (flight->failed()) {
    flight->work->fail(flight->error());
  }
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
  breakGroup(givenUpFor(flight->call, failure), flight.get(), failure);
}

void Watchdog::breakGroup(const Failure& failure) {
  breakGroup(failure, nullptr, failure);
}

void Watchdog::breakGroup(const Failure& failure, const Flight* first, const Failure& ofFirst) {
  {
    // The first failure counts; whatever it causes comes here, too, and has no effect.
    std::lock_guard lock(mutex_);
    if (!ledger_.breakBy(failure)) {
      return;
    }
  }
  if (member_.size > 1) {
    // Before a waiter here can end the process, and before the others lose the connection.
    notices_.announce(failure, kTell);
  }
  for (const auto& flight : flights()) {
    flight->fail(flight.get() == first ? ofFirst : failure);
    {
      // Their kernels wait for peers until the abort below, and work on the memory after it,
      // perhaps.
      std::lock_guard lock(mutex_);
      abandoned_.push_back(flight);
    }
    flight->work->fail(flight->error());
    remove(flight);
  }
  try {
    // Last: it may take seconds, and waiters need not wait for it.
    communicators_.abort();
  } catch (const std::exception&) {
    // The failure that led here tells more.
  }
  wake_.notify_all();
}

Watchdog::Flights Watchdog::flights() const {
  std::lock_guard lock(mutex_);
  Flights all;
  for (const auto& [entry, flight] : ledger_.calls()) {
    all.push_back(flight);
  }
  return all;
}

std::vector<std::shared_ptr<Flight>> Watchdog::flightsBefore(const Flight& flight) const {
  Flights earlier = flights();
  std::erase_if(earlier, [&](const auto& other) { return other->entry >= flight.entry; });
  return earlier;
}

void Watchdog::remove(const std::shared_ptr<Flight>& flight) {
  flight->withdraw(notices_);
  {
    std::lock_guard lock(mutex_);
    ledger_.remove(*flight);
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

void Watchdog::endLoop() {
  base::nameThisThread("nccl");
  const at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool any = std::any_of(ledger_.calls().begin(), ledger_.calls().end(),
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
    // It may have failed meanwhile.
    if (!flight->launched || !ledger_.calls().contains(flight->entry)) {
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
                   trace::packOperation(call.operation, member_.groupNumber));
}

void Watchdog::watchLoop() {
  base::nameThisThread("nccl watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, ledger_.calls().empty() ? kIdleTick : kTick);
    if (stopping_ || ledger_.calls().empty() || ledger_.isBroken()) {
      continue;
    }
    lock.unlock();
    const Flights all = flights();
    for (const auto& flight : all) {
      watch(flight, flight == all.front());
    }
    // Errors that NCCL has noticed by itself, such as a lost connection, are found by asking.
    try {
      communicators_.check();
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
  if (const auto difference = flight->mismatch(member_)) {
    fail(flight, *difference);
    return;
  }
  const milliseconds grace = isLaunched(*flight) ? milliseconds(0) : kLaunching;
  if (now - flight->calledAt >= flight->limit + grace) {
    fail(flight, timeOut(*flight));
    return;
  }
  if (member_.size > 1 && flight->toBeAskedAbout(now)) {
    ask(flight, oldest);
  }
}

void Watchdog::ask(const std::shared_ptr<Flight>& flight, bool oldest) {
  flight->askedAt = Flight::Clock::now();
  // The store is asked once, by the oldest: what is wrong with the group is wrong with all.
  if (oldest) {
    const Blame blame = blameOf(notices_.reasons(kAsk), member_.rank);
    if (!blame.text.empty()) {
      fail(flight, Failure{blame.text, blame.culprit, CommErrorKind::kRemote});
      return;
    }
  }
  if (!isDirect(flight->call.operation)) {
    // Only the oldest is what this rank is stuck in; the others wait behind it.
    NoticedCall::ask(flight, notices_, oldest ? std::optional(-1) : std::nullopt);
  }
}

// Who gives up says why before it lets the connections go; who was killed says nothing.
Failure Watchdog::explain(const std::shared_ptr<Flight>& flight, const LibraryError& error) {
  // Only the loss of a connection has a reason that another rank may know.
  const bool lost = error.kind == CommErrorKind::kRemote || error.kind == CommErrorKind::kNetwork;
  if (!lost || member_.size == 1) {
    return Failure{error.what(), -1, error.kind};
  }
  const auto others = static_cast<std::size_t>(member_.size - 1);
  const auto end = Flight::Clock::now() + kExplaining;
  do {
    const Blame blame = blameOf(notices_.reasons(kAsk), member_.rank);
    if (!blame.text.empty()) {
      return Failure{fmt::format("{}; {}", error.what(), blame.text), blame.culprit,
                     CommErrorKind::kRemote};
    }
    if (!isDirect(flight->call.operation)) {
      NoticedCall::ask(flight, notices_, -1);
    }
    std::this_thread::sleep_for(kTick);
    const auto told = flight->told();
    // All others have said where they are: nobody is left who could have given up without a word.
    if (told && told->notes.size() >= others) {
      break;
    }
  } while (Flight::Clock::now() < end && !broken());
  const Blame blame = blameForWaiting(flight->told(), member_.rank, member_.size, -1);
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
  const Blame blame = blameForWaiting(flight.told(), member_.rank, member_.size, -1);
  return Failure{text + blame.text, blame.culprit, CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::nccl
