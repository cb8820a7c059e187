#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/process_group/operation/Matching.h"

namespace lockstep::process_group {

/// send and recv of a group whose transport carries small messages between its ranks. An offer
/// (tag, size, dtype) announces a send. What does not fit the receive that it meets is refused
/// before its tensor is touched, and both fail alone; what fits is taken, and answered, too, which
/// ends the send. An offer that comes before its receive is kept.
///
/// `Message` has a header that travels, with kind (kOffer, kAccepted, kRefused), tag, id and
/// content; `Send` derives from Direct<Open>. [any-thread]
template <typename Open, typename Send, typename Message>
class Messages {
 public:
  /// Ends what has failed; returns whether anything had.
  bool endFailed() {
    std::vector<Direct<Open>> failed;
    {
      std::lock_guard lock(mutex_);
      failed = open_.takeFailed();
    }
    for (const Direct<Open>& direct : failed) {
      end(direct, std::nullopt);
    }
    return !failed.empty();
  }

  /// A message has come.
  void arrived(int source, Message message) {
    const std::uint32_t tag = message.header.tag;
    if (message.header.kind != Kind::kOffer) {
      answered(source, message.header);
      return;
    }
    std::unique_lock lock(mutex_);
    std::optional<Direct<Open>> receive = open_.taker(source, tag);
    if (!receive) {
      detach(message);
      open_.keep(source, tag, std::move(message));
      return;
    }
    lock.unlock();
    transfer({std::move(*receive), source, std::move(message)});
  }

 protected:
  using Matched = Matching<Open, Send, Message>;
  using Match = typename Matched::Match;
  using Header = decltype(Message::header);
  using Kind = decltype(Header::kind);

  virtual ~Messages() = default;

  // What the transport does.

  /// Brings the data of an offer that fits into the tensor; fails the call where it cannot.
  virtual void take(Direct<Open>& receive, int source, Message& offer) = 0;
  virtual void answer(int peer, const Header& header) = 0;
  /// A send has been answered, and is about to end.
  virtual void release(Send& send, bool accepted) = 0;
  /// An offer comes before its receive: what it holds must stay.
  virtual void detach(Message&) {}
  /// `alone` fails the call and leaves the group intact.
  virtual void end(const Direct<Open>& direct, const std::optional<Failure>& alone) = 0;

  static Header offerOf(const Direct<Open>& send) {
    Header offer;
    offer.kind = Kind::kOffer;
    offer.tag = send.tag;
    offer.content = Content::of(send.open->call);
    return offer;
  }

  /// A receive has met an offer.
  void transfer(Match match) {
    const std::shared_ptr<Open> open = match.receive.open;
    const Header& offer = match.offer.header;
    Header reply;
    reply.kind = Kind::kAccepted;
    reply.id = offer.id;
    reply.content = Content::of(open->call);
    std::optional<Failure> refusal;
    if (offer.content != reply.content) {
      reply.kind = Kind::kRefused;
      refusal = refusedHere(match.source, offer.content, reply.content);
    } else {
      take(match.receive, match.source, match.offer);
    }
    const bool replies = !open->failed();
    if (replies && !refusal) {
      open->work->setSourceRank(match.source);
    }
    end(match.receive, refusal);
    if (replies) {
      answer(match.source, reply);
    }
  }

  /// An answer has come.
  void answered(int peer, const Header& reply) {
    std::unique_lock lock(mutex_);
    std::optional<Send> send = open_.answered(reply.id, peer);
    lock.unlock();
    if (!send) {
      return;
    }
    std::optional<Failure> refusal;
    if (reply.kind == Kind::kRefused) {
      refusal = refusedThere(peer, reply.content, Content::of(send->open->call));
    }
    release(*send, !refusal);
    end(*send, refusal);
  }

  std::mutex mutex_;
  Matched open_;
};

}  // namespace lockstep::process_group
