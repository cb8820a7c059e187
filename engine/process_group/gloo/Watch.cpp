// The watch of a Dispatcher: time limits, dead peers and mismatched calls.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/Thread.h"
#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/Mismatch.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick = milliseconds(50);
constexpr milliseconds kIdleTick = milliseconds(250);
// An operation this old is asked about on the notice board, and again after as long.
constexpr milliseconds kStuck = std::chrono::seconds(1);

}  // namespace

void Dispatcher::watchLoop() {
  base::nameThisThread("gloo watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    watchWake_.wait_for(lock, inFlight_.empty() ? kIdleTick : kTick);
    if (stopping_ || inFlight_.empty() || !broken_.empty()) {
      continue;
    }
    std::vector<std::shared_ptr<Flight>> flights;
    for (const auto& [order, flight] : inFlight_) {
      if (!flight->ended) {
        flights.push_back(flight);
      }
    }
    lock.unlock();
    const auto now = Flight::Clock::now();
    for (const auto& flight : flights) {
      watchOne(flight, now);
    }
    flights.clear();
    lock.lock();
  }
}

void Dispatcher::watchOne(const std::shared_ptr<Flight>& flight, Flight::Clock::time_point now) {
  if (flight->expired(now)) {
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
    } else if (now - since >= kTick) {
      flight->fail(explain(PeerLost{peer, *text}));
    }
  }
  if (const auto notes = flight->notes(); notes && !flight->failed()) {
    if (const std::string text = mismatch(*flight, *notes); !text.empty()) {
      flight->fail(Failure{text, -1, CommErrorKind::kMismatch});
    }
  }
  if (flight->failed()) {
    const Failure failure = flight->failure();
    breakGroup(Failure{fmt::format("given up because {} #{} failed: {}",
                                   trace::name(flight->call.operation), flight->call.sequence,
                                   failure.what),
                       failure.peer, failure.kind});
    return;
  }
  const milliseconds patience = std::min(kStuck, flight->limit / 4);
  const auto since = std::max(flight->queuedAt, flight->askedAt);
  if (!isDirect(flight->call.operation) && options_.size > 1 && now - since >= patience) {
    flight->askedAt = now;
    notices_.compare(flight->call.sequence, note(*flight),
                     [weak = std::weak_ptr<Flight>(flight)](NoticeBoard::Notes notes) {
                       if (const auto flight = weak.lock()) {
                         flight->setNotes(std::move(notes));
                       }
                     });
  }
}

Failure Dispatcher::timeOut(const Flight& flight) const {
  std::string text = fmt::format("timed out after {} ms", flight.limit.count());
  if (const std::string waiting = flight.waitingFor(); !waiting.empty()) {
    text += ", " + waiting;
  }
  if (const auto notes = flight.notes()) {
    std::vector<int> silent;
    for (int rank = 0; rank < options_.size; ++rank) {
      const bool spoke = std::any_of(notes->begin(), notes->end(),
                                     [rank](const auto& entry) { return entry.first == rank; });
      if (rank != options_.rank && !spoke) {
        silent.push_back(rank);
      }
    }
    if (!silent.empty()) {
      const bool one = silent.size() == 1;
      text += fmt::format("; {} {} {} not said to be in this operation", one ? "rank" : "ranks",
                          fmt::join(silent, ", "), one ? "has" : "have");
    }
  }
  return Failure{text, flight.waitingPeer(), CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::gloo
