#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/process_group/Failure.h"
#include "engine/process_group/Flat.h"
#include "engine/process_group/operation/OpenCall.h"

namespace lockstep::process_group {

/// A send or receive that is open on this rank.
template <typename Open>
struct Direct {
  std::shared_ptr<Open> open;  ///< call.root is the peer, or -1 for any source
  Flat flat;
  std::uint32_t tag;

  Direct(std::shared_ptr<Open> call, at::Tensor tensor, int ofTag)
      : open(std::move(call)),
        flat({std::move(tensor)}, sends() ? Flat::Access::kRead : Flat::Access::kWrite),
        tag(static_cast<std::uint32_t>(ofTag)) {
    open->setWaiting(sends() ? OpenCall::Waiting::kTaken : OpenCall::Waiting::kData,
                     open->call.root);
  }

  [[nodiscard]] bool sends() const { return open->call.operation == trace::Operation::kSend; }
  [[nodiscard]] bool takes(int source, std::uint32_t offered) const {
    return tag == offered && (open->call.root < 0 || open->call.root == source);
  }
};

/// What a message holds, as the two ranks tell each other.
struct Content {
  std::uint64_t elements = 0;
  std::int32_t dtype = 0;

  static Content of(const Call& call) {
    return {call.elements, static_cast<std::int32_t>(call.dtype)};
  }
  [[nodiscard]] bool operator==(const Content&) const = default;
};

/// Why a receive fails that `source` has offered something else, and why its send does.
[[nodiscard]] Failure refusedHere(int source, const Content& offered, const Content& expected);
[[nodiscard]] Failure refusedThere(int peer, const Content& expected, const Content& sent);

/// The sends and receives of a group that are open. A send is announced by an offer; a receive
/// takes the oldest offer of its source and tag, in the order of the calls, and answers it, which
/// ends the send. `Send` derives from Direct<Open>. [one thread at a time]
template <typename Open, typename Send, typename Offer>
class Matching {
 public:
  using Receive = Direct<Open>;
  struct Match {
    Receive receive;
    int source = -1;
    Offer offer;
  };

  /// A number for the next send.
  [[nodiscard]] std::uint64_t nextId() { return ++ids_; }
  /// It waits for its answer.
  Send& sent(std::uint64_t id, Send send) {
    return sends_.emplace(id, std::move(send)).first->second;
  }
  /// An answer has come; nothing if the send has failed meanwhile.
  std::optional<Send> answered(std::uint64_t id, int peer) {
    const auto found = sends_.find(id);
    if (found == sends_.end() || found->second.open->call.root != peer) {
      return std::nullopt;
    }
    std::optional<Send> send(std::move(found->second));
    sends_.erase(found);
    return send;
  }

  /// A receive has been called: what it meets, if there is anything.
  std::optional<Match> meet(Receive& receive) {
    const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Arrived& arrived) {
      return receive.takes(arrived.source, arrived.tag);
    });
    if (found == offers_.end()) {
      return std::nullopt;
    }
    Match match{std::move(receive), found->source, std::move(found->offer)};
    offers_.erase(found);
    return match;
  }
  /// Of a receive that has met nothing.
  void wait(Receive receive) { receives_.push_back(std::move(receive)); }
  /// An offer has come: the receive that it goes to, if one waits. An older one of its kind cannot
  /// lie here then.
  std::optional<Receive> taker(int source, std::uint32_t tag) {
    const auto found =
        std::find_if(receives_.begin(), receives_.end(),
                     [&](const Receive& receive) { return receive.takes(source, tag); });
    if (found == receives_.end()) {
      return std::nullopt;
    }
    std::optional<Receive> receive(std::move(*found));
    receives_.erase(found);
    return receive;
  }
  /// Of an offer that nobody takes yet.
  void keep(int source, std::uint32_t tag, Offer offer) {
    offers_.push_back(Arrived{source, tag, std::move(offer)});
  }

  /// Takes those out that have failed.
  std::vector<Direct<Open>> takeFailed() {
    std::vector<Direct<Open>> failed;
    const auto take = [&](const Direct<Open>& direct) {
      const bool gone = direct.open->failed();
      if (gone) {
        failed.push_back(direct);
      }
      return gone;
    };
    std::erase_if(sends_, [&](const auto& entry) { return take(entry.second); });
    std::erase_if(receives_, take);
    return failed;
  }
  [[nodiscard]] bool sending() const { return !sends_.empty(); }
  [[nodiscard]] bool receiving() const { return !receives_.empty(); }

 private:
  struct Arrived {
    int source;
    std::uint32_t tag;
    Offer offer;
  };

  std::uint64_t ids_ = 0;
  std::map<std::uint64_t, Send> sends_;  // without their answer
  std::deque<Receive> receives_;         // without an offer
  std::deque<Arrived> offers_;           // without a receive
};

}  // namespace lockstep::process_group
