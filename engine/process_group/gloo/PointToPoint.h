#pragma once

#include <ATen/core/Tensor.h>
#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/Staging.h"
#include "engine/process_group/gloo/Transport.h"

namespace lockstep::process_group::gloo {

// Note [Send and recv]
// Gloo tells of a finished message only to a thread that blocks in a wait for it, and a rank may
// have any number of sends and receives open. So messages are announced first: a send starts to
// send its data, under a slot of its own, and an offer (tag, size, dtype) on the control slot.
// One thread ("gloo p2p") receives the offers of all ranks, matches them with the receives by
// source and tag in the order of the calls, takes the data, which the sender has ready, and
// answers. It never blocks on anything but data that is on its way. What does not fit is refused
// before a receiver's tensor is touched.
//
// What takes the time of a small message is waking threads: offer, readiness and data each wake
// Gloo's I/O thread and then the one that waits, six in a row, and on busy cores each costs up
// to a millisecond. Data of up to 480 bytes therefore travels inside its offer, which leaves
// three; control messages have one size, since Gloo receives no others.

/// send and recv of a group. [any-thread]
class PointToPoint {
 public:
  PointToPoint(Dispatcher& dispatcher, Transport& transport);
  /// The dispatcher has been drained.
  ~PointToPoint();
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  std::shared_ptr<WorkState> send(Call call, at::Tensor tensor, int tag,
                                  std::chrono::milliseconds limit);
  /// call.root is the source, or -1 for any.
  std::shared_ptr<WorkState> receive(Call call, at::Tensor tensor, int tag,
                                     std::chrono::milliseconds limit);

 private:
  enum class Kind : std::uint32_t { kOffer = 1, kAccepted = 2, kRefused = 3 };
  struct Header {
    Kind kind = Kind::kOffer;
    std::uint32_t tag = 0;
    std::uint64_t id = 0;  ///< the sender's number of the message
    std::uint64_t elements = 0;
    std::int32_t dtype = 0;
    std::uint32_t received = 0;  ///< headers that came the other way so far
  };
  /// What travels on the control slot.
  struct Message {
    Header header;
    std::array<std::byte, 480> data{};  ///< of an offer whose tensor fits
  };
  static_assert(sizeof(Message) == 512);

  struct Outgoing {
    std::shared_ptr<Flight> flight;
    std::unique_ptr<Staged> staged;
    std::unique_ptr<Channel> channel;
    std::uint64_t startTicks = 0;
  };
  struct Wanted {
    std::shared_ptr<Flight> flight;
    at::Tensor tensor;
    int from = -1;
    std::uint32_t tag = 0;
    std::uint64_t startTicks = 0;
  };
  struct Offer {
    int source = -1;
    Message message;
  };
  // A message on its way; it must live until the peer says that it came.
  struct Sent {
    Message message;
    std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;
  };
  struct Link {
    std::deque<std::unique_ptr<Sent>> unacknowledged;
    std::uint32_t acknowledged = 0;
    std::uint32_t received = 0;
  };

  void startThread();
  void wake();
  void loop();
  Failure explain(const std::vector<int>& peers, const std::string& lower);
  void handle(int source, const Message& message);
  bool takeOne();
  void transfer(Wanted wanted, const Offer& offer);
  void endOutgoing(std::uint64_t id, const Header* refusal);
  void endFailed();
  void tell(int peer, const Message& message);

  Dispatcher& dispatcher_;
  Transport& transport_;
  trace::Lane* lane_ = nullptr;

  std::mutex mutex_;
  std::map<std::uint64_t, Outgoing> outgoing_;
  std::deque<Wanted> wanted_;
  std::deque<Offer> offers_;
  std::vector<Link> links_;
  std::uint64_t ids_ = 0;
  bool stopping_ = false;
  std::condition_variable changed_;  // waited for once the connections are closed
  Message inbox_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> inboxBuffer_;
  std::thread thread_;
};

}  // namespace lockstep::process_group::gloo
