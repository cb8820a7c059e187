// What arrives: offers meet receives, and answers end sends.

#include "engine/process_group/gloo/PointToPoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep::process_group::gloo {
namespace {

using Kind = ControlHeader::Kind;

std::string sizeText(std::uint64_t elements, std::int32_t dtype) {
  return fmt::format("{} {}", elements, c10::toString(static_cast<c10::ScalarType>(dtype)));
}

}  // namespace

void PointToPoint::handle(const Inbox::Arrived& arrived) {
  const ControlHeader& header = arrived.header;
  std::optional<Wanted> wanted;
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
      wanted = wantedFor(arrived);
      if (!wanted) {
        offers_.push_back(
            Offer{arrived.source, header, {arrived.data, arrived.data + header.inlineBytes}});
        return;
      }
    }
  }
  if (wanted) {
    transfer(std::move(*wanted), arrived.source, header, arrived.data);
  } else {
    endOutgoing(header);
  }
}

// With the mutex held. The receive that an offer goes to as it comes, if there is one: an older
// offer of the same kind that still lies there goes first.
std::optional<PointToPoint::Wanted> PointToPoint::wantedFor(const Inbox::Arrived& arrived) {
  const bool queue = std::any_of(offers_.begin(), offers_.end(), [&](const Offer& offer) {
    return offer.source == arrived.source && offer.header.tag == arrived.header.tag;
  });
  const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& want) {
    return want.takes(arrived.source, arrived.header);
  });
  if (queue || found == wanted_.end()) {
    return std::nullopt;
  }
  Wanted wanted = std::move(*found);
  wanted_.erase(found);
  return wanted;
}

// Serves the first receive that an offer of these ranks fits; returns whether there was one.
bool PointToPoint::takeOne(const Inbox& inbox) {
  Wanted wanted;
  Offer offer;
  {
    std::lock_guard lock(mutex_);
    auto match = offers_.end();
    const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& want) {
      match = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offered) {
        return want.takes(offered.source, offered.header) && inbox.serves(offered.source);
      });
      return match != offers_.end();
    });
    if (found == wanted_.end()) {
      return false;
    }
    wanted = std::move(*found);
    offer = std::move(*match);
    wanted_.erase(found);
    offers_.erase(match);
  }
  transfer(std::move(wanted), offer.source, offer.header, offer.data.data());
  return true;
}

void PointToPoint::transfer(Wanted wanted, int source, const ControlHeader& offer,
                            const std::byte* data) {
  const std::shared_ptr<Flight> flight = wanted.flight;
  ControlHeader answer = offer;
  answer.inlineBytes = 0;
  const auto dtype = static_cast<std::int32_t>(wanted.tensor.scalar_type());
  const auto elements = static_cast<std::uint64_t>(wanted.tensor.numel());
  if (offer.dtype != dtype || offer.elements != elements) {
    answer.kind = Kind::kRefused;
    answer.dtype = dtype;
    answer.elements = elements;
    end(flight, wanted.startTicks,
        Failure{fmt::format("rank {} sends {}, this rank expects {}", source,
                            sizeText(offer.elements, offer.dtype), sizeText(elements, dtype)),
                source, CommErrorKind::kMismatch});
  } else {
    answer.kind = Kind::kAccepted;
    try {
      Staged staged(wanted.tensor, false);
      const Block block = staged.block();
      if (block.bytes <= kInlineBytes) {
        if (offer.inlineBytes != block.bytes) {
          throw PeerLost{source, "it sent a message that makes no sense"};
        }
        if (block.bytes != 0) {
          std::memcpy(block.data, data, block.bytes);
        }
        flight->receivedBytes += block.bytes;
      } else {
        Channel channel(*flight, source, dataSlot(offer.id), block.data, block.bytes);
        channel.receive(0, block.bytes);
        channel.finishReceive();
      }
      staged.copyBack();
    } catch (...) {
      std::lock_guard lock(mutex_);  // endFailed() ends it with the rest
      wanted_.push_back(std::move(wanted));
      throw;
    }
    flight->work->setSourceRank(source);
    end(flight, wanted.startTicks);
  }
  std::lock_guard lock(mutex_);
  tell(source, answer);
}

void PointToPoint::endOutgoing(const ControlHeader& answer) {
  Outgoing outgoing;
  {
    std::lock_guard lock(mutex_);
    const auto found = outgoing_.find(answer.id);
    if (found == outgoing_.end()) {
      return;
    }
    outgoing = std::move(found->second);
    outgoing_.erase(found);
  }
  if (answer.kind == Kind::kAccepted) {
    try {
      if (outgoing.channel != nullptr) {
        outgoing.channel->finishSend();  // done already: the data has arrived
      }
    } catch (...) {
      std::lock_guard lock(mutex_);  // endFailed() ends it with the rest
      outgoing_.emplace(answer.id, std::move(outgoing));
      throw;
    }
    outgoing.channel.reset();
    end(outgoing.flight, outgoing.startTicks);
    return;
  }
  outgoing.channel.reset();
  const Call& call = outgoing.flight->call;
  end(outgoing.flight, outgoing.startTicks,
      Failure{fmt::format("rank {} expects {}, this rank sends {}", call.root,
                          sizeText(answer.elements, answer.dtype),
                          sizeText(call.elements, static_cast<std::int32_t>(call.dtype))),
              call.root, CommErrorKind::kMismatch});
}

// With the mutex held.
bool PointToPoint::anyFailed() const {
  return std::any_of(outgoing_.begin(), outgoing_.end(),
                     [](const auto& entry) { return entry.second.flight->failed(); }) ||
         std::any_of(wanted_.begin(), wanted_.end(),
                     [](const Wanted& want) { return want.flight->failed(); });
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
    end(flight, startTicks);
  }
  if (!failed.empty()) {
    wake();  // other threads may wait for these to be gone before they end
  }
}

void PointToPoint::end(const std::shared_ptr<Flight>& flight, std::uint64_t startTicks,
                       const std::optional<Failure>& alone) {
  {
    std::lock_guard lock(laneMutex_);
    dispatcher_.records().ended(flight->call, *lane_, startTicks);
  }
  dispatcher_.end(flight, nullptr, 0, alone);
}

}  // namespace lockstep::process_group::gloo
