// The watch of a Dispatcher: time limits, dead peers and mismatched calls.

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/Mismatch.h"
#include "engine/process_group/gloo/Dispatcher.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick = milliseconds(50);
// How long a peer whose connection is lost stays a suspect: the thread that has its last data may
// not have run since.
constexpr milliseconds kSuspect = milliseconds(500);
constexpr milliseconds kIdleTick = milliseconds(250);
// An operation this old is asked about on the notice board, and again after as long.
constexpr milliseconds kStuck = std::chrono::seconds(1);

}  // namespace

void Dispatcher::watchLoop() {
  base::nameThisThread("gloo watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    watchWake_.wait_for(lock, inFlight_.empty() ? kIdleTick : kTick);
    if (stopping_ || inFlight_.empty()) {
      continue;
    }
    const Failure broken = broken_;
    std::vector<std::shared_ptr<Flight>> flights;
    for (const auto& [order, flight] : inFlight_) {
      const bool over = flight->ended || (!broken.what.empty() && flight->failed());
      if (!over && !flight->abandoned.load()) {
        flights.push_back(flight);
      }
    }
    const auto now = Flight::Clock::now();
    const bool momentOver = !broken.what.empty() && moment_.over(now);
    lock.unlock();
    for (const auto& flight : flights) {
      if (momentOver) {
        flight->fail(broken);
      } else {
        watchOne(flight, now, flight == flights.front());
      }
    }
    flights.clear();
    lock.lock();
  }
}

void Dispatcher::watchOne(const std::shared_ptr<Flight>& flight, Flight::Clock::time_point now,
                          bool oldest) {
  if (flight->expired(now) && !flight->failed()) {
    flight->fail(timeOut(*flight));
  }
  // A peer that ends well closes its connections too, perhaps while the last data is still
  // being read here: a suspect must still be waited for at the next look.
  if (const int peer = flight->waitingPeer(); peer >= 0 && !flight->failed()) {
    auto& since = suspectSince_[static_cast<std::size_t>(peer)];
    if (const auto text = transport_.lost(peer); !text) {
      since = {};
    } else if (since == Flight::Clock::time_point{}) {
      since = now;
    } else if (now - since >= kSuspect) {
      flight->fail(explain(PeerLost{peer, *text}));
    }
  }
  if (const auto told = flight->told(); told && !flight->failed()) {
    Difference found = mismatch(flight->call, options_.rank, options_.size, told->notes);
    if (!found.text.empty()) {
      flight->fail(
          Failure{std::move(found.text), -1, CommErrorKind::kMismatch, std::move(found.culprits)});
    }
  }
  if (flight->failed()) {
    const Failure failure = flight->failure();
    breakGroup(Failure{fmt::format("given up because {} #{} failed: {}",
                                   trace::name(flight->call.operation), flight->call.sequence,
                                   failure.what),
                       failure.peer, failure.kind},
               flight->order);
    return;
  }
  const milliseconds patience = std::min(kStuck, flight->limit / 4);
  const auto since = std::max(flight->queuedAt, flight->askedAt);
  if (!isDirect(flight->call.operation) && options_.size > 1 && now - since >= patience) {
    flight->askedAt = now;
    std::optional<Place> place;
    if (oldest) {  // what this rank is stuck in; the others only wait behind it
      place = Place{fmt::format("{} #{}", trace::name(flight->call.operation),
                                flight->call.sequence),
                    flight->waitingPeer()};
      flight->placed = true;
    }
    flight->asked = true;
    notices_.compare(flight->call.sequence, note(flight->call), place,
                     [weak = std::weak_ptr<Flight>(flight)](Told told) {
                       if (const auto flight = weak.lock()) {
                         flight->setTold(std::move(told));
                       }
                     });
    if (flight->work->isCompleted()) {
      withdraw(*flight);  // end() may have looked before
    }
  }
}

void Dispatcher::withdraw(const Flight& flight) {
  if (flight.asked) {
    notices_.withdraw(flight.call.sequence, flight.placed);
  }
}

Failure Dispatcher::timeOut(const Flight& flight) {
  std::string text = fmt::format("timed out after {} ms", flight.limit.count());
  const int peer = flight.waitingPeer();
  // A rank that was frozen itself finds that the others did not wait for it.
  if (const Blame blame = blameOf(notices_.reasons(kAsk), options_.rank);
      blame.culprit == options_.rank) {
    return Failure{text + "; " + blame.text, peer, CommErrorKind::kTimeout};
  }
  if (const std::string waiting = flight.waitingFor(); !waiting.empty()) {
    text += ", " + waiting;
  }
  const Blame blame = blameForWaiting(flight.told(), options_.rank, options_.size, peer);
  return Failure{text + blame.text, blame.culprit, CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::gloo
