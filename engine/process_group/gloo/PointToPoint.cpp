#include "engine/process_group/gloo/PointToPoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"
#include "engine/process_group/gloo/Wait.h"

namespace lockstep::process_group::gloo {
namespace {

// Threads for the messages of all other ranks; up to so many have one for themselves.
constexpr std::size_t kInboxes = 8;
// How long a rank that leaves waits for its last answers to go.
constexpr std::chrono::seconds kLastAnswers{5};

std::vector<std::vector<int>> shares(int rank, int size) {
  const auto others = static_cast<std::size_t>(size - 1);
  std::vector<std::vector<int>> shares(std::min(others, kInboxes));
  for (int peer = 0, index = 0; peer < size; ++peer) {
    if (peer != rank) {
      shares[static_cast<std::size_t>(index++) % shares.size()].push_back(peer);
    }
  }
  return shares;
}

}  // namespace

PointToPoint::PointToPoint(Dispatcher& dispatcher, Transport& transport)
    : dispatcher_(dispatcher),
      transport_(transport),
      links_(static_cast<std::size_t>(dispatcher.member().size)) {
  dispatcher_.setBreakHandler([this] { wake(); });
}

PointToPoint::~PointToPoint() {
  dispatcher_.setBreakHandler(nullptr);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  finishSent();
}

// A receiver may leave before the sender's inbox is open for the answer.
void PointToPoint::finishSent() {
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
  if (!threads_.empty()) {
    return;
  }
  lane_ = &dispatcher_.records().lane("gloo p2p");
  const Member& member = dispatcher_.member();
  for (std::vector<int>& sources : shares(member.rank, member.size)) {
    inboxes_.push_back(std::make_unique<Inbox>(*transport_.context(0), std::move(sources)));
  }
  for (std::size_t i = 0; i < inboxes_.size(); ++i) {
    threads_.emplace_back([this, i, inbox = inboxes_[i].get()] {
      base::nameThisThread(fmt::format("gloo p2p {}", i));
      loop(*inbox);
    });
  }
}

void PointToPoint::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  for (const auto& inbox : inboxes_) {
    inbox->wake();
  }
}

std::shared_ptr<WorkState> PointToPoint::send(Call call, at::Tensor tensor, int tag,
                                              std::chrono::milliseconds limit) {
  const int to = call.root;
  ControlHeader offer;
  offer.tag = static_cast<std::uint32_t>(tag);
  offer.elements = call.elements;
  offer.dtype = static_cast<std::int32_t>(call.dtype);
  std::shared_ptr<WorkState> work;
  const auto flight = dispatcher_.open(std::move(call), {tensor}, limit, work);
  if (flight == nullptr) {
    return work;
  }
  std::optional<PeerLost> lost;
  {
    const at::NoGradGuard noGrad;
    std::lock_guard lock(mutex_);
    start();
    offer.id = ++ids_;
    Outgoing& outgoing = outgoing_[offer.id];
    outgoing.flight = flight;
    outgoing.startTicks = base::ticks();
    try {
      outgoing.staged = std::make_unique<Staged>(std::move(tensor), true);
      const Block block = outgoing.staged->block();
      if (block.bytes <= kInlineBytes) {
        offer.inlineBytes = static_cast<std::uint32_t>(block.bytes);
        flight->sentBytes += block.bytes;
        flight->sentMessages += block.bytes != 0 ? 1 : 0;
      } else {
        outgoing.channel = std::make_unique<Channel>(*flight, to, dataSlot(offer.id), block.data,
                                                     block.bytes);
        outgoing.channel->send(0, block.bytes);
      }
      flight->setWaiting(to, true);
      tell(to, offer, block.data);
    } catch (const PeerLost& error) {
      lost = error;
    } catch (const Interrupted&) {
      // The group broke meanwhile; this send ends with the others.
    }
  }
  if (lost) {
    dispatcher_.breakGroup(dispatcher_.explain(*lost));
  }
  if (flight->failed()) {  // perhaps before it stood among those that are ended
    wake();
  }
  return work;
}

std::shared_ptr<WorkState> PointToPoint::receive(Call call, at::Tensor tensor, int tag,
                                                 std::chrono::milliseconds limit) {
  Wanted wanted;
  wanted.from = call.root;
  wanted.tag = static_cast<std::uint32_t>(tag);
  wanted.startTicks = base::ticks();
  std::shared_ptr<WorkState> work;
  const auto flight = dispatcher_.open(std::move(call), {tensor}, limit, work);
  if (flight == nullptr) {
    return work;
  }
  wanted.flight = flight;
  wanted.tensor = std::move(tensor);
  flight->setWaiting(wanted.from, false);
  bool offered = false;
  {
    std::lock_guard lock(mutex_);
    start();
    for (const Offer& offer : offers_) {
      if (wanted.takes(offer.source, offer.header)) {
        offered = true;
        break;
      }
    }
    wanted_.push_back(std::move(wanted));
  }
  if (offered || flight->failed()) {
    wake();
  }
  return work;
}

// With the mutex held: a peer counts our messages in the order in which they leave.
void PointToPoint::tell(int peer, ControlHeader header, const std::byte* data) {
  Link& link = links_[static_cast<std::size_t>(peer)];
  header.received = link.received;
  const std::size_t bytes = sizeof(header) + header.inlineBytes;
  Sent sent;
  sent.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
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

void PointToPoint::loop(Inbox& inbox) {
  const at::NoGradGuard noGrad;
  bool closed = false;
  for (;;) {
    endFailed();
    {
      std::unique_lock lock(mutex_);
      const auto over = [this] { return stopping_ && outgoing_.empty() && wanted_.empty(); };
      if (closed) {
        changed_.wait(lock, [&] { return over() || anyFailed(); });
      }
      if (over()) {
        return;
      }
    }
    if (closed) {
      continue;
    }
    try {
      while (takeOne(inbox)) {
      }
      if (const auto arrived = inbox.wait()) {
        handle(*arrived);
      }
    } catch (const PeerLost& lost) {
      dispatcher_.breakGroup(dispatcher_.explain(lost));
    } catch (const Interrupted&) {
      // The group broke; endFailed() comes next.
    } catch (const std::exception& error) {
      // Gloo's exception stays: each further wait would end with it at once. A rank may leave
      // when it is done; if somebody waits for it, the watch breaks the group.
      closed = true;
      if (inbox.sources().size() > 1) {  // the others would not be heard any more
        dispatcher_.breakGroup(explain(inbox.sources(), withoutLocation(error.what())));
      }
    }
  }
}

// A receive from several ranks does not say which connection broke; all are, when they were
// closed here.
Failure PointToPoint::explain(const std::vector<int>& peers, const std::string& lower) {
  for (const int peer : peers) {
    if (const auto text = transport_.lost(peer)) {
      return dispatcher_.explain(PeerLost{peer, *text});
    }
  }
  return Failure{lower, -1, CommErrorKind::kNetwork};
}

}  // namespace lockstep::process_group::gloo
