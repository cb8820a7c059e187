#pragma once

#include <ATen/core/Tensor.h>
#include <gloo/transport/unbound_buffer.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
  std::unique_ptr<Channel> channel;  ///< null when the data travels in the offer
};

struct Offer {
  ControlHeader header;
  const std::byte* data = nullptr;
  std::vector<std::byte> kept;  ///< which is at `data` when it came before its receive
};

/// send and recv of a group. [any-thread]
class PointToPoint final : public Messages<Flight, Send, Offer> {
 public:
  PointToPoint(Dispatcher& dispatcher, Transport& transport);

  /// Starts a send or recv that is in flight.
  void add(const FlightPtr& flight, at::Tensor tensor, std::uint32_t tag);
  /// Operations in flight have failed: ends those that are here.
  void wake();
  /// Once all have ended or failed. Waits up to five seconds for the last answers to go.
  void close();

 private:
  /// A message on its way; it must live until the peer says that it came.
  struct Sent {
    std::unique_ptr<std::byte[]> memory;
    std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;
  };
  struct Link {
    std::deque<Sent> unacknowledged;
    std::uint32_t acknowledged = 0;
    std::uint32_t received = 0;
  };
  /// An inbox, and what its thread does beside waiting there.
  struct Desk {
    Inbox inbox;
    std::deque<Match> large{};  // whose data is on its way
    std::thread thread{};
  };

  void start();
  void send(Direct<Flight> direct);
  void receive(Direct<Flight> direct);
  void loop(Desk& desk);
  void lose(const std::vector<int>& peers, const std::string& lower);
  void handle(const Inbox::Arrived& arrived);
  void tell(int peer, ControlHeader header, const std::byte* data = nullptr);
  template <typename Function>
  void guarded(Function function);

  void take(Direct<Flight>& receive, int source, Offer& offer) override;
  void answer(int peer, const ControlHeader& header) override;
  void release(Send& send, bool accepted) override;
  void end(const Direct<Flight>& direct, const std::optional<Failure>& alone) override;

  Dispatcher& dispatcher_;
  Transport& transport_;

  std::mutex laneMutex_;
  trace::Lane* lane_ = nullptr;  // under it

  // Under the mutex.
  std::vector<Link> links_;
  bool stopping_ = false;
  std::condition_variable changed_;  // waited for once connections are closed
  std::vector<std::unique_ptr<Desk>> desks_;
};

}  // namespace lockstep::process_group::gloo
