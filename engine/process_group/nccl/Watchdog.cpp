#include "engine/process_group/nccl/Watchdog.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/KeepForever.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Asking a device costs a microsecond; a result is seen this much late at most.
constexpr microseconds kPoll = microseconds(20);
// The launcher keeps the limit of what it has in hand, and knows better whom it waits for.
constexpr milliseconds kLaunching = milliseconds(500);
// How long the ranks that are left have to say what they know when a connection is lost.
constexpr milliseconds kExplaining = milliseconds(1500);

}  // namespace

Watchdog::Watchdog(Member member, Control communicators, std::shared_ptr<store::Store> store)
    : WatchedCalls(std::move(member), "nccl", std::move(store)),
      communicators_(std::move(communicators)),
      lane_(&records_.lane("nccl")),
      ends_([this] { endLoop(); }) {
  startWatch("nccl watch");
}

Watchdog::~Watchdog() {
  drain();
  stopWatch();
  mustNotBeOn(ends_.get_id() == std::this_thread::get_id());
  ends_.join();
  releaseAbandoned();
  // A device may still write to these.
  for (const auto& flight : abandoned_) {
    keepForever(flight);
  }
}

void Watchdog::drain() {
  static_cast<void>(drained([this] { return ledger_.calls().empty(); }));
  if (!openCalls().empty()) {
    breakGroup(Failure{kDestroyed});
  }
}

bool Watchdog::broken() const {
  std::lock_guard lock(mutex_);
  return ledger_.isBroken();
}

std::shared_ptr<Flight> Watchdog::enter(Call call, std::vector<at::Tensor> outputs,
                                        milliseconds limit) {
  const auto abort = [this](const std::shared_ptr<Flight>& aborted) {
    fail(aborted, Failure{"aborted by its caller", -1, CommErrorKind::kAborted});
  };
  Lock lock(mutex_);
  const auto flight =
      WatchedCalls::enter(std::move(call), std::move(outputs), limit, abort, nullptr);
  flight->work->future().whenComplete([weak = std::weak_ptr<Flight>(flight)](const auto&) {
    if (const auto ended = weak.lock()) {
      ended->setUnderWay();
    }
  });
  static_cast<void>(refused(flight, lock));
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
  announce(failure);
  for (const auto& flight : openCalls()) {
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

std::vector<std::shared_ptr<Flight>> Watchdog::flightsBefore(const Flight& flight) const {
  return openCalls([&](const Flight& other) { return other.entry < flight.entry; });
}

void Watchdog::remove(const std::shared_ptr<Flight>& flight) {
  flight->withdraw(notices_);
  {
    std::lock_guard lock(mutex_);
    ledger_.remove(*flight);
  }
  changed_.notify_all();
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
    for (const auto& flight : openCalls()) {
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
  if (!recording()) {
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

void Watchdog::look() {
  if (broken()) {
    return;
  }
  const Flights all = openCalls();
  for (const auto& flight : all) {
    watch(flight, flight == all.front());
  }
  try {
    communicators_.check();
  } catch (const LibraryError& error) {
    if (!all.empty()) {
      fail(all.front(), explain(all.front(), error));
    }
  } catch (const std::exception& error) {
    breakGroup(Failure{error.what()});
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
    inquire(flight, oldest);
  }
}

void Watchdog::inquire(const std::shared_ptr<Flight>& flight, bool oldest) {
  flight->askedAt = Flight::Clock::now();
  // The store is asked once, by the oldest: what is wrong with the group is wrong with all.
  if (oldest) {
    const Blame blame = blameOfOthers();
    if (!blame.text.empty()) {
      fail(flight, Failure{blame.text, blame.culprit, CommErrorKind::kRemote});
      return;
    }
  }
  if (!isDirect(flight->call.operation)) {
    ask(flight, oldest, -1);
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
    const Blame blame = blameOfOthers();
    if (!blame.text.empty()) {
      return Failure{fmt::format("{}; {}", error.what(), blame.text), blame.culprit,
                     CommErrorKind::kRemote};
    }
    if (!isDirect(flight->call.operation)) {
      ask(flight, true, -1);
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
  std::string text;
  try {
    text = flight.timedOut(!isLaunched(flight)      ? "still on its way to the device"
                           : flight.begin->passed() ? "begun on the device and not done"
                                                    : "behind other work of the device");
  } catch (const DeviceError& error) {
    text = flight.timedOut("") + "; the device says " + error.what();
  }
  return late(flight, text, -1);
}

}  // namespace lockstep::process_group::nccl
