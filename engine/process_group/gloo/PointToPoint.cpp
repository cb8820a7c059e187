#include "engine/process_group/gloo/PointToPoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"

namespace lockstep::process_group::gloo {
namespace {

// Gloo's name for data that does not travel in its offer.
std::uint64_t dataSlot(std::uint64_t id) {
  return std::uint64_t{2} << 60 | id;
}

// Threads for the messages of all other ranks; up to so many have one for themselves.
constexpr std::size_t kDesks = 8;
// How long a rank that leaves waits for its last answers to go.
constexpr std::chrono::seconds kLastAnswers{5};

}  // namespace

PointToPoint::PointToPoint(Dispatcher& dispatcher, Transport& transport)
    : dispatcher_(dispatcher),
      transport_(transport),
      links_(static_cast<std::size_t>(dispatcher.member().size)) {}

void PointToPoint::close() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  for (const auto& desk : desks_) {
    desk->thread.join();
  }
  // A receiver may leave before the sender's inbox is open for the answer.
  const auto until = std::chrono::steady_clock::now() + kLastAnswers;
  for (Link& link : links_) {
    try {
      for (Sent& sent : link.unacknowledged) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
            std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1)));
        waited([&] { return sent.buffer->waitSend(nullptr, rest); });
      }
    } catch (const std::exception&) {
      // The peer has left, or does not read.
    }
  }
}

// With the mutex held; most groups never need it.
void PointToPoint::start() {
  if (!desks_.empty()) {
    return;
  }
  lane_ = &dispatcher_.records().lane("gloo p2p");
  const auto others = static_cast<std::size_t>(dispatcher_.member().size - 1);
  std::vector<std::vector<int>> shares(std::min(others, kDesks));
  for (std::size_t i = 0; i < others; ++i) {
    const int peer = static_cast<int>(i);
    shares[i % shares.size()].push_back(peer < dispatcher_.member().rank ? peer : peer + 1);
  }
  for (std::vector<int>& sources : shares) {
    desks_.push_back(
        std::make_unique<Desk>(Desk{Inbox(*transport_.context(0), std::move(sources))}));
  }
  for (std::size_t i = 0; i < desks_.size(); ++i) {
    desks_[i]->thread = std::thread([this, i, desk = desks_[i].get()] {
      base::nameThisThread(fmt::format("gloo p2p {}", i));
      loop(*desk);
    });
  }
}

void PointToPoint::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  for (const auto& desk : desks_) {
    desk->inbox.wake();
  }
}

// Runs what moves data; a connection that breaks breaks the group.
template <typename Function>
void PointToPoint::guarded(Function function) {
  try {
    function();
  } catch (const PeerLost& lost) {
    dispatcher_.breakGroup(lost);
  } catch (const Interrupted&) {
    // It has failed, and ends with the others that have.
  } catch (const std::exception& error) {
    dispatcher_.breakGroup(Failure{error.what()});
  }
}

void PointToPoint::add(const FlightPtr& flight, at::Tensor tensor, std::uint32_t tag) {
  const bool sends = flight->call.operation == trace::Operation::kSend;
  const auto access = sends ? Flat::Access::kRead : Flat::Access::kWrite;
  flight->setWaiting(flight->call.root, sends);
  Direct<Flight> direct{flight, Flat({std::move(tensor)}, access), tag, base::ticks()};
  guarded([&] { sends ? send(std::move(direct)) : receive(std::move(direct)); });
  if (flight->failed()) {  // perhaps before it stood among those that are ended
    wake();
  }
}

void PointToPoint::send(Direct<Flight> direct) {
  const FlightPtr flight = direct.open;
  const int to = flight->call.root;
  const Block block = blockOf(direct.flat);
  ControlHeader offer = offerOf(direct);
  std::lock_guard lock(mutex_);
  start();
  offer.id = open_.nextId();
  Send& send = open_.sent(offer.id, Send{std::move(direct), nullptr});
  if (block.bytes <= kInlineBytes) {
    offer.inlineBytes = static_cast<std::uint32_t>(block.bytes);
    flight->sentBytes += block.bytes;
    flight->sentMessages += block.bytes != 0 ? 1 : 0;
  } else {
    send.channel = std::make_unique<Channel>(*flight, to, dataSlot(offer.id), block);
    send.channel->send(0, block.bytes);
  }
  tell(to, offer, block.data);
}

void PointToPoint::receive(Direct<Flight> direct) {
  std::optional<Match> match;
  {
    std::lock_guard lock(mutex_);
    start();
    match = open_.meet(direct);
    if (!match) {
      open_.wait(std::move(direct));
      return;
    }
    if (match->receive.flat.bytes() > kInlineBytes) {  // not while the caller waits
      const auto desk = std::find_if(desks_.begin(), desks_.end(), [&](const auto& one) {
        return one->inbox.serves(match->source);
      });
      (*desk)->large.push_back(std::move(*match));
      changed_.notify_all();
      (*desk)->inbox.wake();
      return;
    }
  }
  transfer(std::move(*match));
}

