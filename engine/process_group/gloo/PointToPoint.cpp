#include "engine/process_group/gloo/PointToPoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/Clock.h"
#include "engine/base/Thread.h"

namespace lockstep::process_group::gloo {
namespace {

constexpr std::uint64_t kControlSlot = std::uint64_t{3} << 60;
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

std::uint64_t dataSlot(std::uint64_t id) { return std::uint64_t{2} << 60 | id; }

std::string sizeText(std::uint64_t elements, std::int32_t dtype) {
  return fmt::format("{} {}", elements, c10::toString(static_cast<c10::ScalarType>(dtype)));
}

}  // namespace

PointToPoint::PointToPoint(Dispatcher& dispatcher, Transport& transport)
    : dispatcher_(dispatcher),
      transport_(transport),
      links_(static_cast<std::size_t>(dispatcher.options().size)) {
  dispatcher_.setBreakHandler([this] { wake(); });
}

PointToPoint::~PointToPoint() {
  dispatcher_.setBreakHandler(nullptr);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// With the mutex held.
void PointToPoint::startThread() {
  if (thread_.joinable()) {
    return;
  }
  const Dispatcher::Options& options = dispatcher_.options();
  lane_ = &dispatcher_.tracer().lane(
      options.groupNumber == 0 ? "gloo p2p" : fmt::format("gloo p2p ({})", options.group));
  inboxBuffer_ = transport_.context(0)->createUnboundBuffer(&inbox_, sizeof(inbox_));
  thread_ = std::thread([this] { loop(); });
}

void PointToPoint::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (inboxBuffer_ != nullptr) {
    inboxBuffer_->abortWaitRecv();
  }
}

std::shared_ptr<WorkState> PointToPoint::send(Call call, at::Tensor tensor, int tag,
                                              std::chrono::milliseconds limit) {
  const int to = call.root;
  Message message;
  Header& offer = message.header;
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
    startThread();
    changed_.notify_all();
    offer.id = ++ids_;
    Outgoing& outgoing = outgoing_[offer.id];
    outgoing.flight = flight;
    outgoing.startTicks = base::ticks();
    try {
      outgoing.staged = std::make_unique<Staged>(std::move(tensor), true);
      const Block block = outgoing.staged->block();
      if (block.bytes <= message.data.size()) {
        if (block.bytes != 0) {
          std::memcpy(message.data.data(), block.data, block.bytes);
          flight->sentBytes += block.bytes;
          ++flight->sentMessages;
        }
      } else {
        outgoing.channel = std::make_unique<Channel>(*flight, to, dataSlot(offer.id), block.data,
                                                     block.bytes);
        outgoing.channel->send(0, block.bytes);
      }
      flight->setWaiting(to, true);
      tell(to, message);
    } catch (const PeerLost& error) {
      lost = error;
    } catch (const Interrupted&) {
      // The group broke meanwhile; the thread ends this send with the others.
    }
  }
  if (lost) {
    dispatcher_.breakGroup(dispatcher_.explain(*lost));
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
  wanted.flight = dispatcher_.open(std::move(call), {tensor}, limit, work);
  if (wanted.flight == nullptr) {
    return work;
  }
  wanted.tensor = std::move(tensor);
  wanted.flight->setWaiting(wanted.from, false);
  {
    std::lock_guard lock(mutex_);
    startThread();
    wanted_.push_back(std::move(wanted));
  }
  wake();
  return work;
}

// With the mutex held.
void PointToPoint::tell(int peer, const Message& message) {
  Link& link = links_[static_cast<std::size_t>(peer)];
  auto sent = std::make_unique<Sent>();
  sent->message = message;
  sent->message.header.received = link.received;
  sent->buffer = transport_.context(0)->createUnboundBuffer(&sent->message, sizeof(Message));
  try {
    sent->buffer->send(peer, kControlSlot, 0, sizeof(Message));
  } catch (const std::exception& error) {
    throw PeerLost{peer, withoutLocation(error.what())};
  }
  link.unacknowledged.push_back(std::move(sent));
}

void PointToPoint::loop() {
  base::nameThisThread("gloo p2p");
  const at::NoGradGuard noGrad;
  std::vector<int> peers(links_.size());
  std::iota(peers.begin(), peers.end(), 0);
  std::erase(peers, dispatcher_.options().rank);
  bool posted = false;
  bool closed = false;
  for (;;) {
    endFailed();
    {
      std::unique_lock lock(mutex_);
      const auto open = [this] { return !outgoing_.empty() || !wanted_.empty(); };
      if (closed) {
        changed_.wait(lock, [&] { return stopping_ || open(); });
      }
      if (stopping_ && !open()) {
        return;
      }
    }
    if (closed) {
      // Whoever broke the group is failing what was called meanwhile, and wakes us again.
      std::this_thread::yield();
      continue;
    }
    try {
      while (takeOne()) {
      }
      if (!posted) {
        inboxBuffer_->recv(peers, kControlSlot, 0, sizeof(Message));
        posted = true;
      }
      int source = -1;
      if (inboxBuffer_->waitRecv(&source, kForever)) {
        posted = false;
        handle(source, inbox_);
      }
    } catch (const PeerLost& lost) {
      dispatcher_.breakGroup(dispatcher_.explain(lost));
    } catch (const Interrupted&) {
      // The group broke; endFailed() comes next.
    } catch (const std::exception& error) {
      // Gloo's exception stays: each further wait would end with it at once.
      closed = true;
      dispatcher_.breakGroup(explain(peers, withoutLocation(error.what())));
    }
  }
}

// A receive from any rank does not say which connection broke; all are, when they were closed
// here.
Failure PointToPoint::explain(const std::vector<int>& peers, const std::string& lower) {
  for (const int peer : peers) {
    if (const auto text = transport_.lost(peer)) {
      return dispatcher_.explain(PeerLost{peer, *text});
    }
  }
  return Failure{lower, -1, CommErrorKind::kNetwork};
}

void PointToPoint::handle(int source, const Message& message) {
  const Header& header = message.header;
  {
    std::lock_guard lock(mutex_);
    Link& link = links_[static_cast<std::size_t>(source)];
    ++link.received;
    const std::uint32_t news = header.received - link.acknowledged;
    if (news > link.unacknowledged.size() || header.kind < Kind::kOffer ||
        header.kind > Kind::kRefused) {
      throw PeerLost{source, "it sent a message that makes no sense"};
    }
    link.unacknowledged.erase(link.unacknowledged.begin(), link.unacknowledged.begin() + news);
    link.acknowledged = header.received;
    if (header.kind == Kind::kOffer) {
      offers_.push_back(Offer{source, message});
      return;
    }
  }
  endOutgoing(header.id, header.kind == Kind::kRefused ? &header : nullptr);
}

// Serves the first receive that an offer fits; returns whether there was one.
bool PointToPoint::takeOne() {
  Wanted wanted;
  Offer offer;
  {
    std::lock_guard lock(mutex_);
    const auto fits = [](const Wanted& want, const Offer& offered) {
      return want.tag == offered.message.header.tag && (want.from < 0 || want.from == offered.source);
    };
    auto match = offers_.end();
    const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& want) {
      match = std::find_if(offers_.begin(), offers_.end(),
                           [&](const Offer& offered) { return fits(want, offered); });
      return match != offers_.end();
    });
    if (found == wanted_.end()) {
      return false;
    }
    wanted = std::move(*found);
    offer = *match;
    wanted_.erase(found);
    offers_.erase(match);
  }
  transfer(std::move(wanted), offer);
  return true;
}

