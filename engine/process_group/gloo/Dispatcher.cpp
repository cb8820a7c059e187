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
      suspectSince_(static_cast<std::size_t>(member_.size)),
      lanes_(records_.lanes(numberedNames("gloo", member_.threads))),
      scratch_(lanes_.size()),
      workers_(numberedNames("gloo", member_.threads)) {
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
  direct_->wake();
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

// With the mutex held.
FlightPtr Dispatcher::enter(Call call, std::vector<at::Tensor> outputs, milliseconds limit) {
  return WatchedCalls::enter(std::move(call), std::move(outputs), limit,
                             abortBy(std::mem_fn(&Flight::fail)), std::mem_fn(&Flight::waitingFor),
                             *transport_, member_);
}

std::shared_ptr<WorkState> Dispatcher::submit(Call call, std::vector<at::Tensor> outputs,
                                              milliseconds limit, Body body) {
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), std::move(outputs), limit);
  if (!refused(flight, lock)) {
    workers_.put([this, flight, body = std::move(body)](std::size_t worker) mutable {
      run(flight, std::move(body), worker);
    });
  }
  return flight->work;
}

std::shared_ptr<WorkState> Dispatcher::submitDirect(Call call, at::Tensor tensor, int tag,
                                                    milliseconds limit) {
  Lock lock(mutex_);
  const FlightPtr flight = enter(std::move(call), {tensor}, limit);
  if (refused(flight, lock)) {
    return flight->work;
  }
  static_cast<void>(flight->start());  // it never waits in the queue
  lock.unlock();
  direct_->add(flight, std::move(tensor), static_cast<std::uint32_t>(tag));
  return flight->work;
}

void Dispatcher::run(const FlightPtr& flight, Body body, std::size_t worker) {
  if (!flight->start()) {
    return;  // the group broke, and it has ended
  }
  const std::uint64_t start = base::ticks();
  try {
    if (!flight->failed()) {
      body(*flight, scratch_[worker]);
    }
  } catch (const Interrupted&) {
    // It knows why.
  } catch (const PeerLost& lost) {
    flight->fail(explain(lost));
  } catch (const std::exception& error) {
    flight->fail(Failure{error.what()});
  }
  body = nullptr;
  if (!flight->failed()) {
    end(flight, lanes_[worker], start);
    return;
  }
  fail(givenUpFor(flight->call, flight->failure()), flight->entry);
  end(flight, lanes_[worker], start);
  tellOthers();
}

void Dispatcher::end(const FlightPtr& flight, trace::Lane* lane, std::uint64_t startTicks,
                     const std::optional<Failure>& alone) {
  if (flight->sentMessages != 0) {
    records_.wireCounter().countSent(flight->sentBytes, flight->sentMessages);
  }
  if (flight->receivedBytes != 0) {
    records_.wireCounter().countReceived(flight->receivedBytes);
  }
  if (alone) {
    flight->fail(*alone);
  }
  if (WatchedCalls::end(flight, lane, startTicks)) {
    flight->withdraw(notices_);
  }
  closeWhenOver();
}

void Dispatcher::fail(const Failure& failure, std::uint64_t before) {
  std::vector<FlightPtr> all;
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
  }
  for (const FlightPtr& flight : all) {
    flight->fail(failure);
  }
  for (const FlightPtr& flight : all) {
    if (flight->start()) {  // else who carries it out will end it
      end(flight, nullptr, 0);
    }
  }
  direct_->wake();
}

// Who comes second may be about to end the process: not before the reason stands.
void Dispatcher::tellOthers() {
  std::call_once(told_, [this] {
    Lock lock(mutex_);
    const Failure reason = ledger_.broken();
    lock.unlock();
    announce(reason);
    lock.lock();
    announced_ = true;
  });
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
  transport_->close();
}

void Dispatcher::breakGroup(const Failure& failure, std::uint64_t before) {
  fail(failure, before);
  tellOthers();
}

Failure Dispatcher::explain(const PeerLost& lost) {
  std::string text = fmt::format("lost the connection to rank {} ({})", lost.peer, lost.lower);
  const Blame blame = blameOfOthers();
  if (!blame.text.empty()) {
    const bool other = blame.culprit >= 0 && blame.culprit != member_.rank;
    return Failure{text + "; " + blame.text, other ? blame.culprit : lost.peer,
                   CommErrorKind::kRemote};
  }
  text = transport_->left(lost.peer) ? fmt::format("rank {} has left the group", lost.peer)
                                     : text + "; its process has probably ended";
  return Failure{text, lost.peer, CommErrorKind::kNetwork};
}

}  // namespace lockstep::process_group::gloo