// With the mutex held: a peer counts our messages in the order in which they leave.
void PointToPoint::tell(int peer, ControlHeader header, const std::byte* data) {
  Link& link = links_[static_cast<std::size_t>(peer)];
  header.received = link.received;
  const std::size_t bytes = sizeof(header) + header.inlineBytes;
  Sent sent{std::make_unique_for_overwrite<std::byte[]>(bytes), nullptr};
  std::memcpy(sent.memory.get(), &header, sizeof(header));
  if (header.inlineBytes != 0) {
    std::memcpy(sent.memory.get() + sizeof(header), data, header.inlineBytes);
  }
  sent.buffer = transport_.context(0)->createUnboundBuffer(sent.memory.get(), bytes);
  try {
    sent.buffer->send(peer, kControlSlot, 0, bytes);
  } catch (const std::exception& error) {
    throw PeerLost{peer, withoutLocation(error.what())};
  }
  link.unacknowledged.push_back(std::move(sent));
}

void PointToPoint::loop(Desk& desk) {
  const at::NoGradGuard noGrad;
  bool closed = false;
  for (;;) {
    if (endFailed()) {
      wake();  // other threads may wait for these to be gone before they end
    }
    std::optional<Match> large;
    {
      std::unique_lock lock(mutex_);
      const auto over = [&] {
        return stopping_ && !open_.sending() && !open_.receiving() && desk.large.empty();
      };
      if (closed) {
        changed_.wait(lock, [&] { return over() || open_.anyFailed() || !desk.large.empty(); });
      }
      if (over()) {
        return;
      }
      if (!desk.large.empty()) {
        large = std::move(desk.large.front());
        desk.large.pop_front();
      }
    }
    guarded([&] {
      if (large) {
        transfer(std::move(*large));
      } else if (!closed) {
        try {
          if (const auto arrived = desk.inbox.wait()) {
            handle(*arrived);
          }
        } catch (const std::exception& error) {
          // Gloo's exception stays: each further wait would end with it at once. A rank may leave
          // when it is done; if somebody waits for it, the watch breaks the group.
          closed = true;
          lose(desk.inbox.sources(), withoutLocation(error.what()));
        }
      }
    });
  }
}

// A receive from several ranks does not say which connection broke; all are, when they were
// closed here. The others would not be heard any more.
void PointToPoint::lose(const std::vector<int>& peers, const std::string& lower) {
  if (peers.size() == 1) {
    return;
  }
  for (const int peer : peers) {
    if (const auto text = transport_.lost(peer)) {
      throw PeerLost{peer, *text};
    }
  }
  dispatcher_.breakGroup(Failure{lower, -1, CommErrorKind::kNetwork});
}

void PointToPoint::handle(const Inbox::Arrived& arrived) {
  const ControlHeader& header = arrived.header;
  std::optional<Direct<Flight>> receive;
  {
    std::lock_guard lock(mutex_);
    Link& link = links_[static_cast<std::size_t>(arrived.source)];
    ++link.received;
    const std::uint32_t news = header.received - link.acknowledged;
    if (news > link.unacknowledged.size() || header.kind < Kind::kOffer ||
        header.kind > Kind::kRefused || header.inlineBytes > kInlineBytes) {
      throw PeerLost{arrived.source, "it sent a message that makes no sense"};
    }
    link.unacknowledged.erase(link.unacknowledged.begin(), link.unacknowledged.begin() + news);
    link.acknowledged = header.received;
    if (header.kind == Kind::kOffer) {
      receive = open_.taker(arrived.source, header.tag);
      if (!receive) {
        Offer offer{header, nullptr, {arrived.data, arrived.data + header.inlineBytes}};
        offer.data = offer.kept.data();  // and stays there
        open_.keep(arrived.source, header.tag, std::move(offer));
        return;
      }
    }
  }
  if (receive) {
    transfer({std::move(*receive), arrived.source, Offer{header, arrived.data, {}}});
  } else {
    answered(arrived.source, header);
  }
}

void PointToPoint::take(Direct<Flight>& receive, int source, Offer& offer) {
  guarded([&] {
    Flight& flight = *receive.open;
    const Block block = blockOf(receive.flat);
    if (block.bytes > kInlineBytes) {
      Channel channel(flight, source, dataSlot(offer.header.id), block);
      channel.receive(0, block.bytes);
      channel.finishReceive();
    } else if (offer.header.inlineBytes == block.bytes) {
      receive.flat.write(0, block.bytes, offer.data);
      flight.receivedBytes += block.bytes;
    } else {
      throw PeerLost{source, "it sent a message that makes no sense"};
    }
    receive.flat.copyBack();
  });
}

void PointToPoint::answer(int peer, const ControlHeader& header) {
  std::lock_guard lock(mutex_);
  tell(peer, header);
}

void PointToPoint::release(Send& send, bool accepted) {
  if (accepted && send.channel != nullptr) {
    guarded([&] { send.channel->finishSend(); });  // done already: the data has arrived
  }
  send.channel.reset();
}

void PointToPoint::end(const Direct<Flight>& direct, const std::optional<Failure>& alone) {
  {
    std::lock_guard lock(laneMutex_);
    dispatcher_.records().ended(direct.open->call, *lane_, direct.startTicks);
  }
  dispatcher_.end(direct.open, nullptr, 0, alone);
}

}  // namespace lockstep::process_group::gloo
