#include "engine/process_group/gloo/Dispatcher.h"

#include <fmt/format.h>

#include "engine/process_group/gloo/PointToPoint.h"

namespace lockstep::process_group::gloo {

using std::chrono::milliseconds;

Dispatcher::Dispatcher(Member member, std::unique_ptr<Transport> transport,
                       std::shared_ptr<store::Store> store)
    : WatchedCalls(std::move(member), "gloo", std::move(store)),
      transport_(std::move(transport)),
      direct_(std::make_unique<PointToPoint>(*this, *transport_)),
      workers_(numberedNames("gloo", member_.threads), &records_) {
  startWatch("gloo watch");
}

Dispatcher::~Dispatcher() = default;

void Dispatcher::close() {
  if (!drained([this] { return ledger_.onlyAbandoned(); })) {
    breakGroup(Failure{kDestroyed}, 0);
  }
  for (const FlightPtr& flight : openCalls()) {
    flight->fail(Failure{kDestroyed});
  }
  direct_->endFailed();
  if (state() == GroupState::kSuccess) {
    transport_->sayFarewell();
  } else {
    transport_->close();
  }
  direct_->close();
  mustNotBeOn(workers_.onOne());
  workers_.finish();
  stopWatch();
}

std::shared_ptr<WorkState> Dispatcher::submit(Request request, milliseconds limit) {
  Lock lock(mutex_);
  const FlightPtr flight =
      enter(std::move(request.call), request.outputs, limit, abortBy(std::mem_fn(&Flight::fail)),
            std::mem_fn(&Flight::waitingFor), *transport_, member_, records_.wireCounter());
  if (refused(flight, lock)) {
    return flight->work;
  }
  if (isDirect(flight->call.operation)) {
    static_cast<void>(flight->leaveQueue());  // it never waits there
    lock.unlock();
    direct_->add({flight, std::move(request.outputs.front()), request.tag});
  } else {
    workers_.put([this, flight, request = std::move(request)](trace::Lane* lane) mutable {
      run(flight, std::move(request), lane);
    });
  }
  return flight->work;
}

void Dispatcher::run(const FlightPtr& flight, Request request, trace::Lane* lane) {
  if (!flight->leaveQueue()) {
    return;  // the group broke, and it has ended
  }
  flight->startTicks = base::ticks();
  const auto failure = attempt([&] {
    if (flight->failed()) {
      return;
    }
    if (reduces(flight->call.operation)) {
      reduce(*flight, request.outputs, request.inputs);
    } else if (flight->call.operation == trace::Operation::kBarrier) {
      waitForEarlier(*flight);
      barrier(*flight);
    } else {
      move(*flight, request.outputs, request.inputs);
    }
  });
  if (failure) {
    flight->fail(*failure);
  }
  request = {};  // callbacks shall not find its tensors held
  const bool failed = flight->failed();
  if (failed) {
    fail(givenUpFor(flight->call, flight->failure()), flight->entry);
  }
  end(flight, lane);
  if (failed) {
    tellOthers();
  }
}

std::optional<Failure> Dispatcher::attempt(const std::function<void()>& move) {
  try {
    move();
  } catch (const Interrupted&) {
    // It knows why.
  } catch (const PeerLost& lost) {
    return explain(lost);
  } catch (const std::exception& error) {
    return Failure{error.what()};
  }
  return std::nullopt;
}

void Dispatcher::end(const FlightPtr& flight, trace::Lane* lane,
                     const std::optional<Failure>& alone) {
  if (alone) {
    flight->fail(*alone);
  }
  if (WatchedCalls::end(flight, lane)) {
    flight->withdraw(notices_);
  }
  closeWhenOver();
}

void Dispatcher::fail(const Failure& failure, std::uint64_t before) {
  {
    std::lock_guard lock(mutex_);
    if (ledger_.breakBy(failure)) {
      ledger_.moment.begin();
    }
  }
  const std::vector<FlightPtr> all = openCalls([before](const Flight& flight) {
    return flight.entry >= before || isDirect(flight.call.operation);
  });
  for (const FlightPtr& flight : all) {
    flight->fail(failure);
  }
  for (const FlightPtr& flight : all) {
    if (flight->leaveQueue()) {  // else who carries it out will end it
      end(flight, nullptr);
    }
  }
  direct_->endFailed();
}

// Who comes second may be about to end the process: not before the reason stands.
void Dispatcher::tellOthers() {
  std::call_once(told_, [this] {
    announce(whyBroken());
    std::lock_guard lock(mutex_);
    closes_ = true;
  });
  closeWhenOver();
}

// Others may wait for this rank's part in what is spared.
void Dispatcher::closeWhenOver() {
  {
    std::lock_guard lock(mutex_);
    if (!closes_ || ledger_.spares()) {
      return;
    }
    closes_ = false;
  }
  transport_->close();
}

void Dispatcher::breakGroup(const Failure& failure, std::uint64_t before) {
  fail(failure, before);
  tellOthers();
}

Failure Dispatcher::explain(const PeerLost& lost) {
  const std::string text =
      fmt::format("lost the connection to rank {} ({})", lost.peer, lost.lower);
  if (const Blame blame = blameOfOthers(); !blame.text.empty()) {
    const bool other = blame.culprit >= 0 && blame.culprit != member_.rank;
    return Failure{text + "; " + blame.text, other ? blame.culprit : lost.peer,
                   CommErrorKind::kRemote};
  }
  return Failure{transport_->left(lost.peer) ? fmt::format("rank {} has left the group", lost.peer)
                                             : text + "; its process has probably ended",
                 lost.peer, CommErrorKind::kNetwork};
}

// The watch: time limits, dead peers and mismatched calls.
void Dispatcher::look() {
  // How long a peer whose connection is lost stays a suspect: the thread that has its last data may
  // not have run since.
  constexpr milliseconds kSuspect{500};
  // A spared collective of many bytes over a slow network ends late, but moves.
  const bool moves = state() != GroupState::kSuccess && moved();
  const auto now = Clock::now();
  Lock lock(mutex_);
  const Failure broken = ledger_.broken();
  if (moves) {
    ledger_.moment.renew();
  }
  const bool momentOver = ledger_.isBroken() && ledger_.moment.over(now);
  lock.unlock();
  const std::vector<FlightPtr> flights = openCalls([&](const Flight& flight) {
    return !flight.ended && !flight.abandoned && (broken.what.empty() || !flight.failed());
  });
  for (const FlightPtr& flight : flights) {
    if (momentOver) {
      flight->fail(broken);
      continue;
    }
    if (flight->expired(now) && !flight->failed()) {
      flight->fail(timeOut(*flight));
    }
    // A peer that ends well closes its connections too, perhaps while the last data is still being
    // read here.
    const int peer = flight->waitingPeer();
    if (const auto text = transport_->lost(peer, kSuspect); text && !flight->failed()) {
      flight->fail(explain(PeerLost{peer, *text}));
    }
    if (auto difference = flight->mismatch(member_)) {
      flight->fail(*std::move(difference));
    }
    if (flight->failed()) {
      breakGroup(givenUpFor(flight->call, flight->failure()), flight->entry);
    } else if (!isDirect(flight->call.operation) && member_.size > 1 &&
               flight->toBeAskedAbout(now)) {
      flight->askedAt = now;
      ask(flight, flight == flights.front(), peer);
    }
  }
}

Failure Dispatcher::timeOut(const Flight& flight) {
  const int peer = flight.waitingPeer();
  // A rank that was frozen itself finds that the others did not wait for it.
  if (const Blame blame = blameOfOthers(); blame.culprit == member_.rank) {
    return Failure{flight.timedOut("") + "; " + blame.text, peer, CommErrorKind::kTimeout};
  }
  return late(flight, flight.timedOut(flight.waitingFor()), peer);
}

}  // namespace lockstep::process_group::gloo
