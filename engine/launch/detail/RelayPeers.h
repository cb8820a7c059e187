#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/posix/EventLoop.h"
#include "engine/relay/RelayServer.h"
#include "engine/trace/ClockOffset.h"
#include "engine/trace/Recorder.h"

namespace lockstep::launch::detail {

/// The relays of one run as its head has them: who they are, what the clocks of their hosts say,
/// and when one is lost. What they are for is the watcher's business. One thread, the event loop's.
/// Note [The relay's protocol].
class RelayPeers {
 public:
  using Peer = relay::RelayServer::Peer;
  using Clock = std::chrono::steady_clock;

  /// A clock that ranks' ticks are of.
  struct Host {
    int number = trace::kRecordingHost;
    trace::HostInfo info;
    trace::ClockOffsetEstimator estimator;
    std::int64_t toldUncertaintyNs = 0;  ///< 0: none was passed on yet
    Clock::time_point toldAt{};
    bool toldRestart = false;  // of the estimator
  };

  struct Relay {
    Peer peer;
    relay::Hello hello;
    std::string address;
    std::vector<std::int32_t> ranks;  ///< that it has; the watcher may add to them
    Host* host = nullptr;
    bool sameProcesses = false;  ///< what it calls a process by, so does this host
    base::ClockCalibration clock;
    std::uint64_t lastBatch = 0;
    std::uint64_t lastPing = 0;
    std::map<std::uint64_t, std::int64_t> pingsSentNs;  // those without an answer
    std::int64_t lastPingNs = 0;
    int pongs = 0;
    Clock::duration silence{0};
    bool connected = true;
    bool lost = false;
    bool dismissed = false;  ///< farewell was said
    /// Its host's clock is known well enough to begin.
    [[nodiscard]] bool isReady() const;
    [[nodiscard]] bool has(int rank) const;
    [[nodiscard]] bool isLiving() const { return !lost && !dismissed; }
  };

  class Watcher {
   public:
    virtual ~Watcher() = default;
    /// One has come. Returns the answer to it, with its ranks; Error: why it is refused.
    virtual base::Result<relay::Welcome> welcome(const relay::Hello& hello) = 0;
    virtual void came(Relay& relay) = 0;
    /// `who`: "host b (10.0.0.2), process 4711".
    virtual void refused(const std::string& who, const std::string& why) = 0;
    /// Called more than once.
    virtual void ready(Relay& relay) = 0;
    /// Everything but Hello, Pong and Batch.
    virtual void said(Relay& relay, const relay::FromRelay& message) = 0;
    /// A part of a batch, of one of its ranks.
    virtual void recorded(Relay& relay, const relay::RankPart& part, std::uint64_t nowTicks) = 0;
    /// `text`: "host b (10.0.0.2) with rank 1 is lost: ...".
    virtual void lost(Relay& relay, const std::string& text) = 0;
  };

  struct Limits {
    double lostAfterSeconds = 15;  ///< silence after which a relay is lost
    std::string key;               ///< that says so, in the texts: "launch.lost_after_seconds"
  };

  /// The loop and the watcher outlive this.
  RelayPeers(std::unique_ptr<relay::RelayServer> server, posix::EventLoop& loop, Limits limits,
             Watcher& watcher);
  ~RelayPeers();
  RelayPeers(const RelayPeers&) = delete;
  RelayPeers& operator=(const RelayPeers&) = delete;

  /// Listens to them from now on.
  base::Status start();

  /// Says here what is known of hosts and what was wrong, also until now. Outlives this.
  void recordInto(trace::Recorder& recorder);

  void send(const Relay& relay, const relay::ToRelay& message);
  /// To all that are living, at once.
  void sendToAll(const relay::ToRelay& message);
  void pump();
  /// Asks for clocks, and looks who is silent. Called about ten times a second.
  void tick();
  /// Pumps until `done` or the patience has ended.
  void pumpUntil(Clock::duration patience, const std::function<bool()>& done);
  /// Says farewell to one, which is not lost when it goes now.
  void dismiss(Relay& relay);
  /// Says farewell to all and waits until they have gone, 3 s at most.
  void finish();

  [[nodiscard]] bool isLeaving() const { return leaving_; }
  [[nodiscard]] std::map<Peer, Relay>& all() { return relays_; }
  [[nodiscard]] const std::map<Peer, Relay>& all() const { return relays_; }
  /// "host b (10.0.0.2) with ranks 2, 3".
  [[nodiscard]] static std::string nameOf(const Relay& relay);
  /// The same of all but one.
  [[nodiscard]] std::string othersThan(const Relay& relay) const;

 private:
  void received(const Peer& peer, const std::string& address, relay::FromRelay message);
  void disconnected(const Peer& peer);
  void take(const Peer& peer, const std::string& address, relay::Hello hello);
  void take(Relay& relay, const relay::Pong& pong);
  void take(Relay& relay, const relay::Batch& batch);
  Host& hostOf(const relay::Hello& hello, const std::string& address);
  void ping(Relay& relay);
  void tellClock(const Relay& relay, bool last);
  void tellRestart(const Relay& relay);
  void tellOfRefused(bool last);
  void lose(Relay& relay, const std::string& why);
  void problem(int rank, std::string text);
  void record(std::function<void(trace::Recorder&)> what);

  std::unique_ptr<relay::RelayServer> server_;
  posix::EventLoop& loop_;
  const Limits limits_;
  Watcher& watcher_;
  trace::Recorder* recorder_ = nullptr;
  std::vector<std::function<void(trace::Recorder&)>> early_;  // until there is a recorder
  std::map<Peer, Relay> relays_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;  // by identity
  bool leaving_ = false;
  std::uint64_t toldRefused_ = 0;
  Clock::time_point lastTick_ = Clock::now();
};

}  // namespace lockstep::launch::detail
