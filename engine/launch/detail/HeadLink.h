#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/launch/SignalQueue.h"
#include "engine/relay/RelayClient.h"
#include "engine/relay/SegmentFeed.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// What a relay has once it connects to its head. Signals are blocked before ZeroMQ's threads
/// start.
struct HeadConnection {
  relay::Endpoint recorder;
  Watch watch;
  std::unique_ptr<relay::RelayClient> client;
};

/// Connects in the background. Error: the recorder's address is none (kBadInput), or names a host
/// that is not known here (kEnvironment); this ZeroMQ cannot encrypt (kEnvironment).
base::Result<std::unique_ptr<HeadConnection>> connectToHead(const relay::Ticket& ticket);

/// A relay's line to its head: says hello, sends in its order what is to be said and what its ranks
/// record, answers about the clock, and notices when the head is gone. One thread, the event
/// loop's.
class HeadLink {
 public:
  struct Listener {
    std::function<void(const relay::ToRelay&)> received;  ///< everything but Ping
    /// Once. "the connection to it broke: ..."
    std::function<void(const std::string& why)> lost;
  };

  /// `limitKey`: what says how long the head may be silent, in the texts; empty: nothing does. All
  /// but that outlive this.
  HeadLink(const relay::Ticket& ticket, HeadConnection& connection, std::string limitKey);
  ~HeadLink();
  HeadLink(const HeadLink&) = delete;
  HeadLink& operator=(const HeadLink&) = delete;

  /// Says hello, with what is known of this host added.
  base::Status start(relay::Hello hello, Listener listener);

  /// Something is to be sent, after what waits.
  void queue(relay::FromRelay message);
  /// Likewise what a rank wrote (-1: the command). At most 16 MiB of it wait; what comes while so
  /// much does is left out, and a line says how much that was.
  void queueOutput(int rank, bool isError, std::string_view bytes);
  /// Says how much was left out, if anything was.
  void tellDropped(int rank);
  /// Returns whether nothing waits any more.
  bool sendQueued();

  /// What the rank records is sent from now on. The segment outlives this.
  void addFeed(int rank, trace::Segment& segment);
  void setSuspended(int rank, bool suspended) { feeds_.at(rank).suspended = suspended; }
  /// Sends what the process uses with the next batch.
  void sample(int rank, std::int64_t pid) { feeds_.at(rank).feed->sample(pid); }
  /// Queues all that the rank has recorded, and its last words.
  void flush(int rank);
  /// Sends what waits in the rings, unless messages do.
  void sendEvents();

  /// Takes what has come.
  void pump();
  /// Sends and takes until `done` or the patience has ended, and does nothing else meanwhile.
  void pumpUntil(std::chrono::milliseconds patience, const std::function<bool()>& done);
  /// Likewise, and looks whether the head is silent. Called some fifty times a second.
  void tick();
  /// Nothing more is expected of the head: its end is none.
  void leave() { left_ = true; }

  /// What the head said first; nothing before.
  [[nodiscard]] const std::optional<relay::Welcome>& welcome() const { return welcome_; }
  /// Nobody has answered for so long.
  [[nodiscard]] base::Error unanswered(std::chrono::milliseconds patience) const;
  /// `saidBy` follows the reason: where this relay has its place from.
  [[nodiscard]] base::Error refused(const relay::Refusal& refusal, const std::string& saidBy) const;
  /// "the head of the run, host a (10.0.0.1), is lost: ..."
  [[nodiscard]] std::string lostText(const std::string& why) const;
  /// "host a (10.0.0.1)".
  [[nodiscard]] std::string headName() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Feed {
    std::unique_ptr<relay::SegmentFeed> feed;
    bool suspended = false;
  };

  void received(const relay::ToRelay& message);
  void answer(const relay::Ping& ping);
  void lose(const std::string& why);
  relay::Batch nextBatch();
  bool sendBatch();

  const relay::Ticket& ticket_;
  HeadConnection& connection_;
  relay::RelayClient& client_;
  const std::string limitKey_;
  Listener listener_;
  std::optional<relay::Welcome> welcome_;
  std::map<int, Feed> feeds_;
  std::map<int, std::uint64_t> outputDropped_;  // bytes that did not fit, since that was last said
  std::deque<relay::FromRelay> outgoing_;
  std::size_t outgoingBytes_ = 0;  // of output
  std::uint64_t batches_ = 0;
  bool left_ = false;
  base::ClockReading firstReading_ = base::readClock();
  Clock::time_point lastTick_ = Clock::now();
  Clock::duration silence_{0};
};

}  // namespace lockstep::launch::detail
