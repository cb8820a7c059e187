// The MPI thread's part of a Dispatcher.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/process_group/KeepForever.h"
#include "engine/process_group/Mismatch.h"
#include "engine/process_group/mpi/Dispatcher.h"
#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {
namespace {

using std::chrono::milliseconds;

// See Note [Order of collectives].
constexpr std::size_t kMostOpen = 64;
// How often time limits are looked at.
constexpr milliseconds kLook{2};
// A collective this old is asked about, and again after as long.
constexpr milliseconds kStuck = std::chrono::seconds(1);
// Tags of collectives; those below are PointToPoint's and Inquiry's. Every MPI has tags up to
// 32767.
constexpr int kFirstTag = 16;
constexpr int kRounds = 4;
constexpr std::uint64_t kTagsInTurn = 4096;

int tagOf(const Flight& flight) {
  return kFirstTag + static_cast<int>(flight.call.sequence % kTagsInTurn) * kRounds +
         static_cast<int>(flight.round);
}

}  // namespace

Client::Activity Dispatcher::poll() {
  Activity activity;
  Fresh fresh = takeNew();
  if (broken()) {
    dropFailed();
    std::unique_lock lock(mutex_);
    const bool over = !ledger_.spares();
    lock.unlock();
    // Nothing is left that could end well: what MPI still has is given up.
    if (over) {
      abandon();
      return activity;
    }
  }
  try {
    // Resumed operations before new ones: the other ranks wait for their next rounds.
    start(std::move(fresh));
    startReady(activity);
    startBarrier(activity);
    testOpen(activity);
    pointToPoint_->poll(activity);
    keepLimits();
  } catch (const std::exception& error) {
    breakGroup(Failure{error.what()});
  }
  activity.open = !waiting_.empty() || !barriers_.empty() || !open_.empty() || activity.open;
  return activity;
}

Dispatcher::Fresh Dispatcher::takeNew() {
  Fresh fresh;
  std::lock_guard lock(mutex_);
  std::move(new_.begin(), new_.end(), std::back_inserter(waiting_));
  new_.clear();
  std::move(newBarriers_.begin(), newBarriers_.end(), std::back_inserter(barriers_));
  newBarriers_.clear();
  fresh.resumed.swap(resumed_);
  fresh.transfers.swap(newTransfers_);
  return fresh;
}

void Dispatcher::start(Fresh fresh) {
  for (const FlightPtr& flight : fresh.resumed) {
    post(flight);
  }
  for (PointToPoint::Transfer& transfer : fresh.transfers) {
    const FlightPtr flight = transfer.open;
    if (flight->failed()) {
      continue;
    }
    try {
      pointToPoint_->add(std::move(transfer));
    } catch (const MpiError& error) {
      failedBy(flight, Failure{fmt::format("{}, {}", error.what(), flight->waitingFor()),
                               flight->call.root});
    }
  }
}

void Dispatcher::startReady(Activity& activity) {
  // The oldest first, even where a later one is prepared already: MPI matches by order.
  while (!waiting_.empty() && waiting_.front()->prepared.load() && open_.size() < kMostOpen) {
    const FlightPtr flight = std::move(waiting_.front());
    waiting_.pop_front();
    post(flight);
    activity.moved = true;
  }
}

void Dispatcher::startBarrier(Activity& activity) {
  // One at a time: the next must wait for this one, too.
  if (!barriers_.empty() && earlierDone(*barriers_.front())) {
    const FlightPtr flight = std::move(barriers_.front());
    barriers_.pop_front();
    post(flight);
    activity.moved = true;
  }
}

bool Dispatcher::earlierDone(const Flight& flight) const {
  std::lock_guard lock(mutex_);
  return std::all_of(ledger_.calls().begin(), ledger_.calls().end(), [&](const auto& other) {
    return other.first >= flight.entry || other.second->work->isCompleted() ||
           other.second->abandoned.load();
  });
}

void Dispatcher::post(const FlightPtr& flight) {
  if (flight->failed()) {
    return;
  }
  if (flight->round == 0) {
    flight->startTicks.store(base::ticks());
  }
  flight->requests = std::make_shared<Requests>(comm_, barrierComm_, tagOf(*flight));
  // Before its requests are posted: if one of them fails, MPI may have those before it, and
  // dropFailed() keeps all of it.
  open_.push_back(flight);
  try {
    flight->schedule.rounds[flight->round].post(*flight->requests);
    flight->requests->tell(*flight);
  } catch (const std::exception& error) {
    failedBy(flight, Failure{error.what()});
  }
}