void PointToPoint::transfer(Wanted wanted, const Offer& offer) {
  const std::shared_ptr<Flight> flight = wanted.flight;
  const Header& offered = offer.message.header;
  Message message;
  Header& answer = message.header;
  answer = offered;
  const auto dtype = static_cast<std::int32_t>(wanted.tensor.scalar_type());
  const auto elements = static_cast<std::uint64_t>(wanted.tensor.numel());
  if (offered.dtype != dtype || offered.elements != elements) {
    answer.kind = Kind::kRefused;
    answer.dtype = dtype;
    answer.elements = elements;
    dispatcher_.end(flight, lane_, wanted.startTicks,
                    Failure{fmt::format("rank {} sends {}, this rank expects {}", offer.source,
                                        sizeText(offered.elements, offered.dtype),
                                        sizeText(elements, dtype)),
                            offer.source, CommErrorKind::kMismatch});
  } else {
    answer.kind = Kind::kAccepted;
    try {
      Staged staged(wanted.tensor, false);
      const Block block = staged.block();
      if (block.bytes <= offer.message.data.size()) {
        if (block.bytes != 0) {
          std::memcpy(block.data, offer.message.data.data(), block.bytes);
        }
        flight->receivedBytes += block.bytes;
      } else {
        Channel channel(*flight, offer.source, dataSlot(offered.id), block.data, block.bytes);
        channel.receive(0, block.bytes);
        channel.finishReceive();
      }
      staged.copyBack();
    } catch (...) {
      std::lock_guard lock(mutex_);  // endFailed() ends it with the rest
      wanted_.push_back(std::move(wanted));
      throw;
    }
    flight->work->setSourceRank(offer.source);
    dispatcher_.end(flight, lane_, wanted.startTicks);
  }
  std::lock_guard lock(mutex_);
  tell(offer.source, message);
}

