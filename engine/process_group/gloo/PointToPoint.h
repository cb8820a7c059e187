#pragma once

#include <ATen/core/Tensor.h>
#include <gloo/transport/unbound_buffer.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/Inbox.h"
#include "engine/process_group/gloo/Staging.h"
#include "engine/process_group/gloo/Transport.h"

namespace lockstep::process_group::gloo {

// Note [Send and recv]
// Gloo tells of a finished message only to a thread that blocks in a wait for it, and a rank may
// have any number of sends and receives open. So messages are announced first, by an offer (tag,
// size, dtype) on the control slot. Threads ("gloo p2p 0", ...) receive the offers, each from a
// share of the ranks, and match them with the receives by source and tag in the order of the
// calls. What does not fit is refused before a receiver's tensor is touched; what fits is
// answered too, which ends the send.
//
// What takes the time of a message is waking threads, some 10 us each and up to a millisecond on
// busy cores. Data of up to kInlineBytes therefore travels inside its offer, into an inbox that
// stands open: the sender's call writes to the socket, and Gloo's I/O thread, the inbox's thread
// and the receiver wake, one after the other; c10d, whose receivers wait in Gloo themselves, saves
// the middle one. Larger data is sent under a slot of its own, and is taken once its offer has
// met a receive: three more wakes, and no copy. A thread never blocks on anything but data that
// is on its way. What comes before its receive is called is kept; its sender keeps it as well
// until it is answered.

/// send and recv of a group. [any-thread]
class PointToPoint {
 public:
  PointToPoint(Dispatcher& dispatcher, Transport& transport);
  /// The dispatcher has been drained. Waits up to five seconds for the last answers to go.
  ~PointToPoint();
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  std::shared_ptr<WorkState> send(Call call, at::Tensor tensor, int tag,
                                  std::chrono::milliseconds limit);
  /// call.root is the source, or -1 for any.
  std::shared_ptr<WorkState> receive(Call call, at::Tensor tensor, int tag,
                                     std::chrono::milliseconds limit);

 private:
  struct Outgoing {
    std::shared_ptr<Flight> flight;
    std::unique_ptr<Staged> staged;
    std::unique_ptr<Channel> channel;  // null when the data travels in the offer
    std::uint64_t startTicks = 0;
  };
  struct Wanted {
    std::shared_ptr<Flight> flight;
    at::Tensor tensor;
    int from = -1;
    std::uint32_t tag = 0;
    std::uint64_t startTicks = 0;

    [[nodiscard]] bool takes(int source, const ControlHeader& offer) const {
      return tag == offer.tag && (from < 0 || from == source);
    }
  };
  /// An offer that came before its receive was called.
  struct Offer {
    int source = -1;
    ControlHeader header;
    std::vector<std::byte> data;
  };
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

  /// Gloo's name for data that does not travel in its offer.
  static std::uint64_t dataSlot(std::uint64_t id) { return std::uint64_t{2} << 60 | id; }

  void start();
  void wake();
  void loop(Inbox& inbox);
  Failure explain(const std::vector<int>& peers, const std::string& lower);
  void handle(const Inbox::Arrived& arrived);
  std::optional<Wanted> wantedFor(const Inbox::Arrived& arrived);
  bool takeOne(const Inbox& inbox);
  void transfer(Wanted wanted, int source, const ControlHeader& offer, const std::byte* data);
  void endOutgoing(const ControlHeader& answer);
  [[nodiscard]] bool anyFailed() const;
  void endFailed();
  void end(const std::shared_ptr<Flight>& flight, std::uint64_t startTicks,
           const std::optional<Failure>& alone = std::nullopt);
  void finishSent();
  void tell(int peer, ControlHeader header, const std::byte* data = nullptr);

  Dispatcher& dispatcher_;
  Transport& transport_;

  std::mutex laneMutex_;
  trace::Lane* lane_ = nullptr;  // under it

  std::mutex mutex_;
  std::map<std::uint64_t, Outgoing> outgoing_;
  std::deque<Wanted> wanted_;
  std::deque<Offer> offers_;
  std::vector<Link> links_;
  std::uint64_t ids_ = 0;
  bool stopping_ = false;
  std::condition_variable changed_;  // waited for once connections are closed
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::process_group::gloo
