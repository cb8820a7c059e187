#include "engine/process_group/gloo/PointToPoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/operation/Moves.h"

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
  for (const auto& desk : desks_) {
    desk->inbox.wake();
    desk->thread.join();
  }
  // A receiver may leave before the sender's inbox is open for the answer.
  const auto until = std::chrono::steady_clock::now() + kLastAnswers;
  for (Link& link : links_) {
    succeeds([&] {  // else the peer has left, or does not read
      for (const Parcel& sent : link.unacknowledged) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
            std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1)));
        waited([&] { return sent.buffer->waitSend(nullptr, rest); });
      }
    });
  }
}

// With the mutex held; most groups never need it.
void PointToPoint::start() {
  if (!desks_.empty()) {
    return;
  }
  lane_ = &dispatcher_.records().lane("gloo p2p");
  const Member& member = dispatcher_.member();
  std::vector<std::vector<int>> shares(std::min(static_cast<std::size_t>(member.size - 1), kDesks));
  std::size_t next = 0;
  process_group::forEachPeer(member.rank, member.size,
                             [&](int peer) { shares[next++ % shares.size()].push_back(peer); });
  for (const std::vector<int>& sources : shares) {
    Desk& desk =
        *desks_.emplace_back(std::make_unique<Desk>(Desk{Inbox(*transport_.context(0), sources)}));
    for (const int source : sources) {
      linkTo(source).desk = &desk;
    }
    desk.thread = std::thread([this, &desk, number = desks_.size() - 1] {
      base::nameThisThread(fmt::format("gloo p2p {}", number));
      loop(desk);
    });
  }
}

// Runs what moves data; a connection that breaks breaks the group.
void PointToPoint::guarded(const std::function<void()>& move) {
  if (const auto failure = dispatcher_.attempt(move)) {
    dispatcher_.breakGroup(*failure);
  }
}

void PointToPoint::add(Direct<Flight> direct) {
  const FlightPtr flight = direct.open;
  flight->startTicks = base::ticks();
  guarded([&] { direct.sends() ? send(std::move(direct)) : receive(std::move(direct)); });
  if (flight->failed()) {  // perhaps before it stood among those that are ended
    endFailed();
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
  Send& send = open_.sent(offer.id, Send{std::move(direct), std::nullopt});
  if (block.bytes <= kInlineBytes) {
    offer.inlineBytes = static_cast<std::uint32_t>(block.bytes);
  } else {
    send.channel.emplace(*flight, to, dataSlot(offer.id), block);
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
    Desk& desk = *linkTo(match->source).desk;
    if (match->receive.flat.bytes() > kInlineBytes && !desk.closed) {
      desk.large.push_back(std::move(*match));  // not while the caller waits
      desk.inbox.wake();
      return;
    }
  }
  transfer(std::move(*match));
}

// With the mutex held: a peer counts our messages in the order in which they leave.
void PointToPoint::tell(int peer, ControlHeader header, const std::byte* data) {
  Link& link = linkTo(peer);
  header.received = link.received;
  const std::size_t bytes = sizeof(header) + header.inlineBytes;
  Parcel sent(*transport_.context(0), bytes);
  std::memcpy(sent.memory.get(), &header, sizeof(header));
  if (header.inlineBytes != 0) {
    std::memcpy(sent.memory.get() + sizeof(header), data, header.inlineBytes);
    dispatcher_.records().wireCounter().countSent(header.inlineBytes);
  }
  try {
    sent.buffer->send(peer, kControlSlot, 0, bytes);
  } catch (const std::exception& error) {
    throw PeerLost{peer, withoutLocation(error.what())};
  }
  link.unacknowledged.push_back(std::move(sent));
}

void PointToPoint::loop(Desk& desk) {
  const at::NoGradGuard noGrad;
  for (;;) {
    std::optional<Match> large;
    {
      std::lock_guard lock(mutex_);
      if (!desk.large.empty()) {
        large = std::move(desk.large.front());
        desk.large.pop_front();
      } else if (stopping_ || desk.closed) {
        return;
      }
    }
    guarded([&] { large ? transfer(std::move(*large)) : listen(desk); });
  }
}

void PointToPoint::listen(Desk& desk) {
  try {
    if (auto message = desk.inbox.wait()) {
      handle(std::move(*message));
    }
  } catch (const std::exception& error) {
    // Gloo's exception stays: each further wait would end with it at once. A rank may leave when
    // it is done; if somebody waits for it, the watch breaks the group.
    {
      std::lock_guard lock(mutex_);
      desk.closed = true;
    }
    // A receive from several ranks does not say which connection broke; all are, when they were
    // closed here. The others would not be heard any more.
    if (desk.inbox.sources().size() > 1) {
      for (const int peer : desk.inbox.sources()) {
        if (const auto text = transport_.lost(peer)) {
          throw PeerLost{peer, *text};
        }
      }
      dispatcher_.breakGroup({withoutLocation(error.what()), -1, CommErrorKind::kNetwork});
    }
  }
}

void PointToPoint::handle(Arrived message) {
  const ControlHeader& header = message.header;
  const int source = message.source;
  {
    std::lock_guard lock(mutex_);
    Link& link = linkTo(source);
    ++link.received;
    const std::uint32_t news = header.received - link.acknowledged;
    if (news > link.unacknowledged.size() || header.kind < Kind::kOffer ||
        header.kind > Kind::kRefused || header.inlineBytes > kInlineBytes) {
      throw PeerLost{source, "it sent a message that makes no sense"};
    }
    link.unacknowledged.erase(link.unacknowledged.begin(), link.unacknowledged.begin() + news);
    link.acknowledged = header.received;
  }
  arrived(source, std::move(message));
}

void PointToPoint::detach(Arrived& offer) {
  offer.kept.assign(offer.data, offer.data + offer.header.inlineBytes);
  offer.data = offer.kept.data();
}

void PointToPoint::take(Direct<Flight>& receive, int source, Arrived& offer) {
  guarded([&] {
    Flight& flight = *receive.open;
    const Block block = blockOf(receive.flat);
    if (block.bytes > kInlineBytes) {
      Channel channel(flight, source, dataSlot(offer.header.id), block);
      channel.receive(0, block.bytes);
      channel.finishReceive();
    } else if (offer.header.inlineBytes == block.bytes) {
      receive.flat.write(0, block.bytes, offer.data);
      flight.wire.countReceived(block.bytes);
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
  if (accepted && send.channel) {
    guarded([&] { send.channel->finishSend(); });  // done already: the data has arrived
  }
  send.channel.reset();
}

void PointToPoint::end(const Direct<Flight>& direct, const std::optional<Failure>& alone) {
  dispatcher_.end(direct.open, lane_, alone);
}

}  // namespace lockstep::process_group::gloo
