// The watch of a Dispatcher: time limits, dead peers and mismatched calls.

#include <fmt/format.h>

#include "engine/process_group/gloo/Dispatcher.h"

namespace lockstep::process_group::gloo {

void Dispatcher::look() {
  const auto now = Clock::now();
  Lock lock(mutex_);
  const Failure broken = ledger_.broken();
  const bool momentOver = ledger_.isBroken() && ledger_.moment.over(now);
  lock.unlock();
  const std::vector<FlightPtr> flights = openCalls([&](const Flight& flight) {
    return !flight.ended && !flight.abandoned && (broken.what.empty() || !flight.failed());
  });
  for (const FlightPtr& flight : flights) {
    if (momentOver) {
      flight->fail(broken);
    } else {
      look(flight, now, flight == flights.front());
    }
  }
}

void Dispatcher::look(const FlightPtr& flight, Clock::time_point now, bool oldest) {
  // How long a peer whose connection is lost stays a suspect: the thread that has its last data may
  // not have run since.
  constexpr std::chrono::milliseconds kSuspect{500};
  if (flight->expired(now) && !flight->failed()) {
    flight->fail(timeOut(*flight));
  }
  // A peer that ends well closes its connections too, perhaps while the last data is still
  // being read here: a suspect must still be waited for at the next look.
  if (const int peer = flight->waitingPeer(); peer >= 0 && !flight->failed()) {
    auto& since = suspectSince_[static_cast<std::size_t>(peer)];
    if (const auto text = transport_->lost(peer); !text) {
      since = {};
    } else if (since == Clock::time_point{}) {
      since = now;
    } else if (now - since >= kSuspect) {
      flight->fail(explain(PeerLost{peer, *text}));
    }
  }
  if (auto difference = flight->mismatch(member_)) {
    flight->fail(*std::move(difference));
  }
  if (flight->failed()) {
    breakGroup(givenUpFor(flight->call, flight->failure()), flight->entry);
  } else if (!isDirect(flight->call.operation) && member_.size > 1 && flight->toBeAskedAbout(now)) {
    flight->askedAt = now;
    ask(flight, oldest, flight->waitingPeer());
  }
}

Failure Dispatcher::timeOut(const Flight& flight) {
  std::string text = fmt::format("timed out after {} ms", flight.limit.count());
  const int peer = flight.waitingPeer();
  // A rank that was frozen itself finds that the others did not wait for it.
  if (const Blame blame = blameOfOthers(); blame.culprit == member_.rank) {
    return Failure{text + "; " + blame.text, peer, CommErrorKind::kTimeout};
  }
  if (const std::string waiting = flight.waitingFor(); !waiting.empty()) {
    text += ", " + waiting;
  }
  return late(flight, text, peer);
}

}  // namespace lockstep::process_group::gloo
