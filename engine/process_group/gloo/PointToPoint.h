#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/Inbox.h"
#include "engine/process_group/operation/Messages.h"

namespace lockstep::process_group::gloo {

// Note [Send and recv]
// Gloo tells of a finished message only to a thread that blocks in a wait for it, and a rank may
// have any number of sends and receives open. So messages are announced first, by an offer on the
// control slot. Threads ("gloo p2p 0", ...) receive the offers, each from a share of the ranks.
//
// What takes the time of a message is waking threads, some 10 us each and up to a millisecond on
// busy cores. Data of up to kInlineBytes therefore travels inside its offer, into an inbox that
// stands open: the sender's call writes to the socket, and Gloo's I/O thread, the inbox's thread
// and the receiver wake, one after the other; c10d, whose receivers wait in Gloo themselves, saves
// the middle one. Larger data is sent under a slot of its own, and is taken once its offer has
// met a receive: three more wakes, and no copy. A thread never blocks on anything but data that
// is on its way. What comes before its receive is called is kept, and a receive takes it in its
// call; its sender keeps it as well until it is answered.

struct Send : Direct<Flight> {
  std::optional<Channel> channel;  ///< none when the data travels in the offer
};

/// send and recv of a group. [any-thread]
class PointToPoint final : public Messages<Flight, Send, Arrived> {
 public:
  PointToPoint(Dispatcher& dispatcher, Transport& transport);

  /// Starts a send or recv that is in flight.
  void add(Direct<Flight> direct);
  /// Once all have ended or failed. Waits up to five seconds for the last answers to go.
  void close();

 private:
  /// An inbox, and what its thread does beside waiting there.
  struct Desk {
    Inbox inbox;
    std::deque<Match> large{};  // whose data is on its way
    bool closed = false;        // nothing comes any more, and the thread has ended
    std::thread thread{};
  };
  struct Link {
    Desk* desk = nullptr;
    std::deque<Parcel> unacknowledged;  // messages live until the peer says that they came
    std::uint32_t acknowledged = 0;
    std::uint32_t received = 0;
  };

  Link& linkTo(int peer) { return links_[static_cast<std::size_t>(peer)]; }
  void start();
  void send(Direct<Flight> direct);
  void receive(Direct<Flight> direct);
  void loop(Desk& desk);
  void listen(Desk& desk);
  void handle(Arrived message);
  void tell(int peer, ControlHeader header, const std::byte* data = nullptr);
  void guarded(const std::function<void()>& move);

  void take(Direct<Flight>& receive, int source, Arrived& offer) override;
  void detach(Arrived& offer) override;
  void answer(int peer, const ControlHeader& header) override;
  void release(Send& send, bool accepted) override;
  void end(const Direct<Flight>& direct, const std::optional<Failure>& alone) override;

  Dispatcher& dispatcher_;
  Transport& transport_;

  // Under the mutex.
  trace::Lane* lane_ = nullptr;
  std::vector<Link> links_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Desk>> desks_;
};

}  // namespace lockstep::process_group::gloo
