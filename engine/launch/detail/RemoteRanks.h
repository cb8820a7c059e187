#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"
#include "engine/launch/EventLoop.h"
#include "engine/launch/OutputText.h"
#include "engine/launch/detail/Ranks.h"
#include "engine/launch/detail/RecorderAddress.h"
#include "engine/relay/RelayServer.h"
#include "engine/relay/SegmentReplay.h"
#include "engine/relay/Token.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// What the head of a run on other hosts has ready before it waits for its relays.
struct HeadOptions {
  experiment::LaunchConfig launch;
  std::string experimentToml;
  int worldSize = 1;
  std::string runId;
  std::uint16_t storePort = 0;
  std::string storeToken;
  relay::Ticket ticket;  ///< that the relays need
  std::filesystem::path ticketFile;
  std::filesystem::path joinProgram;                 ///< `lockstep`, as the launcher is to start it
  std::function<void(const std::string&)> announce;  ///< lines for whoever starts the relays
};

/// Ranks that relays supervise, started by mpirun, srun, torchrun or by hand. Writes what the
/// relays send into this host's segments, from where the recorder takes it; measures the hosts'
/// clocks; notices who is lost. Note [The relay's protocol].
class RemoteRanks final : public Ranks {
 public:
  /// The loop, the segments and the recorder outlive this.
  RemoteRanks(HeadOptions options, std::unique_ptr<relay::RelayServer> server, EventLoop& loop,
              std::vector<trace::Segment>& segments, trace::Recorder& recorder);
  ~RemoteRanks() override;

  base::Status start(RankWatcher& watcher) override;
  void send(int rank, int signal) override;
  [[nodiscard]] bool isSuspended(int rank) const override;
  void setCapture(bool enabled) override;
  void tick() override;
  void finish() override;

 private:
  using Clock = std::chrono::steady_clock;
  using Peer = relay::RelayServer::Peer;

  enum class Life { kAwaited, kStarted, kEnded };

  struct Rank {
    Life life = Life::kAwaited;
    Peer relay;  ///< empty until one has come for it
    bool suspended = false;
    std::unique_ptr<relay::SegmentReplay> replay;
  };

  /// A clock that ranks' ticks are of.
  struct Host {
    int number = trace::kRecordingHost;
    trace::HostInfo info;
    trace::ClockOffsetEstimator estimator;
    std::int64_t toldUncertaintyNs = 0;  ///< 0: nothing was told yet
    Clock::time_point toldAt{};
    bool toldRestart = false;  // of the estimator
  };

  struct Relay {
    Peer peer;
    relay::Hello hello;
    std::string address;
    std::vector<std::int32_t> ranks;
    Host* host = nullptr;
    bool sameProcesses = false;  // what it calls a process by, so does this host
    base::ClockCalibration clock;
    std::uint64_t lastBatch = 0;
    std::uint64_t lastPing = 0;
    std::map<std::uint64_t, std::int64_t> pingsSentNs;  // those without an answer
    std::int64_t lastPingNs = 0;
    int pongs = 0;
    Clock::duration silence{0};
    bool connected = true;
    bool lost = false;
  };

  void pump();
  void received(const Peer& peer, const std::string& address, relay::FromRelay message);
  void disconnected(const Peer& peer);

  void take(const Peer& peer, const std::string& address, relay::Hello hello);
  void take(Relay& relay, const relay::Pong& pong);
  void take(Relay& relay, const relay::Batch& batch);
  void take(Relay& relay, const relay::RankStarted& started);
  void take(Relay& relay, const relay::RankOutput& output);
  void take(Relay& relay, const relay::RankEnded& ended);
  void take(Relay& relay, const relay::StopAsked& asked);
  void take(Relay& relay, const relay::RelayFailed& failed);

  [[nodiscard]] base::Result<std::vector<std::int32_t>> ranksOf(const relay::Hello& hello) const;
  Host& hostOf(const relay::Hello& hello, const std::string& address);
  void ping(Relay& relay);
  void tellClock(Relay& relay, bool last);
  void tellRestart(Relay& relay);
  void startWhenReady();
  void lose(Relay& relay, const std::string& why);
  void abandonAwaited();
  void endRank(int rank, const ProcessEnd& end);
  void tellOfRefused(bool last);
  [[nodiscard]] bool owns(const Relay& relay, int rank) const;
  [[nodiscard]] std::string nameOf(const Relay& relay) const;
  [[nodiscard]] std::string othersThan(const Relay& relay) const;
  [[nodiscard]] std::vector<int> ranksWithoutRelay() const;

  base::Status startLauncher();
  void readLauncher(bool isError);
  void launcherMayHaveEnded();

  const HeadOptions options_;
  std::unique_ptr<relay::RelayServer> server_;
  EventLoop& loop_;
  trace::Recorder& recorder_;
  RankWatcher* watcher_ = nullptr;
  std::vector<Rank> ranks_;
  std::map<Peer, Relay> relays_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;  // by identity
  std::optional<ChildProcess> launcher_;
  OutputTail launcherErrors_;
  bool capture_ = true;
  bool started_ = false;
  bool leaving_ = false;
  std::uint64_t toldRefused_ = 0;
  Clock::time_point joinDeadline_{};
  Clock::time_point lastTick_{};
};

}  // namespace lockstep::launch::detail