void Dispatcher::testOpen(Activity& activity) {
  std::vector<FlightPtr> done;
  for (const FlightPtr& flight : open_) {
    try {
      if (flight->requests->test(activity.moved)) {
        done.push_back(flight);
      }
    } catch (const Requests::Mismatch& mismatch) {
      failedBy(flight, Failure{std::string(kNotTheSameCall) + mismatch.what, mismatch.peer,
                               CommErrorKind::kMismatch});
      return;
    } catch (const MpiError& error) {
      failedBy(flight, Failure{error.what()});
      return;
    }
  }
  for (const FlightPtr& flight : done) {
    open_.erase(std::find(open_.begin(), open_.end(), flight));
    activity.moved = true;
    roundDone(flight);
  }
}

void Dispatcher::roundDone(const FlightPtr& flight) {
  // Taken before the round is counted up.
  const std::size_t round = flight->round++;
  auto& then = flight->schedule.rounds[round].then;
  if (flight->round == flight->schedule.rounds.size()) {
    finish(flight, std::move(then));
    return;
  }
  workers_.put([this, flight, then = std::move(then)](trace::Lane*) {
    compute(flight, then);
    {
      std::lock_guard lock(mutex_);
      // By the MPI thread, as everything that calls MPI.
      resumed_.push_back(flight);
    }
    runtime_->wake();
  });
}

void Dispatcher::keepLimits() {
  const auto now = Flight::Clock::now();
  if (now < nextLook_) {
    return;
  }
  nextLook_ = now + kLook;
  for (const FlightPtr& flight : open_) {
    flight->requests->tell(*flight);
  }
  inquire(now);
  FlightPtr late;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [entry, flight] : ledger_.calls()) {
      if (!flight->ended && !flight->abandoned.load() && flight->expired(now)) {
        late = flight;
        break;
      }
    }
  }
  // Not under the lock, which failing takes.
  if (late != nullptr) {
    failedBy(late, timeOut(*late));
  }
}

// Asks who keeps the oldest collective waiting, well before its time has passed.
void Dispatcher::inquire(Flight::Clock::time_point now) {
  for (const FlightPtr& flight : open_) {
    // Early enough that the answers are here when the time has passed.
    const milliseconds patience = std::min(kStuck, flight->limit / 4);
    if (now - flight->calledAt >= patience) {
      inquiry_->ask(now, patience);
      break;
    }
  }
  inquiry_->poll([this] { return sequence(); });
}

Failure Dispatcher::timeOut(const Flight& flight) const {
  std::string waiting = flight.waitingFor();
  int peer = -1;
  // Of a collective that has begun the others' answers say who has not come to it.
  if (!isDirect(flight.call.operation) && flight.startTicks.load() != 0) {
    Inquiry::Missing missing = inquiry_->missing(flight.call.sequence);
    if (!missing.text.empty()) {
      waiting = std::move(missing.text);
      peer = missing.rank;
    }
  }
  return Failure{flight.timedOut(waiting), peer, CommErrorKind::kTimeout};
}

void Dispatcher::dropFailed() {
  const auto failed = [](const FlightPtr& flight) { return flight->failed(); };
  std::erase_if(waiting_, failed);
  std::erase_if(barriers_, failed);
  const auto gone = std::stable_partition(open_.begin(), open_.end(), std::not_fn(failed));
  for (auto flight = gone; flight != open_.end(); ++flight) {
    keepForever(std::move(*flight));  // MPI may still use its memory
  }
  open_.erase(gone, open_.end());
}

void Dispatcher::abandon() {
  waiting_.clear();
  barriers_.clear();
  for (FlightPtr& flight : std::exchange(open_, {})) {
    keepForever(std::move(flight));  // MPI may still use its memory
  }
  if (pointToPoint_ != nullptr && pointToPoint_->open()) {
    static_cast<void>(pointToPoint_.release());  // MPI may still use its memory
  }
  pointToPoint_ = nullptr;
  if (inquiry_ != nullptr && inquiry_->open()) {
    static_cast<void>(inquiry_.release());
  }
  inquiry_ = nullptr;
}

// The communicators stay until MPI ends: the number of one that is freed goes to the next one, and
// with it a question of a rank that still waits, which MPI would take for the next one's.
void Dispatcher::retire() {
  abandon();
}

}  // namespace lockstep::process_group::mpi
