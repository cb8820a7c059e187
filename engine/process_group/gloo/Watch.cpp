// The watch of a Dispatcher: time limits, dead peers and mismatched calls.

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Thread.h"
#include "engine/process_group/Blame.h"
#include "engine/process_group/gloo/Dispatcher.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick = milliseconds(50);
// How long a peer whose connection is lost stays a suspect: the thread that has its last data may
// not have run since.
constexpr milliseconds kSuspect = milliseconds(500);
constexpr milliseconds kIdleTick = milliseconds(250);

}  // namespace

void Dispatcher::watchLoop() {
  base::nameThisThread("gloo watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    watchWake_.wait_for(lock, ledger_.calls().empty() ? kIdleTick : kTick);
    if (stopping_ || ledger_.calls().empty()) {
      continue;
    }
    const Failure broken = ledger_.broken();
    std::vector<std::shared_ptr<Flight>> flights;
    for (const auto& [entry, flight] : ledger_.calls()) {
      const bool over = flight->ended || (!broken.what.empty() && flight->failed());
      if (!over && !flight->abandoned.load()) {
        flights.push_back(flight);
      }
    }
    const auto now = Flight::Clock::now();
    const bool momentOver = !broken.what.empty() && ledger_.moment.over(now);
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
  if (auto difference = flight->mismatch(member_)) {
    flight->fail(*std::move(difference));
  }
  if (flight->failed()) {
    breakGroup(givenUpFor(flight->call, flight->failure()), flight->entry);
    return;
  }
  if (!isDirect(flight->call.operation) && member_.size > 1 && flight->toBeAskedAbout(now)) {
    flight->askedAt = now;
    // Only the oldest is what this rank is stuck in; the others wait behind it.
    NoticedCall::ask(flight, notices_,
                     oldest ? std::optional(flight->waitingPeer()) : std::nullopt);
  }
}

Failure Dispatcher::timeOut(const Flight& flight) {
  std::string text = fmt::format("timed out after {} ms", flight.limit.count());
  const int peer = flight.waitingPeer();
  // A rank that was frozen itself finds that the others did not wait for it.
  if (const Blame blame = blameOf(notices_.reasons(kAsk), member_.rank);
      blame.culprit == member_.rank) {
    return Failure{text + "; " + blame.text, peer, CommErrorKind::kTimeout};
  }
  if (const std::string waiting = flight.waitingFor(); !waiting.empty()) {
    text += ", " + waiting;
  }
  const Blame blame = blameForWaiting(flight.told(), member_.rank, member_.size, peer);
  return Failure{text + blame.text, blame.culprit, CommErrorKind::kTimeout};
}

}  // namespace lockstep::process_group::gloo