void PointToPoint::endOutgoing(std::uint64_t id, const Header* refusal) {
  Outgoing outgoing;
  {
    std::lock_guard lock(mutex_);
    const auto found = outgoing_.find(id);
    if (found == outgoing_.end()) {
      return;
    }
    outgoing = std::move(found->second);
    outgoing_.erase(found);
  }
  if (refusal == nullptr) {
    try {
      if (outgoing.channel != nullptr) {
        outgoing.channel->finishSend();  // done already: the data has arrived
      }
    } catch (...) {
      std::lock_guard lock(mutex_);  // endFailed() ends it with the rest
      outgoing_.emplace(id, std::move(outgoing));
      throw;
    }
    outgoing.channel.reset();
    dispatcher_.end(outgoing.flight, lane_, outgoing.startTicks);
    return;
  }
  outgoing.channel.reset();
  const Call& call = outgoing.flight->call;
  dispatcher_.end(
      outgoing.flight, lane_, outgoing.startTicks,
      Failure{fmt::format("rank {} expects {}, this rank sends {}", call.root,
                          sizeText(refusal->elements, refusal->dtype),
                          sizeText(call.elements, static_cast<std::int32_t>(call.dtype))),
              call.root, CommErrorKind::kMismatch});
}

void PointToPoint::endFailed() {
  std::vector<std::pair<std::shared_ptr<Flight>, std::uint64_t>> failed;
  {
    std::lock_guard lock(mutex_);
    for (auto entry = outgoing_.begin(); entry != outgoing_.end();) {
      if (entry->second.flight->failed()) {
        entry->second.channel.reset();
        failed.emplace_back(entry->second.flight, entry->second.startTicks);
        entry = outgoing_.erase(entry);
      } else {
        ++entry;
      }
    }
    for (auto entry = wanted_.begin(); entry != wanted_.end();) {
      if (entry->flight->failed()) {
        failed.emplace_back(entry->flight, entry->startTicks);
        entry = wanted_.erase(entry);
      } else {
        ++entry;
      }
    }
  }
  for (const auto& [flight, startTicks] : failed) {
    dispatcher_.end(flight, lane_, startTicks);
  }
}

}  // namespace lockstep::process_group::gloo
